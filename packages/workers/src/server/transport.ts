/**
 * What the session and the lane need of a connection to the server, whatever carries it.
 * The transport owns the wire's id space: one counter from 1 for the lane and the SDK alike.
 */
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { Reason } from '../protocol.js';
import type { Incoming } from './envelope.js';
import type { MirroredParams } from './http/request-headers.js';

export type Response = Extract<Incoming, { kind: 'response' }>;
export type LargeResponse = Extract<Incoming, { kind: 'large' }>;

/** The lane's half of the wire. */
export interface LaneSink {
  /** A checked response whose id belongs to the lane. */
  onResponse(wireId: number, response: Response): void;
  /**
   * A plain answer, as text of its result, not parsed. False when the lane must see more of it: nothing happened then,
   * and the message comes again as a whole.
   */
  onPlain(wireId: number, result: string, isError: boolean): boolean;
  /** The same, with a large result that was not parsed. */
  onLarge(wireId: number, response: LargeResponse): void;
  /** The id belongs to the lane, but the envelope is unusable. */
  onInvalid(wireId: number, reason: string): void;
  onOversize(wireId: number, bytes: number): void;
  onProgress(wireId: number, params: Record<string, unknown>): void;
  /** The transport has handed over everything that one read brought: a good moment to answer. */
  onTurn(): void;
  /** The transport takes frames again. */
  onDrain(): void;
}

export interface WireTransport extends Transport {
  /** A fresh wire id for a lane call. */
  claimId(): number;
  /** Forgets a lane id: a late answer is dropped quietly. */
  releaseId(wireId: number): void;
  /** True while the other side does not take what was written: hold lane frames back, control frames pass. */
  readonly congested: boolean;
  /** Writes whole frames (each ending in a newline). */
  writeFrames(frames: string): void;
  lane: LaneSink | undefined;
  /** Ends the direction towards the server: EOF on its stdin. */
  endInput(): void;
  /** Called once when the connection is over, with why as far as the transport knows. */
  onended: ((reason: Reason) => void) | undefined;
  onwarning: ((message: string) => void) | undefined;
  /**
   * Which era the next frames belong to; over HTTP it decides their headers. Said before the question for the era
   * (`modern`) and again when the answer was another one.
   */
  setEra?(era: 'legacy' | 'modern'): void;
  /** True when what carries it does not exist in the modern era: it is not asked for. */
  readonly legacyOnly?: boolean;
  /** Over HTTP: tools whose arguments are repeated in headers, by name (modern era). */
  mirror?(tools: ReadonlyMap<string, MirroredParams>): void;
  /** Stdout lines that were not protocol. */
  skipped(): { count: number; tail: string[] };
}
