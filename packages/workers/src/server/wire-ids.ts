/**
 * The id space of one connection: one counter from 1 for the lane and the SDK, so ids never collide, never start
 * at 0 and are never reused. The SDK's own ids (and progress tokens) are mapped to wire ids and back.
 */
import { IdTable } from '../id-table.js';

export class WireIds {
  #last = 0;
  readonly #lane = new IdTable<true>();
  readonly #sdkByWire = new Map<number, number | string>();
  readonly #wireBySdk = new Map<number | string, number>();

  claimForLane(): number {
    const id = ++this.#last;
    this.#lane.set(id, true);
    return id;
  }

  releaseLane(id: number): void {
    this.#lane.take(id);
  }

  claimForSdk(sdkId: number | string): number {
    const id = ++this.#last;
    this.#sdkByWire.set(id, sdkId);
    this.#wireBySdk.set(sdkId, id);
    return id;
  }

  /** The SDK's id behind a wire id; the pair is forgotten, since an id is answered once. */
  takeSdk(wireId: number): number | string | undefined {
    const sdkId = this.#sdkByWire.get(wireId);
    if (sdkId !== undefined) {
      this.#sdkByWire.delete(wireId);
      this.#wireBySdk.delete(sdkId);
    }
    return sdkId;
  }

  /** The SDK waits for an answer. */
  get sdkPending(): boolean {
    return this.#sdkByWire.size > 0;
  }

  sdkOf(wireId: number): number | string | undefined {
    return this.#sdkByWire.get(wireId);
  }

  wireOf(sdkId: number | string): number | undefined {
    return this.#wireBySdk.get(sdkId);
  }

  /** A server that ends a stream of notifications names the request that opened it: by its wire id. */
  restoreEnded(notification: Record<string, unknown>): Record<string, unknown> {
    if (notification.method !== 'notifications/cancelled') return notification;
    const params = notification.params as { requestId?: unknown } | undefined;
    const ended = this.#sdkByWire.get(Number(params?.requestId));
    // Else it withdraws a request of its own, whose id only looks like one of ours.
    if (!String(ended).startsWith('listen:')) return notification;
    return { ...notification, params: { ...params, requestId: ended } };
  }

  isLane(id: number): boolean {
    return this.#lane.has(id);
  }
}
