/** A gate whose refusals are seen: a call that may not leave has a span like any other. */
import { BulkheadError } from '@bulkhead/workers';
import type { CallGate, GatedCall, GateEnd } from '../gate.js';

export class WatchedGate implements CallGate {
  readonly #gate: CallGate;
  readonly #refused: (call: GatedCall, error: BulkheadError) => void;

  constructor(gate: CallGate, refused: (call: GatedCall, error: BulkheadError) => void) {
    this.#gate = gate;
    this.#refused = refused;
  }

  async pass(call: GatedCall, signal: AbortSignal | undefined): Promise<GateEnd> {
    try {
      return await this.#gate.pass(call, signal);
    } catch (error) {
      if (error instanceof BulkheadError) this.#refused(call, error);
      throw error;
    }
  }

  close(why: string): void {
    this.#gate.close(why);
  }
}
