/**
 * Which servers may be sent to. A server is started when the first line asks for it; its lines wait until it is
 * ready, however often it restarts, and are refused with the true reason once it has come to rest or the wait was
 * too long. A server that comes back is open again.
 */
import type { BulkheadError, ErrorCode, Reason, ServerState } from '@bulkhead/workers';
import type { RuntimeEvents } from '../api.js';
import type { BatchRuntime, BatchServer } from './options.js';

export type Standing =
  | { is: 'waiting' }
  | { is: 'open'; view: BatchServer }
  | { is: 'shut'; code: ErrorCode; message: string };

/** Where a full name leads: to a tool, nowhere, or not known before a server is ready. */
export type Found =
  | { is: 'tool'; server: string; tool: string }
  | { is: 'waiting' }
  | { is: 'nothing'; code: ErrorCode; message: string; server?: string };

export interface DeskOptions {
  runtime: BatchRuntime;
  connectTimeoutMs: number | undefined;
  unavailable: ReadonlyMap<string, { code: ErrorCode; message: string }>;
  /** The standing of a server has changed, or its list of tools. */
  onChange: (server: string, standing: Standing) => void;
}

const WAITING = { is: 'waiting' } as const;

export class ServerDesk {
  readonly #options: DeskOptions;
  readonly #standings = new Map<string, Standing>();
  readonly #connecting = new Set<string>();
  readonly #everOpen = new Set<string>();
  #names: Map<string, { server: string; tool: string }> | undefined;
  /** A server that is still waited for changes nothing any more. */
  #isClosed = false;

  constructor(options: DeskOptions) {
    this.#options = options;
    options.runtime.on('state', this.#onState);
    options.runtime.on('tools', this.#onTools);
  }

  close(): void {
    this.#options.runtime.off('state', this.#onState);
    this.#options.runtime.off('tools', this.#onTools);
    this.#isClosed = true;
  }

  /** Servers of the config were asked for, and not one of them was ever ready. */
  get noneStarted(): boolean {
    return this.#everOpen.size === 0 && this.#standings.size > 0;
  }

  /** The first question about a server starts it. */
  standing(server: string): Standing {
    const known = this.#standings.get(server);
    if (known !== undefined) return known;
    const refused = this.#options.unavailable.get(server);
    if (refused !== undefined) {
      const shut: Standing = { is: 'shut', ...refused };
      this.#standings.set(server, shut);
      return shut;
    }
    const view = this.#view(server);
    if (view === undefined) return { is: 'shut', ...this.#unknown(server) };
    if (view.state === 'ready') return this.#opened(server, view);
    this.#standings.set(server, WAITING);
    void this.#connect(server, view);
    return WAITING;
  }

  /** A call came back unsent: the runtime may know of a loss before its event reaches us. */
  recheck(server: string): void {
    const view = this.#view(server);
    if (view === undefined || view.state === 'ready') return;
    this.#hold(server, view);
  }

  find(fullName: string): Found {
    this.#names ??= new Map(
      this.#options.runtime.tools().map(({ fullName, server, name }) => [fullName, { server, tool: name }]),
    );
    const hit = this.#names.get(fullName);
    if (hit !== undefined) return { is: 'tool', ...hit };
    // Shortened and altered names fit no server by their text, so then every server is a candidate.
    const all = this.#options.runtime.servers().map(({ name }) => name);
    const fitting = [...all, ...this.#options.unavailable.keys()].filter((name) =>
      fullName.startsWith(`mcp__${name}__`),
    );
    let refusal: Found | undefined;
    for (const server of fitting.length > 0 ? fitting : all) {
      const standing = this.standing(server);
      if (standing.is === 'waiting') return standing;
      if (standing.is === 'shut' && fitting.length > 0) {
        refusal = { is: 'nothing', code: standing.code, message: standing.message, server };
      }
    }
    const message = `no server has a tool "${fullName}"; \`bulkhead tools\` lists the names`;
    return refusal ?? { is: 'nothing', code: 'UNKNOWN_TOOL', message };
  }

  async #connect(server: string, view: BatchServer): Promise<void> {
    if (this.#connecting.has(server)) return;
    this.#connecting.add(server);
    const { runtime, connectTimeoutMs } = this.#options;
    const startedAt = performance.now();
    let startError: unknown;
    if (view.state === 'stopped') {
      const start = view.start().catch((error: unknown) => {
        startError = error;
      });
      await (connectTimeoutMs === undefined ? start : Promise.race([start, elapsed(connectTimeoutMs)]));
    }
    const rest =
      connectTimeoutMs === undefined
        ? undefined
        : Math.max(1, connectTimeoutMs - (performance.now() - startedAt));
    const wait = rest === undefined ? { servers: [server] } : { servers: [server], timeoutMs: rest };
    const report = await runtime.ready(wait).catch(() => undefined);
    this.#connecting.delete(server);
    if (this.#isClosed || this.#standings.get(server)?.is !== 'waiting') return;
    if (view.state === 'ready') {
      this.#change(server, this.#opened(server, view));
      return;
    }
    const failed = report?.failed.find(({ name }) => name === server);
    const waitedMs = Math.round(performance.now() - startedAt);
    const reason = failed?.reason ?? view.reason;
    const text = reason === undefined ? (startError as BulkheadError | undefined)?.message : undefined;
    this.#change(server, shut(server, failed?.state ?? view.state, reason, waitedMs, text));
  }

  #opened(server: string, view: BatchServer): Standing {
    const open: Standing = { is: 'open', view };
    this.#standings.set(server, open);
    this.#names = undefined;
    this.#everOpen.add(server);
    return open;
  }

  #hold(server: string, view: BatchServer): void {
    this.#change(server, WAITING);
    void this.#connect(server, view);
  }

  #change(server: string, standing: Standing): void {
    this.#standings.set(server, standing);
    this.#options.onChange(server, standing);
  }

  readonly #onState = ({ server, state }: RuntimeEvents['state'][0]): void => {
    const standing = this.#standings.get(server);
    const view = standing === undefined ? undefined : this.#view(server);
    if (standing === undefined || view === undefined) return;
    if (state === 'ready') {
      if (standing.is !== 'open') this.#change(server, this.#opened(server, view));
    } else if (standing.is === 'open') {
      this.#hold(server, view);
    }
  };

  readonly #onTools = ({ server }: RuntimeEvents['tools'][0]): void => {
    this.#names = undefined;
    const standing = this.#standings.get(server);
    if (standing !== undefined) this.#options.onChange(server, standing);
  };

  #view(server: string): BatchServer | undefined {
    return this.#options.runtime.servers().find(({ name }) => name === server);
  }

  #unknown(server: string): { code: ErrorCode; message: string } {
    const known = this.#options.runtime.servers().map(({ name }) => name);
    const list = known.length === 0 ? 'none' : known.slice(0, 10).join(', ');
    return {
      code: 'UNKNOWN_SERVER',
      message: `server "${server}" is not in the config; known servers: ${list}`,
    };
  }
}

function shut(
  server: string,
  state: ServerState,
  reason: Reason | undefined,
  waitedMs: number,
  text: string | undefined,
): Standing {
  const why = reason?.message ?? text ?? 'no reason is known';
  const tail = reason?.stderr?.at(-1);
  const said = tail === undefined || why.includes(tail) ? '' : ` (stderr: ${tail})`;
  return {
    is: 'shut',
    code: state === 'needs-approval' ? 'DENIED' : 'NOT_READY',
    message: `server "${server}" is not ready after ${waitedMs} ms, state ${state}: ${why}${said}`,
  };
}

function elapsed(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
