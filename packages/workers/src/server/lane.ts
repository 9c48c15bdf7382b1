/**
 * The call lane: `tools/call` without the SDK. Calls come in over the agents' data ports, leave as frames (many per
 * write), and their answers go straight back, batched per turn. The lane owns the calls in flight, their deadlines
 * and the window; the transport owns ids and bytes.
 */
import type { MessagePort } from 'node:worker_threads';
import type { Board } from '../board.js';
import { now } from '../clock.js';
import { encodeError, type WireError } from '../errors.js';
import { IdTable } from '../id-table.js';
import {
  CALL_STRIDE,
  type LaneExtra,
  type LaneRequest,
  laneOp,
  laneStatus,
  type Reason,
} from '../protocol.js';
import { Asks } from './asks.js';
import { DataPort } from './data-port.js';
import { Deadlines } from './deadlines.js';
import { Frames } from './frames.js';
import {
  answersText,
  type InputRequired,
  inputProblem,
  largeNeedsInput,
  needsInput,
} from './input-rounds.js';
import { type LaneCall, serverError } from './lane-call.js';
import type { OutputChecker } from './output-checker.js';
import { resultSpan, resultSpanBytes } from './result-span.js';
import type { Dialect } from './session.js';
import type { Spill } from './spill.js';
import type { LaneSink, LargeResponse, Response, WireTransport } from './transport.js';

export interface LaneOptions {
  server: string;
  slot: number;
  board: Board;
  window: number;
  maxMessageBytes: number;
  transferBytes: number;
  spill: Spill;
  askTimeoutMs: number;
  checker: OutputChecker;
}

const NONE: string[] = [];

export class Lane implements LaneSink {
  readonly #options: LaneOptions;
  readonly #ports = new Set<DataPort>();
  readonly #asks: Asks;
  readonly #inFlight = new IdTable<LaneCall>();
  /** Calls that arrived and wait for the window or for the transport to drain, in order. */
  #waiting: LaneCall[] = [];
  #transport: WireTransport | undefined;
  #dialect: Dialect | undefined;
  readonly #frames = new Frames();
  readonly #deadlines = new Deadlines(
    (at) => this.#expire(at),
    (passedMs) => this.#shift(passedMs),
  );

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#asks = new Asks(options.askTimeoutMs, {
      first: () => this.#deadlines.pause(),
      last: () => this.#deadlines.resume(),
    });
  }

  addPort(port: MessagePort, sent: SharedArrayBuffer): void {
    const data = new DataPort(port, sent);
    this.#ports.add(data);
    port.on('message', (request: LaneRequest) => this.#receive(data, request));
    port.once('close', () => {
      // That agent thread is gone: nobody waits for these any more.
      this.#ports.delete(data);
      this.#waiting = this.#waiting.filter((call) => call.port !== data);
      for (const call of this.#inFlight.values()) if (call.port === data) this.#cancelOnWire(call);
      this.#asks.portClosed(data);
      this.#pump(); // its places in the window are the others' now
      this.#publish();
    });
  }

  /** Calls flow only between `connected` and `disconnected`; what waits meanwhile stays within its deadlines. */
  connected(transport: WireTransport, dialect?: Dialect): void {
    this.#transport = transport;
    this.#dialect = dialect;
    transport.lane = this;
    this.#pump();
    this.#publish();
  }

  /** The server is gone: what was sent ends as `OUTCOME_UNKNOWN` with the cause; what was not waits for the next one. */
  disconnected(reason: Reason): void {
    this.#transport = undefined;
    for (const call of this.#inFlight.values()) {
      call.asking?.abort();
      this.#fail(call, {
        code: 'OUTCOME_UNKNOWN',
        message: `${this.#name(call)}: sent, but the server was gone before it answered: ${reason.message}; it may have done the work`,
        data: { reason },
      });
    }
    this.#inFlight.clear();
    this.#publish();
  }

  /**
   * Asks the first agent thread something for the server. While a person may be thinking, no deadline runs.
   * @throws {BulkheadError} what the agent answered, or that nobody answered.
   */
  ask(
    method: string,
    params: Record<string, unknown>,
    signal: AbortSignal,
  ): Promise<Record<string, unknown>> {
    const [port] = this.#ports;
    return this.#asks.ask(port, method, params, signal);
  }

  /** After deadlines stood still: they move by what passed. */
  #shift(passedMs: number): void {
    for (const call of [...this.#inFlight.values(), ...this.#waiting]) {
      call.idleAt += passedMs;
      call.hardAt += passedMs;
      this.#deadlines.arm(Math.min(call.idleAt, call.hardAt));
    }
  }

  // ── from the agent ────────────────────────────────────────────────────────────────────────────────────────────

  #receive(port: DataPort, request: LaneRequest): void {
    if (request[0] === laneOp.cancel) {
      for (let i = 1; i < request.length; i++) this.#cancel(port, request[i] as number);
      this.#publish();
      return;
    }
    if (request[0] === laneOp.answer) {
      this.#asks.answered(request[1] as number, request[2] === 1, request[3] as string);
      return;
    }
    if (request[0] === laneOp.notify) {
      if (this.#dialect !== undefined) return; // the stateless era has no notification that an agent could send
      this.#transport?.writeFrames(
        `{"jsonrpc":"2.0","method":${JSON.stringify(request[1])},"params":${request[2]}}\n`,
      );
      return;
    }
    const isRequest = request[0] === laneOp.request;
    let id = request[1] as number;
    let due = Number.POSITIVE_INFINITY;
    for (let i = 2; i + CALL_STRIDE <= request.length; i += CALL_STRIDE) {
      const tool = request[i] as number | string;
      const hardAt = request[i + 4] as number;
      const call: LaneCall = {
        port,
        id: id++,
        method: isRequest ? (tool as string) : '',
        tool: isRequest ? (tool as string) : port.toolName(tool),
        args: request[i + 1] as string,
        meta: hardAt < 0 ? `,${request[i + CALL_STRIDE]}` : '',
        idleMs: request[i + 2] as number,
        idleAt: request[i + 3] as number,
        hardAt: Math.abs(hardAt),
        wireId: 0,
        answers: '',
        rounds: 0,
        asking: undefined,
      };
      if (hardAt < 0) i++;
      this.#waiting.push(call);
      due = Math.min(due, call.idleAt, call.hardAt);
    }
    this.#deadlines.arm(due);
    this.#options.board.add(this.#options.slot, 'calls', id - (request[1] as number));
    this.#pump();
    this.#publish();
  }

  #cancel(port: DataPort, id: number): void {
    const index = this.#waiting.findIndex((call) => call.port === port && call.id === id);
    if (index >= 0) {
      this.#waiting.splice(index, 1);
      return;
    }
    for (const call of this.#inFlight.values()) {
      if (call.port === port && call.id === id) {
        this.#cancelOnWire(call);
        this.#pump();
        return;
      }
    }
  }

  // ── to the server ─────────────────────────────────────────────────────────────────────────────────────────────

  /** Sends what the window and the transport admit, as one write. */
  #pump(): void {
    const transport = this.#transport;
    if (transport === undefined || this.#waiting.length === 0 || transport.congested) return;
    let frames = '';
    let taken = 0;
    while (taken < this.#waiting.length && this.#inFlight.size < this.#options.window) {
      const call = this.#waiting[taken++] as LaneCall;
      if (this.#absorbed(call)) continue;
      call.wireId = transport.claimId();
      this.#inFlight.set(call.wireId, call);
      // Before the write: a thread that dies in between leaves the call "sent", which is the safe side.
      call.port.markSent(call.id);
      frames += this.#frames.frame(call, this.#dialect?.meta());
      if (frames.length > 1024 * 1024) break; // the rest when the transport has drained
    }
    if (taken === 0) return;
    this.#waiting = taken === this.#waiting.length ? [] : this.#waiting.slice(taken);
    if (frames !== '') transport.writeFrames(frames);
    if (this.#waiting.length > 0 && !transport.congested && this.#inFlight.size < this.#options.window)
      this.#pump();
  }

  /** Requests that this era has no method for are answered by the session. */
  #absorbed(call: LaneCall): boolean {
    if (call.method === '' || this.#dialect === undefined) return false;
    const answer = this.#dialect.absorb(call.method, JSON.parse(call.args));
    if (answer === undefined) return false;
    call.port.markSent(call.id);
    answer.then(
      (result) => {
        call.port.replyText(call.id, JSON.stringify(result));
        this.#publish();
      },
      (error: unknown) => {
        this.#fail(call, encodeError(error));
        this.#publish();
      },
    );
    return true;
  }

  #cancelOnWire(call: LaneCall): void {
    this.#release(call);
    if (call.asking !== undefined) {
      call.asking.abort(); // between two rounds the server knows of no request
      return;
    }
    this.#transport?.writeFrames(
      `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${call.wireId},"reason":"The client no longer waits for this request."}}\n`,
    );
  }

  #release(call: LaneCall): void {
    this.#inFlight.take(call.wireId);
    this.#transport?.releaseId(call.wireId);
  }

  // ── from the server ───────────────────────────────────────────────────────────────────────────────────────────

  onResponse(wireId: number, response: Response): void {
    const call = this.#inFlight.get(wireId);
    if (call === undefined) return;
    this.#release(call);
    const { value, text } = response;
    const error = value.error as { code: number; message: string; data?: unknown } | undefined;
    if (error !== undefined) {
      this.#fail(call, serverError(this.#name(call), error));
      return;
    }
    const result = value.result;
    if (typeof result !== 'object' || result === null || Array.isArray(result)) {
      this.#fail(call, {
        code: 'PROTOCOL_ERROR',
        message: `${this.#name(call)}: the server's result is not an object`,
        data: { result },
      });
      return;
    }
    const input = this.#dialect === undefined ? undefined : needsInput(result as Record<string, unknown>);
    if (input !== undefined) {
      void this.#answerInput(call, input);
      return;
    }
    const isError = (result as Record<string, unknown>).isError === true;
    const warnings =
      call.method === '' ? this.#options.checker.check(call.tool, result as Record<string, unknown>) : [];
    const status = isError ? laneStatus.toolError : laneStatus.ok;
    const span = resultSpan(text, value);
    if (text.length < this.#options.transferBytes) {
      this.#replyText(call, text.slice(span.start, span.end), isError, warnings);
    } else {
      const bytesSpan = resultSpanBytes(response.bytes, value);
      call.port.replyBytes(call.id, status, response.bytes, bytesSpan, warnings);
    }
  }

  onPlain(wireId: number, result: string, isError: boolean): boolean {
    const call = this.#inFlight.get(wireId);
    if (call === undefined || this.#dialect !== undefined || result.length >= this.#options.transferBytes)
      return false;
    const checked = call.method === '' && !isError && this.#options.checker.checks(call.tool);
    this.#release(call);
    const warnings = checked ? this.#options.checker.check(call.tool, JSON.parse(result)) : NONE;
    this.#replyText(call, result, isError, warnings);
    return true;
  }

  #replyText(call: LaneCall, text: string, isError: boolean, warnings: string[]): void {
    if (!isError && warnings.length === 0) {
      call.port.replyText(call.id, text);
      return;
    }
    const extra: LaneExtra | null = warnings.length === 0 ? null : { warnings };
    call.port.reply(call.id, isError ? laneStatus.toolError : laneStatus.ok, text, extra);
  }

  /**
   * The server wants something of the agent before it goes on: ask, then send the same request again with the answers
   * and the server's own state, under a new id. Nothing of it is kept.
   */
  async #answerInput(call: LaneCall, input: InputRequired): Promise<void> {
    const dialect = this.#dialect;
    const problem = inputProblem(input, ++call.rounds, dialect?.answers ?? new Set());
    if (problem !== undefined) {
      this.#fail(call, { code: 'PROTOCOL_ERROR', message: `${this.#name(call)}: ${problem}` });
      return;
    }
    const asking = new AbortController();
    call.asking = asking;
    this.#inFlight.set(call.wireId, call); // it still has its place, its deadlines and its cancellation
    try {
      const answers = await Promise.all(
        [...input.requests].map(async ([key, { method, params }]) => {
          return [key, await this.#asks.ask(call.port, method, params, asking.signal)] as const;
        }),
      );
      if (asking.signal.aborted || this.#inFlight.get(call.wireId) !== call) return;
      this.#inFlight.take(call.wireId);
      call.asking = undefined;
      call.answers = answersText(new Map(answers), input.state);
      const transport = this.#transport;
      if (transport === undefined) return;
      call.wireId = transport.claimId();
      call.idleAt = now() + call.idleMs;
      this.#inFlight.set(call.wireId, call);
      transport.writeFrames(this.#frames.frame(call, this.#dialect?.meta()));
      this.#deadlines.arm(Math.min(call.idleAt, call.hardAt));
    } catch (error) {
      asking.abort(); // the other questions of this round
      if (this.#inFlight.get(call.wireId) !== call) return;
      this.#inFlight.take(call.wireId);
      call.asking = undefined;
      const failed = encodeError(error);
      const message = `${this.#name(call)}: the server asked for input, and the agent gave none: ${failed.message}`;
      this.#fail(call, { ...failed, message });
      this.#pump();
    } finally {
      this.#publish();
    }
  }

  onLarge(wireId: number, { bytes, result, isError }: LargeResponse): void {
    const call = this.#inFlight.get(wireId);
    if (call === undefined) return;
    this.#release(call);
    if (this.#dialect !== undefined && largeNeedsInput(bytes, result.start)) {
      this.#fail(call, {
        code: 'TOO_LARGE',
        message: `${this.#name(call)}: the server asks for input with a message of ${bytes.length} bytes`,
      });
      return;
    }
    const warnings = isError || call.method !== '' ? [] : this.#options.checker.checkLarge(call.tool, bytes);
    const status = isError ? laneStatus.toolError : laneStatus.ok;
    const { port, id } = call;
    const { spill } = this.#options;
    if (!spill.wants(result.end - result.start)) {
      port.replyBytes(id, status, bytes, result, warnings);
      return;
    }
    void spill.write(bytes.subarray(result.start, result.end)).then((written) => {
      if (typeof written === 'string') {
        const why = `${this.#name(call)}: ${written}`;
        port.replyBytes(id, status, bytes, result, [...warnings, why]);
      } else {
        port.reply(id, status, '', { spill: written, ...(warnings.length > 0 && { warnings }) });
      }
      this.#publish();
    });
  }

  onInvalid(wireId: number, reason: string): void {
    const call = this.#inFlight.get(wireId);
    if (call === undefined) return;
    this.#release(call);
    this.#fail(call, {
      code: 'PROTOCOL_ERROR',
      message: `${this.#name(call)}: the server answered with an unusable message: ${reason}`,
    });
  }

  onFailed(wireId: number, error: WireError): void {
    const call = this.#inFlight.get(wireId);
    if (call === undefined) return;
    this.#release(call);
    this.#fail(call, { ...error, message: `${this.#name(call)}: ${error.message}` });
  }

  onOversize(wireId: number, bytes: number): void {
    const call = this.#inFlight.get(wireId);
    if (call === undefined) return;
    this.#release(call);
    const limit = this.#options.maxMessageBytes;
    this.#fail(call, {
      code: 'TOO_LARGE',
      message: `${this.#name(call)}: the answer has ${bytes} bytes, above maxMessageBytes (${limit}); raise it for server "${this.#options.server}" or ask the tool for less`,
      data: { bytes, limit },
    });
  }

  onProgress(wireId: number, params: Record<string, unknown>): void {
    const call = this.#inFlight.get(wireId);
    if (call === undefined) return;
    call.idleAt = now() + call.idleMs;
    call.port.reply(call.id, laneStatus.progress, JSON.stringify(params), null);
  }

  onTurn(): void {
    this.#pump();
    this.#publish();
  }

  onDrain(): void {
    this.onTurn();
  }

  // ── ends and deadlines ────────────────────────────────────────────────────────────────────────────────────────

  #fail(call: LaneCall, error: WireError): void {
    const full: WireError = { ...error, server: this.#options.server, tool: call.tool };
    call.port.reply(call.id, laneStatus.failed, full, null);
  }

  #expire(at: number): void {
    let next = Number.POSITIVE_INFINITY;
    for (const call of this.#inFlight.values()) {
      const due = Math.min(call.idleAt, call.hardAt);
      if (due <= at) this.#timeout(call, 'sent, no answer');
      else next = Math.min(next, due);
    }
    if (this.#waiting.length > 0) {
      const kept: LaneCall[] = [];
      for (const call of this.#waiting) {
        const due = Math.min(call.idleAt, call.hardAt);
        if (due > at) {
          kept.push(call);
          next = Math.min(next, due);
        } else {
          this.#timeout(call, `never sent: it waited behind ${this.#inFlight.size} calls in flight`);
        }
      }
      this.#waiting = kept;
    }
    this.#deadlines.arm(next);
    this.#pump();
    this.#publish();
  }

  #timeout(call: LaneCall, what: string): void {
    const hard = call.hardAt < call.idleAt;
    const skipped = this.#transport?.skipped();
    const data: Record<string, unknown> = {
      limit: hard ? 'callMaxMs' : 'callTimeoutMs',
      idleMs: call.idleMs,
      sent: call.wireId !== 0,
    };
    let message = `${this.#name(call)}: timed out (${hard ? 'hard limit callMaxMs' : `no answer and no progress for ${Math.round(call.idleMs)} ms`}; ${what})`;
    if (skipped !== undefined && skipped.count > 0) {
      data.skippedLines = skipped.tail;
      message += `; ${skipped.count} lines on its stdout were not JSON-RPC, last: ${skipped.tail.at(-1)}`;
    }
    if (call.wireId !== 0) this.#cancelOnWire(call);
    this.#fail(call, { code: 'TIMEOUT', message, data, retryable: call.wireId === 0 });
  }

  #name(call: LaneCall): string {
    return `${this.#options.server}.${call.tool}`;
  }

  /** Ends the turn: replies leave as one message per port, the board says what is in flight. */
  #publish(): void {
    for (const port of this.#ports) port.flush();
    this.#options.board.set(this.#options.slot, 'inFlight', this.#inFlight.size + this.#waiting.length);
  }
}
