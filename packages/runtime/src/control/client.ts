/**
 * `@bulkhead/runtime/control/client`: asks a runtime over its control socket. Loads nothing but Node's own HTTP client,
 * so that a command line that uses it starts at once.
 */
import type { IncomingMessage } from 'node:http';
import type { CatalogRevision, CatalogTool, ReadyReport, ReconfigureReport } from '../api.js';
import type { ControlEntry } from './entries.js';
import { type Ask, exchange, readAll } from './exchange.js';
import {
  CONTROL_PROTOCOL,
  type CommandAnswer,
  type ControlEvent,
  controlHeader,
  type FoundTool,
  type Health,
  mismatch,
  type Offer,
  type ResourceUpdate,
  type ServerCommand,
  type StatusReport,
} from './protocol.js';
import { RemoteToolResult } from './remote-result.js';

export { type ConfigSource, configMark, configPaths, configSource } from './config-mark.js';
export { checkName, controlDir, defaultName, residentLog, socketPath } from './control-places.js';
export { type ControlEntry, listEntries, readEntry, removeEntry } from './entries.js';
export { isGone, isUnsent } from './exchange.js';
export * from './protocol.js';
export type { RemoteToolResult } from './remote-result.js';

/** A tool call over the control socket. */
export interface CallRequest {
  server: string;
  tool: string;
  /** JSON text of an object; goes on as it stands. */
  args: string;
  /** Idle limit in ms; default that of the server. */
  timeoutMs?: number;
  /** Hard limit in ms; default that of the server. */
  maxMs?: number;
  idempotent?: boolean;
  /** Check the arguments against the tool's input schema first: `INVALID_ARGUMENTS` with `data.problems`. */
  validate?: boolean;
}

/** What a client expects of the runtime behind the socket. */
export interface ClientOptions {
  /** Refuse a runtime of another configuration: `BAD_CONFIG` with `data.kind` `config-mismatch`. */
  config?: { mark: string; trusting: boolean };
  signal?: AbortSignal;
  /** How often a runtime that takes long is asked whether it is still there. Default 5 000. */
  probeMs?: number;
  /** One that does not even answer that within this time is taken for gone. Default 10 000. */
  answerMs?: number;
}

/** Every method throws the `BulkheadError` that the runtime answered, or says that nobody answers. */
export class ControlClient {
  readonly entry: ControlEntry;
  readonly #headers: Record<string, string>;
  readonly #signal: AbortSignal | undefined;
  readonly #probeMs: number;
  readonly #answerMs: number;

  /** @param entry from `readEntry()` or `listEntries()` */
  constructor(entry: ControlEntry, options: ClientOptions = {}) {
    const { config, signal, probeMs = 5_000, answerMs = 10_000 } = options;
    this.entry = entry;
    this.#signal = signal;
    this.#probeMs = probeMs;
    this.#answerMs = answerMs;
    this.#headers =
      config === undefined
        ? {}
        : { [controlHeader.config]: config.mark, ...(config.trusting ? { [controlHeader.trust]: '1' } : {}) };
  }

  /** Undefined, or a sentence about the two versions: then ask nothing else of it than `health` and `shutdown`. */
  get misfit(): string | undefined {
    const { name, protocol } = this.entry;
    if (protocol === CONTROL_PROTOCOL) return undefined;
    const age = protocol < CONTROL_PROTOCOL ? 'older' : 'newer';
    return `resident "${name}" is of an ${age} version (control protocol ${protocol}, this command speaks ${CONTROL_PROTOCOL}); start it again: bulkhead down --resident ${name}, then bulkhead up`.replace(
      'an newer',
      'a newer',
    );
  }

  /** Whether the runtime is there, and what it is. @param timeoutMs default: as long as it takes */
  health(timeoutMs?: number): Promise<Health> {
    const signal = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
    return this.#json({ method: 'GET', path: '/v1/health', signal });
  }

  /** How all servers stand. */
  status(options: { tools?: boolean } = {}): Promise<StatusReport> {
    return this.#json({ method: 'GET', path: `/v1/status${options.tools === true ? '?tools=1' : ''}` });
  }

  /** Figures in the text format of Prometheus. */
  metrics(): Promise<string> {
    return this.#text({ method: 'GET', path: '/v1/metrics' });
  }

  /** All tools, as the runtime lists them. */
  tools(): Promise<CatalogTool[]> {
    return this.#json({ method: 'GET', path: '/v1/tools' });
  }

  /** The catalog as it stands. */
  catalog(): Promise<CatalogRevision> {
    return this.#json({ method: 'GET', path: '/v1/catalog' });
  }

  /** Waits like `ready()` of the runtime. */
  ready(options: { servers?: string[]; timeoutMs?: number } = {}): Promise<ReadyReport> {
    const body = JSON.stringify(options);
    return this.#unlessStuck((signal) => this.#json({ method: 'POST', path: '/v1/ready', body, signal }));
  }

  /** Waits for the server. @param target `<server>.<tool>` or a full name. */
  find(target: string, timeoutMs?: number): Promise<FoundTool> {
    const body = JSON.stringify({ target, timeoutMs });
    return this.#unlessStuck((signal) => this.#json({ method: 'POST', path: '/v1/find', body, signal }));
  }

  /**
   * Calls a tool, with the same outcomes as `RuntimeApi.callTool`. A runtime that dies meanwhile is an
   * `OUTCOME_UNKNOWN`; nothing is ever sent twice.
   */
  async call(request: CallRequest, signal?: AbortSignal): Promise<RemoteToolResult> {
    const { args, ...rest } = request;
    const body = `${JSON.stringify(rest).slice(0, -1)},"args":${args}}`;
    const ask = { method: 'POST', path: '/v1/call', body, lost: 'OUTCOME_UNKNOWN' } as const;
    const text = await this.#unlessStuck((own) => this.#text({ ...ask, signal: own }), signal);
    return new RemoteToolResult(text, request);
  }

  /** What a server offers besides calls; it must be ready. The answer is as the methods of `ServerView` give it. */
  offer<T>(server: string, offer: Offer): Promise<T> {
    const path = `/v1/offers/${encodeURIComponent(server)}`;
    const body = JSON.stringify(offer);
    return this.#unlessStuck((signal) => this.#json({ method: 'POST', path, body, signal }));
  }

  /** Resolves once the server has taken the subscription, which ends with the loop. The loop ends with the runtime. */
  async updates(server: string, uri: string): Promise<AsyncGenerator<ResourceUpdate>> {
    const path = `/v1/updates/${encodeURIComponent(server)}?uri=${encodeURIComponent(uri)}`;
    return this.#stream(await this.#ask({ method: 'GET', path }));
  }

  /** Starts, stops, restarts, enables, disables or drains one server. */
  command(
    server: string,
    command: ServerCommand,
    options: { timeoutMs?: number } = {},
  ): Promise<CommandAnswer> {
    const path = `/v1/servers/${encodeURIComponent(server)}/${command}`;
    return this.#json({ method: 'POST', path, body: JSON.stringify(options) });
  }

  /** Reads the configuration files again and applies what changed. */
  reload(): Promise<ReconfigureReport> {
    return this.#json({ method: 'POST', path: '/v1/reload' });
  }

  /** Closes the runtime and ends its process. */
  shutdown(): Promise<{ pid: number }> {
    return this.#json({ method: 'POST', path: '/v1/shutdown' });
  }

  /** The end of a server's stderr log, then with `follow` what is added to it. */
  async *logs(server: string, options: { lines: number; follow: boolean }): AsyncGenerator<Uint8Array> {
    const query = `lines=${options.lines}&follow=${options.follow ? 1 : 0}`;
    const path = `/v1/logs/${encodeURIComponent(server)}?${query}`;
    const answer = await this.#ask({ method: 'GET', path });
    try {
      for await (const part of answer) yield part as Uint8Array;
    } catch (error) {
      if (!this.#signal?.aborted && !options.follow) throw error;
    }
  }

  /**
   * What happened to servers and, with `follow`, what happens. Ends with the runtime.
   * @param options `recent`: how many of the latest come first.
   */
  async *events(options: { recent: number; follow: boolean }): AsyncGenerator<ControlEvent> {
    const path = `/v1/events?recent=${options.recent}&follow=${options.follow ? 1 : 0}`;
    yield* this.#stream<ControlEvent>(await this.#ask({ method: 'GET', path }));
  }

  /** Server-sent events whose data is JSON. */
  async *#stream<T>(answer: IncomingMessage): AsyncGenerator<T> {
    answer.setEncoding('utf8');
    let rest = '';
    try {
      for await (const part of answer) {
        const lines = (rest + part).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines)
          if (line.startsWith('data: ')) yield JSON.parse(line.slice('data: '.length)) as T;
      }
    } catch (error) {
      // A stream without an end of its own ends with the runtime, however that ends.
      if (!this.#signal?.aborted && error instanceof SyntaxError) throw error;
    }
  }

  /** A long wait is no sign of death, but a runtime that does not answer the shortest question is stuck. */
  async #unlessStuck<T>(
    ask: (signal: AbortSignal) => Promise<T>,
    signal: AbortSignal | undefined = this.#signal,
  ): Promise<T> {
    const stuck = new AbortController();
    const probe = setInterval(() => {
      this.health(this.#answerMs).catch(() => stuck.abort(new Error('stuck')));
    }, this.#probeMs);
    try {
      return await ask(signal === undefined ? stuck.signal : AbortSignal.any([signal, stuck.signal]));
    } finally {
      clearInterval(probe);
    }
  }

  async #json<T>(ask: Ask): Promise<T> {
    return JSON.parse(await this.#text(ask)) as T;
  }

  async #text(ask: Ask): Promise<string> {
    const signal = ask.signal ?? this.#signal;
    return readAll(this.entry, await this.#ask(ask), { ...ask, signal });
  }

  #ask(ask: Ask) {
    return exchange(this.entry, { ...ask, signal: ask.signal ?? this.#signal, headers: this.#headers });
  }
}

/** Whether `error` says that a runtime is not the right one for this configuration. */
export function isMismatch(error: unknown): boolean {
  const kind = (error as { data?: { kind?: unknown } } | undefined)?.data?.kind;
  return kind === mismatch.config || kind === mismatch.protocol;
}
