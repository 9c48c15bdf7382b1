/**
 * The agent's handle of one server. It outlives generations: calls wait in its mailbox while the server is starting
 * or restarting, leave through the data port of the moment, and are told apart by id. It owns promises, nothing else.
 */
import {
  type Board,
  type BulkheadError,
  decodeError,
  IdTable,
  type LaneAsk,
  type LaneExtra,
  type LaneReply,
  laneOp,
  laneStatus,
  mayBecomeReady,
  now,
  type Outcome,
  type Reason,
  type ServerOptions,
  type ServerState,
  type SupervisorNotice,
  type WireError,
} from '@bulkhead/workers';
import type { ServerStats } from './api.js';
import type { AskDesk } from './asks.js';
import { Breaker, type BreakerState } from './breaker.js';
import type { PendingCall } from './call.js';
import { DataLink } from './data-link.js';
import { LatencyRecorder } from './latency.js';
import { Mailbox } from './mailbox.js';
import { LaneToolResult } from './result.js';
import { ServerQuestions } from './server-questions.js';
import { dropSpilled } from './spilled-file.js';

/** What the runtime lends to its refs. */
export interface RefContext {
  board: Board;
  restartWaitMs: number;
  asks: AskDesk;
  backstopSlackMs: number;
  /** Asks for the start of a lazy server. */
  wake: (server: string) => void;
  /** One more or one less call is pending: keeps the process alive, runs the sweep. */
  pending: (by: 1 | -1) => void;
  saturated: (server: string) => void;
  drained: (server: string) => void;
}

/** The server wants the person to visit URLs before it goes on (2025-11-25). */
const URL_ELICITATION_REQUIRED = -32042;

export class ServerRef {
  readonly name: string;
  readonly #context: RefContext;
  options: ServerOptions;
  /** Started by its first call. */
  lazy: boolean;
  state: ServerState = 'stopped';
  reason: Reason | undefined;
  generation = 0;
  /**
   * Somebody asked for a start, and no notice of it has come yet: the answer to a command overtakes notices, a late
   * "stopped" of the stop before included.
   */
  startAsked = false;
  #nextTryAt = 0;
  #link: DataLink | undefined;
  readonly #calls = new IdTable<PendingCall>();
  readonly #mailbox: Mailbox<PendingCall>;
  readonly #outcomes = new Map<Outcome, number>();
  readonly #latency = new LatencyRecorder();
  readonly #breaker = new Breaker();
  #total = 0;
  readonly #questions: ServerQuestions;

  constructor(name: string, options: ServerOptions, lazy: boolean, context: RefContext) {
    this.name = name;
    this.options = options;
    this.lazy = lazy;
    this.#context = context;
    this.#mailbox = new Mailbox<PendingCall>({
      window: 0,
      queueMax: options.queueMax,
      queueMaxBytes: options.queueMaxBytes,
      onSaturated: (saturated) => (saturated ? context.saturated(name) : context.drained(name)),
    });
    this.#questions = new ServerQuestions(name, context.asks, (passedMs) => {
      for (const call of [...this.#calls.values(), ...this.#mailbox.waiting()]) call.postpone(passedMs);
    });
  }

  // ── calls ───────────────────────────────────────────────────────────────────────────────────────────────────────

  submit(call: PendingCall, signal: AbortSignal | undefined): void {
    this.#total++;
    if (!this.#breaker.allow(call.startedAt)) {
      this.#outcomes.set('rejected', (this.#outcomes.get('rejected') ?? 0) + 1);
      call.fail(this.#broken(call));
      return;
    }
    this.#context.pending(1);
    call.onEnd = this.#ended;
    if (signal !== undefined) {
      if (signal.aborted) {
        call.fail(cancelled(call));
        return;
      }
      call.listen(signal, this.#cancel);
    }
    const refusal = this.#refusal(call);
    if (refusal === undefined) this.#enqueue(call);
    else call.fail(refusal);
  }

  #enqueue(call: PendingCall): void {
    if (this.#mailbox.take()) {
      this.#post(call, call.startedAt);
      return;
    }
    switch (this.#mailbox.offer(call, Buffer.byteLength(call.args))) {
      case 'send':
        this.#post(call, now());
        return;
      case 'queued':
        return;
      case 'full': {
        const { queueMax, queueMaxBytes } = this.options;
        const what = `its mailbox is full (${this.#mailbox.inFlight} in flight, ${this.#mailbox.queued} waiting, limits queueMax ${queueMax} and queueMaxBytes ${queueMaxBytes}); send again after the "drain" event`;
        call.fail(
          call.error('MAILBOX_FULL', what, { queued: this.#mailbox.queued, queueMax, queueMaxBytes }),
        );
        return;
      }
    }
  }

  notify(method: string, params: Record<string, unknown>): void {
    if (this.state === 'ready') this.#link?.tell([laneOp.notify, method, JSON.stringify(params)]);
  }

  /** Somebody acted by hand: what was learnt about the server before does not count any more. */
  forgive(): void {
    this.#breaker.reset();
  }

  /** Why a new call cannot even wait, if so. Wakes a lazy server. */
  #refusal(call: PendingCall): BulkheadError | undefined {
    if (this.state !== 'backoff' && mayBecomeReady(this.state)) return undefined;
    if (this.state === 'draining')
      return call.error('DRAINING', 'the server takes no new calls: it is being drained');
    // Asleep, not stopped by hand: the call itself is the reason to start.
    if (this.state === 'stopped' && this.lazy && this.reason?.kind !== 'user') {
      this.#context.wake(this.name);
      return undefined;
    }
    if (this.startAsked) return undefined;
    if (this.state === 'stopped' && this.generation === 0 && this.reason === undefined) return undefined; // not begun yet
    if (this.state === 'backoff' && this.#nextTryAt - now() <= this.#context.restartWaitMs) return undefined;
    return this.#notReady(call);
  }

  #notReady(call: PendingCall): BulkheadError {
    const why = this.reason === undefined ? '' : `: ${this.reason.message}`;
    const next =
      this.state === 'backoff' ? `; next start in ${Math.ceil((this.#nextTryAt - now()) / 100) / 10} s` : '';
    return call.error('NOT_READY', `the server is ${this.state}${why}${next}`, {
      state: this.state,
      ...(this.reason === undefined ? {} : { reason: this.reason }),
    });
  }

  /** To the server thread of the moment; the mailbox lets a call out only while there is one. */
  #post(call: PendingCall, at: number): void {
    const link = this.#link;
    if (link === undefined) throw new Error(`"${this.name}" is called without a port`);
    call.id = link.post(call);
    call.postedAt = at;
    call.attempts++;
    this.#calls.set(call.id, call);
  }

  readonly #cancel = (call: PendingCall): void => {
    if (call.done) return;
    call.fail(cancelled(call));
    if (call.id === 0) {
      this.#mailbox.remove(call);
      return;
    }
    this.#forget(call);
  };

  /** Gives up a posted call: the server thread is told, a late answer finds nobody. */
  #forget(call: PendingCall): void {
    if (this.#calls.take(call.id) === undefined) return;
    this.#link?.cancel(call.id);
    this.#next(now());
  }

  readonly #receive = (message: LaneReply | LaneAsk): void => {
    if (Array.isArray(message)) this.#replied(message);
    else {
      const link = this.#link;
      this.#questions.heard(message, (id, answer) => {
        if (link === this.#link) link?.tell([laneOp.answer, id, ...answer]);
      });
    }
  };

  #replied(replies: LaneReply): void {
    const at = now();
    for (let i = 0; i < replies.length; ) {
      const id = replies[i] as number;
      if (id > 0) {
        this.#succeeded(id, at, false, replies[i + 1], null);
        i += 2;
        continue;
      }
      const status = replies[i + 1] as number;
      const payload = replies[i + 2];
      if (status === laneStatus.progress) this.#progress(-id, at, payload as string);
      else if (status === laneStatus.failed) this.#failed(-id, payload as WireError);
      else
        this.#succeeded(
          -id,
          at,
          status === laneStatus.toolError,
          payload,
          replies[i + 3] as LaneExtra | null,
        );
      i += 4;
    }
  }

  #succeeded(id: number, at: number, isError: boolean, payload: unknown, extra: LaneExtra | null): void {
    const call = this.#calls.take(id);
    if (call === undefined) {
      if (extra?.spill !== undefined) dropSpilled(extra.spill);
      return; // cancelled or timed out here already
    }
    const callMs = at - call.postedAt;
    this.#latency.record(callMs);
    call.succeed(new LaneToolResult(call, payload as string | ArrayBuffer, isError, extra, callMs), at);
    this.#next(at);
  }

  #failed(id: number, wire: WireError): void {
    const call = this.#calls.take(id);
    if (call === undefined) return;
    this.#refused(call, wire);
    this.#next(now());
  }

  #refused(call: PendingCall, wire: WireError): void {
    if (wire.code === 'OUTCOME_UNKNOWN') {
      this.#fate(call, withAttempts(wire, call));
      return;
    }
    if (
      wire.data?.jsonRpcCode === URL_ELICITATION_REQUIRED &&
      !call.urlsAsked &&
      this.#context.asks.canElicit
    ) {
      call.urlsAsked = true;
      void this.#context.asks.visitUrls(this.name, wire).then((visited) => {
        if (call.done) return;
        if (visited) this.#again(call);
        else call.fail(decodeError(wire));
      });
      return;
    }
    call.fail(withAttempts(wire, call));
  }

  /** A sent call whose answer was lost: one more try only by the caller's word, and never after two crashes. */
  #fate(call: PendingCall, error: BulkheadError): void {
    if (!call.idempotent) {
      call.fail(error);
    } else if (call.attempts >= 2) {
      const what = `in flight when the server was lost, ${call.attempts} times; it is not tried again (${error.message})`;
      call.fail(call.error('POISON_CALL', what, error.data));
    } else {
      call.mayHaveRun = true;
      this.#again(call);
    }
  }

  /** Back into the mailbox, inside its own deadline. */
  #again(call: PendingCall): void {
    call.id = 0;
    call.postedAt = 0;
    const refusal = this.#refusal(call);
    if (refusal !== undefined) {
      this.#unsent(call, refusal);
      return;
    }
    this.#mailbox.requeue(call, Buffer.byteLength(call.args));
    if (this.state === 'ready') this.#pump();
  }

  /** Ends a call that is not on the wire now; if it was once, the server may have done it all the same. */
  #unsent(call: PendingCall, error: BulkheadError): void {
    if (!call.mayHaveRun) {
      call.fail(error);
      return;
    }
    const what = `sent once to a server that was lost, and the second try did not get there: ${error.message}`;
    call.fail(call.error('OUTCOME_UNKNOWN', what, { ...error.data, sent: true }));
  }

  #progress(id: number, at: number, text: string): void {
    const call = this.#calls.get(id);
    if (call === undefined) return;
    call.heard(at);
    if (call.options?.onProgress === undefined) return;
    try {
      call.options.onProgress(JSON.parse(text));
    } catch {
      // a listener's error is not the call's
    }
  }

  #next(at: number): void {
    const next = this.#mailbox.settled();
    if (next !== undefined) this.#post(next, at);
  }

  #pump(): void {
    for (let call = this.#mailbox.next(); call !== undefined; call = this.#mailbox.next())
      this.#post(call, now());
  }

  readonly #ended = (outcome: Outcome, at: number): void => {
    this.#context.pending(-1);
    this.#breaker.record(outcome, at);
    this.#outcomes.set(outcome, (this.#outcomes.get(outcome) ?? 0) + 1);
  };

  #broken(call: PendingCall): BulkheadError {
    const retryAfterMs = this.#breaker.retryAfterMs(now());
    const what = `its breaker is open after repeated failures of the server; it lets a call through in ${Math.ceil(retryAfterMs / 1_000)} s`;
    return call.error('BREAKER_OPEN', what, { retryAfterMs });
  }

  // ── the server's life, as told by the supervisor ────────────────────────────────────────────────────────────────

  connect(notice: Extract<SupervisorNotice, { type: 'port' }>): void {
    if (this.#link !== undefined) this.#replaced(this.#link);
    this.#link = new DataLink(notice, {
      message: this.#receive,
      close: (link) => this.#portClosed(link),
    });
  }

  moved(notice: Extract<SupervisorNotice, { type: 'state' }>): void {
    if (notice.state !== 'stopped' && notice.state !== 'stopping') this.startAsked = false;
    this.state = notice.state;
    this.reason = notice.reason;
    this.generation = notice.generation;
    this.#nextTryAt = now() + (notice.nextTryMs ?? 0);
    if (this.#lost !== undefined) this.#settleLost();
    if (notice.state === 'ready') {
      this.#admit();
      this.#pump();
      return;
    }
    this.#mailbox.setWindow(0);
    // Whoever waits for a server that will not come soon is told so now.
    for (const call of [...this.#mailbox.waiting()]) {
      const refusal = this.#refusal(call);
      if (refusal === undefined) continue;
      this.#mailbox.remove(call);
      this.#unsent(call, refusal);
    }
    this.#recall();
  }

  /** A port that closed may be known before the state that explains it: then calls wait. */
  #admit(): void {
    this.#mailbox.setWindow(this.#link === undefined ? 0 : this.options.window);
  }

  /** The same for calls that the thread holds for its next process: without a connection the watermark stands still. */
  #recall(): void {
    if (this.#link === undefined) return;
    const { sentUpTo } = this.#link;
    for (const call of this.#calls.values()) {
      if (call.id <= sentUpTo) continue;
      call.attempts--; // it was handed to the thread, never to a server
      const refusal = this.#refusal(call);
      if (refusal === undefined) {
        call.attempts++;
        continue;
      }
      this.#unsent(call, refusal);
      this.#forget(call);
    }
  }

  /** Calls that were on a port that closed, until the supervisor says why (or for a moment). */
  #lost: { calls: PendingCall[]; sentUpTo: number; timer: NodeJS.Timeout } | undefined;

  /**
   * The next generation's port can be heard of before the close of the last one: an agent that was busy finds both at
   * once, in any order. What the old port still holds is taken in, then its calls are lost like any others.
   */
  #replaced(link: DataLink): void {
    link.drain();
    this.#portClosed(link);
  }

  #portClosed(link: DataLink): void {
    if (this.#link !== link) return;
    this.#settleLost(); // of the port before, if the supervisor has not said why yet
    this.#link = undefined;
    link.close();
    this.#mailbox.setWindow(0);
    const calls = this.#calls.values();
    this.#calls.clear();
    this.#mailbox.lostInFlight();
    this.#questions.abort();
    if (calls.length === 0) return;
    // Read now: the next generation has a buffer of its own.
    const { sentUpTo } = link;
    const timer = setTimeout(() => this.#settleLost(), 500);
    this.#lost = { calls, sentUpTo, timer };
    if (this.state !== 'ready') this.#settleLost();
  }

  #settleLost(): void {
    const lost = this.#lost;
    if (lost === undefined) return;
    this.#lost = undefined;
    clearTimeout(lost.timer);
    const why = this.reason?.message ?? 'the server thread ended';
    // Last first: each goes to the head of the queue, so the order of the calls stays.
    for (const call of lost.calls.reverse()) {
      if (call.done) continue;
      if (call.id > lost.sentUpTo) {
        call.attempts--;
        this.#again(call);
      } else {
        const what = `sent, but its server was lost before it answered: ${why}; it may have done the work`;
        this.#fate(
          call,
          call.error('OUTCOME_UNKNOWN', what, this.reason === undefined ? {} : { reason: this.reason }),
        );
      }
    }
  }

  /** Ends everything that waits or flies: the supervisor died, the runtime closes, or the server was removed. */
  abandon(code: 'SUPERVISOR_LOST' | 'CLOSED', why: string): void {
    const lost = this.#lost;
    this.#lost = undefined;
    if (lost !== undefined) {
      clearTimeout(lost.timer);
      for (const call of lost.calls) this.#leave(call, code, why, call.id <= lost.sentUpTo);
    }
    const sentUpTo = this.#link?.sentUpTo ?? Number.POSITIVE_INFINITY;
    for (const call of this.#calls.values()) this.#leave(call, code, why, call.id <= sentUpTo);
    this.#calls.clear();
    for (const call of [...this.#mailbox.waiting()]) {
      this.#mailbox.remove(call);
      this.#leave(call, code, why, false);
    }
    this.#mailbox.lostInFlight();
    this.#mailbox.setWindow(0);
    this.#link?.close();
    this.#link = undefined;
    this.state = 'stopped';
  }

  #leave(call: PendingCall, code: 'SUPERVISOR_LOST' | 'CLOSED', why: string, sent: boolean): void {
    if (sent) {
      const ending = code === 'CLOSED' ? 'OUTCOME_UNKNOWN' : code;
      call.fail(call.error(ending, `${why}; it was sent and may have done its work`, { sent }));
    } else {
      const ending = code === 'CLOSED' ? code : 'CONNECTION_LOST';
      this.#unsent(call, call.error(ending, `${why}; it was never sent`, { sent }));
    }
  }

  /** The running generation is being replaced: nothing more goes to it, even before the supervisor says so. */
  replacing(): void {
    if (this.state !== 'ready') return;
    this.state = 'stopping';
    this.#mailbox.setWindow(0);
  }

  /** Takes a changed entry: its numbers hold from the next call on. */
  adopt(options: ServerOptions, lazy: boolean): void {
    this.options = options;
    this.lazy = lazy;
    this.#mailbox.setLimits(options.queueMax, options.queueMaxBytes);
    if (this.state === 'ready') this.#admit();
  }

  /** A new supervisor takes over: calls may wait for it as for any start. */
  reborn(): void {
    this.generation = 0;
    this.reason = undefined;
    this.state = 'stopped';
  }

  /** The one sweep: calls that wait too long here, and the backstop behind a server thread that cannot keep time. */
  sweep(at: number): void {
    if (this.#questions.isOpen) return; // a person is being asked
    for (const call of [...this.#mailbox.waiting()]) {
      if (call.dueAt > at) continue;
      this.#mailbox.remove(call);
      const waited = Math.round(at - call.startedAt);
      const what =
        this.state === 'ready'
          ? `timed out after ${waited} ms in the mailbox behind ${this.#mailbox.inFlight} calls in flight; never sent`
          : `timed out after ${waited} ms while the server was ${this.state}${this.reason === undefined ? '' : ` (${this.reason.message})`}; never sent`;
      this.#unsent(
        call,
        call.error('TIMEOUT', what, { sent: false, state: this.state }, { retryable: true }),
      );
    }
    const overdueAt = at - this.#context.backstopSlackMs;
    for (const call of this.#calls.values()) {
      if (call.dueAt > overdueAt) continue;
      const what = `timed out: no answer within ${Math.round(at - call.postedAt)} ms, and its server thread did not end the call itself`;
      call.fail(call.error('TIMEOUT', what, { sent: true, backstop: true }));
      this.#forget(call);
    }
  }

  get breaker(): BreakerState['type'] {
    return this.#breaker.state.type;
  }

  /** What the board says of its thread and its process (`pid` 0: none); undefined while there is no thread. */
  onBoard(): { pid: number; receivedBytes: number; sentBytes: number; loopDelayMs: number } | undefined {
    if (this.#link === undefined) return undefined;
    const { slot } = this.#link;
    const { board } = this.#context;
    return {
      pid: board.get(slot, 'pid'),
      receivedBytes: board.getWide(slot, 'received'),
      sentBytes: board.getWide(slot, 'sent'),
      loopDelayMs: board.get(slot, 'loopDelay') / 1_000,
    };
  }

  stats(): ServerStats {
    const durations = this.#latency.cumulative();
    return {
      calls: this.#total,
      inFlight: this.#calls.size,
      queued: this.#mailbox.queued,
      outcomes: Object.fromEntries(this.#outcomes),
      latency: this.#latency.snapshot(),
      breaker: this.breaker,
      ...(durations === undefined ? {} : { durations }),
    };
  }
}

function withAttempts(wire: WireError, call: PendingCall): BulkheadError {
  return decodeError({ ...wire, data: { ...wire.data, attempts: call.attempts } });
}

function cancelled(call: PendingCall): BulkheadError {
  return call.error('CANCELLED', call.id === 0 ? 'cancelled before it was sent' : 'cancelled by the caller', {
    sent: call.id !== 0,
  });
}
