/**
 * Approvals: which servers of which project a person has allowed to start. One is bound to the project's directory,
 * the server's name and the fingerprint of what would run, all three; anything else is no approval.
 */
import { realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { LoadedServer, WrittenLaunch } from './config/types.js';
import { approvalsDir } from './places.js';
import { memberOf, membersOf, StateFile } from './state-file.js';

/** What a person is asked before a server of a project may start. */
export interface ApprovalRequest {
  readonly server: string;
  /** Absolute, without symbolic links. */
  readonly projectDir: string;
  /** The file that names the server. */
  readonly file: string | undefined;
  /** What would run as one line, variables not expanded, safe to print. */
  readonly preview: string;
  /** The entry says `trust: true`: what its tools say of themselves would be believed. */
  readonly trusted: boolean;
  /** Sentences about what differs from what was approved before; empty when nothing was. */
  readonly changes: readonly string[];
  /** Aborted when the answer does not matter any more: the runtime closes, or the entry changed again. */
  readonly signal: AbortSignal;
}

/** `once` holds for this runtime, `always` until the entry changes. */
export type ApprovalAnswer = 'once' | 'always' | 'deny';

/** Asks a person whether a server of the project may start. A throw counts as no. */
export type OnApproval = (request: ApprovalRequest) => Promise<ApprovalAnswer> | ApprovalAnswer;

/** How a stored decision fits a server as it stands now. */
export type ApprovalStanding =
  | { readonly is: 'approved' }
  | { readonly is: 'new' }
  /** Approved before, but something else; sentences. */
  | { readonly is: 'changed'; readonly changes: readonly string[] };

/** Whether a server may start only after a person said so: its file came with the project, whoever wrote it. */
export function needsApproval({ scope }: LoadedServer): boolean {
  return scope === 'project' || scope === 'local';
}

/** The decisions about one project, in a file of the user that all projects share. */
export class ApprovalStore {
  readonly projectDir: string;
  readonly #file: StateFile;

  private constructor(projectDir: string, file: StateFile) {
    this.projectDir = projectDir;
    this.#file = file;
  }

  /**
   * The approvals of one project.
   * @param warn is told when the file cannot be used; nothing is approved then.
   * @param path default: `$XDG_STATE_HOME/bulkhead/approvals/servers.json`.
   */
  static async open(
    projectDir: string,
    warn: (message: string) => void,
    path: string = join(approvalsDir(), 'servers.json'),
  ): Promise<ApprovalStore> {
    // One project by two paths is one project.
    const real = await realpath(projectDir).catch(() => resolve(projectDir));
    return new ApprovalStore(real, new StateFile(path, warn));
  }

  /** Reads the file once for all of `servers`. */
  async standings(servers: readonly LoadedServer[]): Promise<Map<string, ApprovalStanding>> {
    const projects = membersOf((await this.#file.read()).get('projects'));
    const records = membersOf(projects?.get(this.projectDir));
    return new Map(servers.map((server) => [server.name, standingOf(records?.get(server.name), server)]));
  }

  /** @throws {BulkheadError} when the file cannot be written. */
  async approve({ name, approvalFingerprint, written }: LoadedServer): Promise<void> {
    await this.#file.update((members) => {
      const project = memberOf(memberOf(members, 'projects'), this.projectDir);
      const record = memberOf(project, name);
      record.set('fingerprint', approvalFingerprint);
      record.set('approvedAt', new Date().toISOString());
      record.set('launch', written);
    });
  }

  /** Forgets the decision. @throws {BulkheadError} when the file cannot be written. */
  async revoke(name: string): Promise<void> {
    await this.#file.update((members) => {
      const project = memberOf(memberOf(members, 'projects'), this.projectDir);
      project.delete(name);
    });
  }
}

function standingOf(record: unknown, { approvalFingerprint, written }: LoadedServer): ApprovalStanding {
  const members = membersOf(record);
  const fingerprint = members?.get('fingerprint');
  if (members === undefined || typeof fingerprint !== 'string') return { is: 'new' };
  if (fingerprint === approvalFingerprint) return { is: 'approved' };
  return { is: 'changed', changes: changesOf(membersOf(members.get('launch')), written) };
}

/** What differs between an approved launch and the present one, as sentences a person reads. */
function changesOf(before: ReadonlyMap<string, unknown> | undefined, after: WrittenLaunch): string[] {
  const now = new Map<string, unknown>(Object.entries(after));
  const fields = [...new Set([...(before?.keys() ?? []), ...now.keys()])];
  const changes = fields.flatMap((field) => {
    const [was, is] = [shown(before?.get(field)), shown(now.get(field))];
    return was === is ? [] : [`${field} was ${was}, is now ${is}`];
  });
  // Values of env, headers and auth are not kept, only that they were others.
  return changes.length > 0 ? changes : ['a value of its env, headers or auth is another'];
}

function shown(value: unknown): string {
  return value === undefined ? 'not set' : JSON.stringify(value);
}
