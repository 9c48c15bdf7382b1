/** A session over the HTTP transport without threads: handshake by the session, calls as the lane makes them. */
import { afterEach } from 'vitest';
import type { WireError } from '../../packages/workers/src/errors.js';
import type { Reason } from '../../packages/workers/src/protocol.js';
import {
  type ConnectOptions,
  connectHttp,
  type HttpLaneSink,
  type HttpTransport,
} from '../../packages/workers/src/server/http/index.js';
import { LegacySession } from '../../packages/workers/src/server/session-legacy.js';

export type CallEnd = { text: string } | { failed: WireError } | { invalid: string } | { oversize: number };

export class HttpSession {
  readonly transport: HttpTransport;
  readonly session: LegacySession;
  readonly warnings: string[] = [];
  readonly progress: unknown[] = [];
  renewals = 0;
  toolChanges = 0;
  ended: Reason | undefined;
  readonly #calls = new Map<number, (end: CallEnd) => void>();

  constructor(
    url: string,
    options: Partial<ConnectOptions> & { type?: 'http' | 'sse'; headers?: [string, string][] } = {},
  ) {
    const { type = 'http', headers = [], ...rest } = options;
    const launch = { type, url, headers };
    const defaults = { maxMessageBytes: 1024 * 1024, onBytes() {}, onSkipped() {} };
    this.transport = connectHttp(launch, { ...defaults, ...rest });
    this.transport.onwarning = (message) => this.warnings.push(message);
    this.transport.onended = (reason) => {
      this.ended = reason;
    };
    this.transport.onrenewed = () => {
      this.renewals++;
    };
    const none = { sampling: false, elicitation: false, roots: false, authorize: false };
    this.session = new LegacySession(this.transport, { name: 'test', version: '1' }, none);
    this.session.onToolsChanged = () => {
      this.toolChanges++;
    };
    const settle = (id: number, end: CallEnd) => {
      this.transport.releaseId(id);
      this.#calls.get(id)?.(end);
    };
    const lane: HttpLaneSink = {
      onPlain: () => false, // the message comes again, as a whole
      onResponse: (id, { text }) => settle(id, { text }),
      onLarge: (id, { bytes }) => settle(id, { text: bytes.toString() }),
      onInvalid: (id, invalid) => settle(id, { invalid }),
      onOversize: (id, oversize) => settle(id, { oversize }),
      onFailed: (id, failed) => settle(id, { failed }),
      onProgress: (_id, params) => this.progress.push(params),
      onTurn() {},
      onDrain() {},
    };
    this.transport.lane = lane;
  }

  open(timeoutMs = 5_000) {
    return this.session.open(timeoutMs);
  }

  /** Calls a tool; gives how it ended. */
  call(args: unknown = {}, tool = 'echo'): Promise<CallEnd> {
    return this.start(args, tool).end;
  }

  start(args: unknown = {}, tool = 'echo'): { id: number; end: Promise<CallEnd> } {
    const id = this.transport.claimId();
    const end = new Promise<CallEnd>((resolve) => this.#calls.set(id, resolve));
    const params = { name: tool, arguments: args, _meta: { progressToken: id } };
    this.transport.writeFrames(
      `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${JSON.stringify(params)}}\n`,
    );
    return { id, end };
  }

  cancel(id: number): void {
    this.transport.releaseId(id);
    this.transport.writeFrames(
      `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id},"reason":"x"}}\n`,
    );
  }
}

/** Sessions of the current test; they are closed after it. */
export function useHttpSession(): (...args: ConstructorParameters<typeof HttpSession>) => HttpSession {
  const sessions: HttpSession[] = [];
  afterEach(async () => {
    for (const { transport } of sessions.splice(0)) await transport.close();
  });
  return (...args) => {
    const session = new HttpSession(...args);
    sessions.push(session);
    return session;
  };
}
