/** What the two ways of speaking MCP over HTTP share: how they are driven, and what they tell their transport. */
import type { Reason } from '../../protocol.js';
import type { Incoming } from '../envelope.js';
import type { Router } from '../router.js';
import type { Failure } from './failure.js';
import type { MirroredParams } from './request-headers.js';

/** One JSON-RPC message on its way out. */
export interface Frame {
  /** Its JSON text, without a newline. */
  text: string;
  /** Absent for a notification or an answer. */
  wireId: number | undefined;
  method: string | undefined;
  /** The question for the era: how it fails is told to who asked, and ends nothing. */
  probe?: boolean;
}

/** What an engine needs of the transport around it. */
export interface EngineHost {
  readonly router: Router;
  readonly maxMessageBytes: number;
  /** Takes one plain answer to a call of the lane; false when it is anything else, and nothing happened. */
  readPlain(bytes: Buffer): boolean;
  /** The messages of one body or event; counts what is not protocol. */
  read(bytes: Buffer): Incoming[];
  route(message: Incoming): void;
  /** Ends one request, if somebody still waits for it. */
  fail(wireId: number, failure: Failure): void;
  /** Bytes arrived and were handed over. */
  turn(): void;
  bytes(count: number): void;
  warn(message: string): void;
  /** The connection is over. */
  end(reason: Reason): void;
  /** A lost session was replaced by a new one: lists and subscriptions of the old one are void. */
  renewed(): void;
}

export interface Engine {
  /**
   * Sends one message; resolves when its answer was handed over or it failed. Never rejects, except for `initialize`
   * and the probe.
   */
  send(frame: Frame): Promise<void>;
  /** Nobody waits for this request any more: its exchange is cut. */
  cancel(wireId: number): void;
  /** What was open belongs to another era and is cut. Absent: legacy only. */
  setEra?(era: 'legacy' | 'modern'): void;
  mirror?(tools: ReadonlyMap<string, MirroredParams>): void;
  /** Ends everything that is open; says goodbye as far as that is quick. Never rejects. */
  close(): Promise<void>;
}
