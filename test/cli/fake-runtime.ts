/** A runtime in memory for tests of what stands on top of it: servers are functions, states change on command. */
import { EventEmitter, setMaxListeners } from 'node:events';
import { BulkheadError, type Reason, type ServerState } from '@bulkhead/workers';
import type {
  CallOptions,
  CatalogTool,
  ReadyReport,
  RuntimeStatus,
  ToolResult,
} from '../../packages/runtime/src/api.js';
import type { BatchRuntime, BatchServer } from '../../packages/runtime/src/batch/options.js';

export interface FakeCall {
  server: string;
  tool: string;
  json: string;
  options: CallOptions;
}

/** Text of the `result`, or an error. */
export type FakeTool = (call: FakeCall) => Promise<string> | string;

export class FakeServer implements BatchServer {
  readonly name: string;
  state: ServerState;
  reason: Reason | undefined;
  tools: CatalogTool[];
  /** What `start()` leads to; a promise lets the test decide when. */
  outcome: Promise<ServerState> = Promise.resolve('ready');
  starts = 0;
  inFlight = 0;
  mostInFlight = 0;
  calls: FakeCall[] = [];
  readonly #runtime: FakeRuntime;
  readonly #run: FakeTool;

  constructor(runtime: FakeRuntime, name: string, state: ServerState, run: FakeTool) {
    this.#runtime = runtime;
    this.name = name;
    this.state = state;
    this.#run = run;
    this.tools = ['echo', 'fail'].map((tool) => ({
      fullName: `mcp__${name}__${tool}`,
      server: name,
      name: tool,
      inputSchema: { type: 'object' },
    }));
  }

  async callTool(tool: string, args: object = {}, options: CallOptions = {}): Promise<ToolResult> {
    // Raw arguments are an object of a class of their own; the engine must use it.
    if (Object.getPrototypeOf(args) === Object.prototype) throw new Error('expected raw arguments');
    const json = (args as { json: string }).json;
    const call: FakeCall = { server: this.name, tool, json, options };
    if (this.state !== 'ready')
      throw new BulkheadError('NOT_READY', `server "${this.name}" is ${this.state}`);
    if (!this.tools.some(({ name }) => name === tool)) {
      throw new BulkheadError('UNKNOWN_TOOL', `server "${this.name}" has no tool "${tool}"`);
    }
    this.calls.push(call);
    this.inFlight++;
    this.mostInFlight = Math.max(this.mostInFlight, this.inFlight);
    try {
      const raw = await Promise.race([this.#run(call), aborted(options.signal)]);
      return resultOf(raw);
    } finally {
      this.inFlight--;
    }
  }

  async start(): Promise<void> {
    this.starts++;
    this.become('starting');
    this.become(await this.outcome);
  }

  become(state: ServerState, reason?: Reason): void {
    this.state = state;
    this.reason = reason ?? this.reason;
    this.#runtime.emit('state', { server: this.name, state, generation: 1 });
  }
}

const resting: ReadonlySet<ServerState> = new Set([
  'ready',
  'stopped',
  'quarantined',
  'needs-approval',
  'disabled',
]);

export class FakeRuntime extends EventEmitter implements BatchRuntime {
  readonly #servers = new Map<string, FakeServer>();

  add(name: string, run: FakeTool, state: ServerState = 'ready'): FakeServer {
    const server = new FakeServer(this, name, state, run);
    this.#servers.set(name, server);
    return server;
  }

  async ready(options: { timeoutMs?: number; servers?: string[] } = {}): Promise<ReadyReport> {
    const names = options.servers ?? [...this.#servers.keys()];
    const rest = (): boolean => names.every((name) => resting.has(this.server(name).state));
    if (!rest()) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(finish, options.timeoutMs ?? 10_000);
        const look = (): void => {
          if (rest()) finish();
        };
        function finish(this: unknown): void {
          clearTimeout(timer);
          resolve();
        }
        this.on('state', look);
      });
    }
    const bad = names.map((name) => this.server(name)).filter(({ state }) => state !== 'ready');
    return {
      ok: bad.length === 0,
      ready: names.filter((name) => this.server(name).state === 'ready'),
      failed: bad.map(({ name, state, reason }) =>
        reason === undefined ? { name, state } : { name, state, reason },
      ),
    };
  }

  tools(): readonly CatalogTool[] {
    return [...this.#servers.values()].filter(({ state }) => state === 'ready').flatMap(({ tools }) => tools);
  }

  server(name: string): FakeServer {
    const server = this.#servers.get(name);
    if (server === undefined) throw new BulkheadError('UNKNOWN_SERVER', `no server "${name}"`);
    return server;
  }

  servers(): readonly FakeServer[] {
    return [...this.#servers.values()];
  }

  async status(): Promise<RuntimeStatus> {
    return { servers: [], problems: [] };
  }
}

export function resultOf(raw: string, attempts = 1): ToolResult {
  const value = JSON.parse(raw) as {
    isError?: boolean;
    content?: ToolResult['content'];
    structuredContent?: Record<string, unknown>;
  };
  const content = value.content ?? [];
  return {
    outcome: value.isError === true ? 'tool_error' : 'ok',
    isError: value.isError === true,
    content,
    structuredContent: value.structuredContent,
    text: () => content.map((block) => String(block.text ?? '')).join('\n'),
    raw,
    rawBytes: async () => Buffer.from(raw),
    timing: { queueMs: 0, callMs: 1 },
    attempts,
    warnings: [],
  };
}

function aborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    const cancel = (): void => reject(new BulkheadError('CANCELLED', 'the call was cancelled'));
    if (signal?.aborted === true) cancel();
    if (signal !== undefined) setMaxListeners(0, signal); // one for each call in flight
    signal?.addEventListener('abort', cancel, { once: true });
  });
}
