/**
 * Answers of a person that hold for later calls: some for this session, some for good in a file of the user. A yes is
 * bound to what was said yes to: the server's launch and, for a tool, its definition. A change of either ends it.
 */
import { join } from 'node:path';
import { approvalsDir } from '../places.js';
import { type Members, memberOf, membersOf, StateFile } from '../state-file.js';
import { subjectOf } from './permission-rules.js';
import { definitionHash } from './pins.js';
import type { GateRequest } from './tool.js';

export interface RememberedAnswer {
  readonly allow: boolean;
  /** Hash of the tool's definition; undefined for local tools, resources and prompts. */
  readonly definition: string | undefined;
}

/** Members on the way to an answer: local or server, its launch, kind, name. */
type Path = readonly [string, ...string[]];

export class RememberedAnswers {
  readonly #session: Members = new Map();
  #kept: Members = new Map();
  readonly #file: StateFile | undefined;

  private constructor(file: StateFile | undefined) {
    this.#file = file;
  }

  /** @param path `false` keeps nothing; default: `$XDG_STATE_HOME/bulkhead/approvals/permissions.json`. */
  static async open(
    warn: (message: string) => void,
    path: string | false = join(approvalsDir(), 'permissions.json'),
  ): Promise<RememberedAnswers> {
    const file = path === false ? undefined : new StateFile(path, warn);
    const answers = new RememberedAnswers(file);
    if (file !== undefined) answers.#kept = await file.read();
    return answers;
  }

  /** The answer that holds for the call; the session's before the kept one. */
  find(request: GateRequest): RememberedAnswer | undefined {
    const path = pathOf(request);
    if (path === undefined) return undefined;
    for (const members of [this.#session, this.#kept]) {
      const answer = answerAt(members, path);
      if (answer === undefined) continue;
      if (!answer.allow || fits(answer, request)) return answer;
    }
    return undefined;
  }

  /** @throws {BulkheadError} `INTERNAL` when `always` cannot be kept; it holds for the session then. */
  async remember(request: GateRequest, allow: boolean, how: 'session' | 'always'): Promise<void> {
    const path = pathOf(request);
    if (path === undefined) return;
    const record = recordOf(allow, hashOf(request));
    put(this.#session, path, record);
    if (how === 'always') await this.#file?.update((members) => put(members, path, record));
  }

  /** Forgets what was remembered for this session. */
  endSession(): void {
    this.#session.clear();
  }
}

/** Undefined when the server's launch is not known: nothing can be bound to it. */
function pathOf(request: GateRequest): Path | undefined {
  const { kind, name } = subjectOf(request);
  const { identity, origin } = request;
  if (identity.kind === 'local') return ['local', kind, name];
  return origin === undefined ? undefined : ['servers', identity.server, origin.fingerprint, kind, name];
}

/** A yes to a tool of a server counts only while its definition is known and the same. */
function fits({ definition }: RememberedAnswer, request: GateRequest): boolean {
  const isTool = request.identity.kind === 'mcp' && subjectOf(request).kind === 'tool';
  return isTool ? definition !== undefined && definition === hashOf(request) : true;
}

function hashOf({ definition }: GateRequest): string | undefined {
  return definition === undefined ? undefined : definitionHash(definition);
}

function recordOf(allow: boolean, definition: string | undefined): Members {
  return new Map<string, unknown>([
    ['allow', allow],
    ...(definition === undefined ? [] : [['definition', definition] as const]),
  ]);
}

/** Unknown shapes are no answer. */
function answerAt(members: Members, path: Path): RememberedAnswer | undefined {
  let found: Members | undefined = members;
  for (const name of path) found = membersOf(found?.get(name));
  const allow = found?.get('allow');
  const definition = found?.get('definition');
  if (typeof allow !== 'boolean') return undefined;
  return { allow, definition: typeof definition === 'string' ? definition : undefined };
}

function put(members: Members, path: Path, record: Members): void {
  let place = members;
  for (const name of path.slice(0, -1)) place = memberOf(place, name);
  place.set(path.at(-1) ?? '', record);
}
