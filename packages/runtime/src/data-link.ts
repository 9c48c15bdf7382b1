/**
 * One generation's data port as the agent holds it: gives posted calls their ids, packs everything of one turn of the loop
 * into one message, and knows up to which id the server was handed what it was sent. It dies with its generation.
 */
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import {
  type LaneAsk,
  type LaneReply,
  type LaneRequest,
  laneOp,
  type SupervisorNotice,
  TOOL_NAMES_MAX,
} from '@bulkhead/workers';
import type { PendingCall } from './call.js';

/** What is chained to it runs at the end of the turn's microtasks. */
const TURN = Promise.resolve();

export class DataLink {
  readonly slot: number;
  readonly #port: MessagePort;
  /** Highest call id handed to the transport; above it nothing was sent. */
  readonly #sent: Int32Array;
  readonly #receive: (message: LaneReply | LaneAsk) => void;
  readonly #toolNames = new Map<string, number>();
  #lastId = 0;
  #outbox: LaneRequest = [];
  #flushing = false;

  constructor(
    { port, slot, sent }: Extract<SupervisorNotice, { type: 'port' }>,
    on: { message: (message: LaneReply | LaneAsk) => void; close: (link: DataLink) => void },
  ) {
    this.slot = slot;
    this.#port = port;
    this.#sent = new Int32Array(sent);
    this.#receive = on.message;
    port.on('message', on.message);
    port.once('close', () => on.close(this));
    port.unref();
  }

  /** Ids up to this one were handed to the server, or may have been; later ones certainly were not. */
  get sentUpTo(): number {
    return Atomics.load(this.#sent, 0);
  }

  /** Gives the call its id; it leaves with all others of this turn. */
  post(call: PendingCall): number {
    const id = ++this.#lastId;
    const op = call.kind === 'call' ? laneOp.call : laneOp.request;
    if (this.#outbox.length > 0 && this.#outbox[0] !== op) this.flush();
    if (this.#outbox.length === 0) this.#outbox.push(op, id);
    const tool = op === laneOp.call ? this.#toolWord(call.tool) : call.tool;
    const hardAt = Math.ceil(call.hardAt);
    if (call.meta === '') this.#outbox.push(tool, call.args, call.idleMs, Math.ceil(call.idleAt), hardAt);
    else this.#outbox.push(tool, call.args, call.idleMs, Math.ceil(call.idleAt), -hardAt, call.meta);
    if (!this.#flushing) {
      this.#flushing = true;
      // Not queueMicrotask: Node makes an AsyncResource for each of those.
      void TURN.then(this.flush);
    }
    return id;
  }

  readonly flush = (): void => {
    this.#flushing = false;
    if (this.#outbox.length === 0) return;
    const request = this.#outbox;
    this.#outbox = [];
    this.#port.postMessage(request);
  };

  cancel(id: number): void {
    this.flush(); // the cancellation must not overtake the call
    this.tell([laneOp.cancel, id]);
  }

  /** Leaves at once, before posted calls of this turn. */
  tell(request: LaneRequest): void {
    this.#port.postMessage(request);
  }

  /** Takes in what has arrived and was not looked at yet. */
  drain(): void {
    for (
      let left = receiveMessageOnPort(this.#port);
      left !== undefined;
      left = receiveMessageOnPort(this.#port)
    )
      this.#receive(left.message);
  }

  /** What was posted in this turn and has not left stays here. */
  close(): void {
    this.#outbox = [];
    this.#port.close();
  }

  /** What stands for the tool's name on this port: see {@link LaneRequest}. */
  #toolWord(tool: string): string | number {
    const names = this.#toolNames;
    const known = names.get(tool);
    if (known !== undefined) return known;
    if (names.size < TOOL_NAMES_MAX) names.set(tool, names.size);
    return tool;
  }
}
