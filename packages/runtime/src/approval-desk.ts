/**
 * Holds servers of a project back until a person has allowed them to start, asks that person one server at a time, and
 * knows what each held server would be. What an approval is stands in `approvals.ts`.
 */
import { BulkheadError, type Launch, type ServerSpec } from '@bulkhead/workers';
import {
  type ApprovalAnswer,
  type ApprovalStanding,
  ApprovalStore,
  needsApproval,
  type OnApproval,
} from './approvals.js';
import { printable } from './config/printable.js';
import type { LoadedConfig, LoadedServer } from './config/types.js';

/** A held server as it stands in the config, with its whole spec. */
interface Held {
  readonly server: LoadedServer;
  readonly changes: readonly string[];
  readonly abort: AbortController;
  asked: boolean;
}

export interface DeskContext {
  onApproval?: OnApproval | undefined;
  warn: (warning: { server?: string; message: string }) => void;
  /** Somebody has decided, whichever way he was asked. */
  decided: (name: string, decision: 'approved' | 'denied' | 'revoked') => void;
  /** A server may start (`spec` is whole) or has a new reason to wait. */
  release: (name: string, spec: ServerSpec) => Promise<void>;
}

export class ApprovalDesk {
  readonly #onApproval: OnApproval | undefined;
  readonly #next: string;
  readonly #held = new Map<string, Held>();
  /** Servers that need approval and have it, as they stand in the config. */
  readonly #admitted = new Map<string, LoadedServer>();
  /** Approved for this runtime only: name to fingerprint. */
  readonly #once = new Map<string, string>();
  readonly #denied = new Map<string, string>();
  #store: ApprovalStore | undefined;
  #asking: Promise<void> = Promise.resolve();
  #context: Omit<DeskContext, 'onApproval'> | undefined;
  readonly #early: string[] = [];
  #closed = false;

  /** @param next what a person reads who may approve a server that nobody asks about. */
  constructor(
    onApproval: OnApproval | undefined,
    next = 'look at what it runs, then allow it with runtime.approve() or give onApproval',
  ) {
    this.#onApproval = onApproval;
    this.#next = next;
  }

  /** The runtime stands: from now on answers have an effect. */
  begin(context: Omit<DeskContext, 'onApproval'>): void {
    this.#context = context;
    for (const message of this.#early.splice(0)) context.warn({ message });
  }

  /** The config with every server held that may not start yet. Nothing is read when none of them needs approval. */
  async review(config: LoadedConfig): Promise<LoadedConfig> {
    const concerned = config.servers.filter((server) => needsApproval(server) && !server.spec.held);
    let standings = new Map<string, ApprovalStanding>();
    if (concerned.length > 0) {
      this.#store = await ApprovalStore.open(config.projectDir, (message) => this.#warn(message));
      standings = await this.#store.standings(concerned);
    }
    // No wait from here on: an answer that comes meanwhile must find its question.
    const before = new Map(this.#held);
    this.#held.clear();
    this.#admitted.clear();
    for (const server of concerned) {
      const { name, approvalFingerprint } = server;
      const standing = standings.get(name) ?? { is: 'new' };
      if (standing.is === 'approved' || this.#once.get(name) === approvalFingerprint) {
        this.#admitted.set(name, server);
        continue;
      }
      const known = before.get(name);
      if (known?.server.approvalFingerprint === approvalFingerprint) {
        before.delete(name);
        this.#held.set(name, { ...known, server });
      } else {
        const changes = standing.is === 'changed' ? standing.changes : [];
        this.#held.set(name, { server, changes, abort: new AbortController(), asked: false });
      }
    }
    // A question about what has changed again, or is gone, needs no answer.
    for (const { abort } of before.values()) abort.abort();
    const servers = config.servers.map((server) =>
      this.#held.has(server.name) ? { ...server, spec: this.#heldSpec(server.name) } : server,
    );
    return { ...config, servers };
  }

  /** A person is being asked about it, or will be: it may start soon. */
  isAsking(name: string): boolean {
    const server = this.#held.get(name)?.server;
    return server !== undefined && this.#willAsk(server);
  }

  /** Asks about every held server that was not asked about yet, one after the other, in order of their names. */
  ask(): void {
    const onApproval = this.#onApproval;
    if (onApproval === undefined) return;
    for (const held of this.#held.values()) {
      if (held.asked || !this.#willAsk(held.server)) continue;
      held.asked = true;
      this.#asking = this.#asking.then(() => this.#ask(held, onApproval));
    }
  }

  /**
   * Lets a held server start. Does nothing for one that needs no approval or has it.
   * @throws {BulkheadError} `INTERNAL` when the approval cannot be kept; the server starts all the same.
   */
  async approve(name: string, remember: boolean): Promise<void> {
    const server = this.#held.get(name)?.server ?? this.#admitted.get(name);
    if (server !== undefined) await this.#settle(server, remember ? 'always' : 'once');
  }

  /** Forgets the approval and holds the server back. @throws {BulkheadError} `BAD_INPUT` when it never needed one. */
  async revoke(name: string): Promise<void> {
    const server = this.#admitted.get(name) ?? this.#held.get(name)?.server;
    if (server === undefined) {
      const message = `server "${name}" needs no approval, so there is none to revoke; use disable() to keep it down`;
      throw new BulkheadError('BAD_INPUT', message, { server: name });
    }
    this.#once.delete(name);
    this.#denied.set(name, server.approvalFingerprint);
    this.#context?.decided(name, 'revoked');
    if (this.#admitted.delete(name)) {
      this.#held.set(name, { server, changes: [], abort: new AbortController(), asked: true });
    }
    // Down first: a file that cannot be written must not keep it running.
    await this.#context?.release(name, this.#heldSpec(name));
    await this.#store?.revoke(name);
  }

  close(): void {
    this.#closed = true;
    for (const { abort } of this.#held.values()) abort.abort();
  }

  async #ask({ server, changes, abort }: Held, onApproval: OnApproval): Promise<void> {
    const { name, file, preview, trusted, approvalFingerprint } = server;
    /** The server as it stands now, if it is still what was asked about: an answer counts for nothing else. */
    const current = () => {
      const held = this.#held.get(name)?.server;
      return this.#closed || held?.approvalFingerprint !== approvalFingerprint ? undefined : held;
    };
    if (current() === undefined) return;
    const projectDir = this.#store?.projectDir ?? '';
    const { signal } = abort;
    let answer: ApprovalAnswer = 'deny';
    try {
      const asked = onApproval({ server: name, projectDir, file, preview, trusted, changes, signal });
      answer = await untilAborted(Promise.resolve(asked), signal);
    } catch (error) {
      if (signal.aborted) return;
      const message = `asking about its approval failed: ${error instanceof Error ? error.message : error}`;
      this.#context?.warn({ server: name, message });
    }
    const now = current();
    if (now === undefined) return;
    try {
      await this.#settle(now, answer === 'always' || answer === 'once' ? answer : 'deny');
    } catch (error) {
      this.#context?.warn({ server: name, message: (error as Error).message });
    }
  }

  async #settle(server: LoadedServer, answer: ApprovalAnswer): Promise<void> {
    const { name, approvalFingerprint, spec } = server;
    this.#context?.decided(name, answer === 'deny' ? 'denied' : 'approved');
    if (answer === 'deny') {
      this.#denied.set(name, approvalFingerprint);
      await this.#context?.release(name, this.#heldSpec(name));
      return;
    }
    const held = this.#held.get(name);
    this.#denied.delete(name);
    this.#once.set(name, approvalFingerprint);
    this.#held.delete(name);
    this.#admitted.set(name, server);
    held?.abort.abort();
    await this.#context?.release(name, spec);
    if (answer === 'always') await this.#store?.approve(server);
  }

  #heldSpec(name: string): ServerSpec {
    const held = this.#held.get(name);
    if (held === undefined) throw new Error(`server "${name}" is not held`);
    const { spec, preview, file } = held.server;
    const next = this.#willAsk(held.server)
      ? 'a person is being asked'
      : this.#isDenied(held.server)
        ? 'it was refused; runtime.approve() allows it after all'
        : this.#next;
    const changed =
      held.changes.length === 0 ? '' : ` and differs from what was approved (${held.changes.join('; ')})`;
    const source = file ?? 'a project file';
    const reason = printable(
      `server "${name}" comes from ${source}${changed}, would run: ${preview}; ${next}`,
    );
    return {
      ...spec,
      launch: unexpanded(spec.launch),
      secrets: [],
      // Neither the cached list nor the known era of the true server is for one that may not run.
      fingerprint: `held-${spec.fingerprint}`,
      held: { state: 'needs-approval', reason },
    };
  }

  /** A server that is switched off asks for nothing. */
  #willAsk(server: LoadedServer): boolean {
    return (
      this.#onApproval !== undefined && !this.#closed && !server.spec.disabled && !this.#isDenied(server)
    );
  }

  #isDenied({ name, approvalFingerprint }: LoadedServer): boolean {
    return this.#denied.get(name) === approvalFingerprint;
  }

  #warn(message: string): void {
    if (this.#context === undefined) this.#early.push(message);
    else this.#context.warn({ message });
  }
}

/** Trust first, values of variables second: nothing that was expanded leaves this thread for a held server. */
function unexpanded(launch: Launch): Launch {
  return launch.type === 'stdio'
    ? { type: 'stdio', command: '', args: [], env: [], cwd: '' }
    : { type: launch.type, url: '', headers: [] };
}

function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

/**
 * The config as a runtime takes it that has nobody to ask: what is not approved is held, with the reason.
 * @param next the end of that reason: what to do. Default: advice for a program.
 */
export function holdUnapproved(config: LoadedConfig, next?: string): Promise<LoadedConfig> {
  return new ApprovalDesk(undefined, next).review(config);
}
