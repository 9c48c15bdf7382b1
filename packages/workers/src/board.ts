/**
 * The board: one SharedArrayBuffer that every thread can read when nobody answers messages.
 * Header (16 ints): supervisor heartbeat and loop delay. Then one slot of 16 ints per server.
 * Pids stand here from the moment of spawn, so that any thread can kill what is left.
 */

const SLOT_INTS = 16;
const HEADER_INTS = 16;

/** Field offsets inside a slot. */
export const field = {
  heartbeat: 0,
  generation: 1,
  state: 2,
  /** Process (group) id of the running server process; 0 when none. */
  pid: 3,
  /** Incremented for every chunk that arrived on the transport. */
  bytes: 4,
  inFlight: 5,
  /** Lines of stdout that were not protocol, counted over the server's life. */
  skipped: 6,
  /** Calls that arrived at the server thread, counted: shows use between two looks at `inFlight`. */
  calls: 7,
  /** How late the last heartbeat of the thread was, in µs. */
  loopDelay: 8,
} as const;
export type BoardField = keyof typeof field;

/** Numbers above 2^31, by their offset in ints: bytes from and to the server, counted over its life. */
const wideField = { received: 10, sent: 12 } as const;
export type WideField = keyof typeof wideField;

export class Board {
  readonly buffer: SharedArrayBuffer;
  readonly #ints: Int32Array;
  readonly #wides: Float64Array;

  private constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.#ints = new Int32Array(buffer);
    this.#wides = new Float64Array(buffer);
  }

  /** A board with room for `slots` servers. */
  static create(slots: number): Board {
    return new Board(new SharedArrayBuffer((HEADER_INTS + slots * SLOT_INTS) * 4));
  }

  /** The same board in another thread. */
  static attach(buffer: SharedArrayBuffer): Board {
    return new Board(buffer);
  }

  get slots(): number {
    return (this.#ints.length - HEADER_INTS) / SLOT_INTS;
  }

  get(slot: number, name: BoardField): number {
    return Atomics.load(this.#ints, HEADER_INTS + slot * SLOT_INTS + field[name]);
  }

  set(slot: number, name: BoardField, value: number): void {
    Atomics.store(this.#ints, HEADER_INTS + slot * SLOT_INTS + field[name], value);
  }

  add(slot: number, name: BoardField, by = 1): void {
    Atomics.add(this.#ints, HEADER_INTS + slot * SLOT_INTS + field[name], by);
  }

  getWide(slot: number, name: WideField): number {
    return this.#wides[this.#wideIndex(slot, name)] ?? 0;
  }

  /** For the one thread that writes the field: an addition that is not atomic, and costs a tenth of one. */
  addWide(slot: number, name: WideField, by: number): void {
    this.#wides[this.#wideIndex(slot, name)] = this.getWide(slot, name) + by;
  }

  #wideIndex(slot: number, name: WideField): number {
    return (HEADER_INTS + slot * SLOT_INTS + wideField[name]) / 2;
  }

  /** Supervisor's own heartbeat, and how late it was, in µs. */
  beatSupervisor(lateMicros: number): void {
    Atomics.add(this.#ints, 0, 1);
    Atomics.store(this.#ints, 1, lateMicros);
  }

  /** Of the last heartbeat, in µs. */
  supervisorDelay(): number {
    return Atomics.load(this.#ints, 1);
  }

  supervisorBeat(): number {
    return Atomics.load(this.#ints, 0);
  }

  /** The fields of one slot to 0, before another server gets it. */
  vacate(slot: number): void {
    const first = HEADER_INTS + slot * SLOT_INTS;
    for (let i = first; i < first + SLOT_INTS; i++) Atomics.store(this.#ints, i, 0);
  }

  /** All fields of all slots to 0, when a new supervisor begins. */
  clear(): void {
    for (let i = 0; i < this.#ints.length; i++) Atomics.store(this.#ints, i, 0);
  }

  /** Every process group id that stands on the board now. */
  pids(): number[] {
    const found: number[] = [];
    for (let slot = 0; slot < this.slots; slot++) {
      const pid = this.get(slot, 'pid');
      if (pid > 0) found.push(pid);
    }
    return found;
  }
}
