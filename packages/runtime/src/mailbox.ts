/**
 * The mailbox of one server: how many calls may be in flight, and a bounded queue in order of arrival behind them. It
 * decides only; whoever owns it sends. Pure.
 *
 * Every item that was given out to be sent (by `offer`, `settled` or `next`) is in flight until one `settled`.
 */

export interface MailboxOptions {
  /** Items in flight at once; 0 holds everything back. */
  window: number;
  /** Items that may wait. */
  queueMax: number;
  /** Bytes that may wait. */
  queueMaxBytes: number;
  /** Told at each change of {@link Mailbox.saturated}, whatever caused it. */
  onSaturated?: (saturated: boolean) => void;
}

/** A place in the queue: linked both ways, so that an item leaves from anywhere at the same small cost. */
interface Place<T> {
  item: T;
  bytes: number;
  before: Place<T> | undefined;
  behind: Place<T> | undefined;
}

export class Mailbox<T> {
  #options: MailboxOptions;
  readonly #places = new Map<T, Place<T>>();
  #head: Place<T> | undefined;
  #tail: Place<T> | undefined;
  #window: number;
  #inFlight = 0;
  #queuedBytes = 0;
  #saturated = false;

  constructor(options: MailboxOptions) {
    this.#options = options;
    this.#window = options.window;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get queued(): number {
    return this.#places.size;
  }

  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  /** True from the moment the queue is full, or refused an item, until it is half empty by count and by bytes. */
  get saturated(): boolean {
    return this.#saturated;
  }

  /** A place in flight for an item that need not wait: take it and send, or `offer` the item. */
  take(): boolean {
    if (this.#head !== undefined || this.#inFlight >= this.#window) return false;
    this.#inFlight++;
    return true;
  }

  /**
   * `send`: it is in flight, send it now. `queued`: it waits its turn. `full`: it was not taken. Nothing overtakes the
   * queue.
   * @param bytes size of the item while it waits, for `queueMaxBytes`.
   * @throws {TypeError} when the item waits already.
   */
  offer(item: T, bytes: number): 'send' | 'queued' | 'full' {
    if (this.take()) return 'send';
    if (this.#places.has(item)) throw new TypeError('this item waits in the mailbox already; offer it once');
    const { queueMax, queueMaxBytes } = this.#options;
    const fits = this.#places.size < queueMax && this.#queuedBytes + bytes <= queueMaxBytes;
    if (fits) this.#insert(item, bytes, this.#tail, undefined);
    if (!fits || this.#places.size >= queueMax || this.#queuedBytes >= queueMaxBytes) this.#turn(true);
    return fits ? 'queued' : 'full';
  }

  /**
   * Puts an item that was given out but never reached the server back at the head of the queue. It was accepted once,
   * so no limit applies: the queue can exceed its limits by one window. False when it waits already.
   */
  requeue(item: T, bytes: number): boolean {
    if (this.#places.has(item)) return false;
    this.#insert(item, bytes, undefined, this.#head);
    return true;
  }

  /** One item in flight has ended. Gives the next one to send, which is in flight from now on. */
  settled(): T | undefined {
    // One settle too many must not widen the window for good.
    this.#inFlight = Math.max(0, this.#inFlight - 1);
    if (this.#saturated) this.#relax();
    return this.next();
  }

  /** The next item to send if the window has room, for a window that grew; call it until it gives undefined. */
  next(): T | undefined {
    const place = this.#head;
    if (place === undefined || this.#inFlight >= this.#window) return undefined;
    this.#leave(place);
    this.#inFlight++;
    return place.item;
  }

  /** Takes a waiting item out (cancelled, timed out). False when it does not wait: sent, ended or never offered. */
  remove(item: T): boolean {
    const place = this.#places.get(item);
    if (place === undefined) return false;
    this.#leave(place);
    return true;
  }

  /** The waiting items, next one first. Copy before you change the mailbox. */
  *waiting(): Generator<T, void, undefined> {
    for (let place = this.#head; place !== undefined; place = place.behind) yield place.item;
  }

  /** Nothing is in flight any more: the connection is gone, and the owner knows what was on it. */
  lostInFlight(): void {
    this.#inFlight = 0;
    this.#relax();
  }

  /** New limits of the queue; what waits already stays. */
  setLimits(queueMax: number, queueMaxBytes: number): void {
    this.#options = { ...this.#options, queueMax, queueMaxBytes };
  }

  /** A smaller window takes effect as items end; after a larger one call {@link next}. */
  setWindow(window: number): void {
    this.#window = window;
  }

  #insert(item: T, bytes: number, before: Place<T> | undefined, behind: Place<T> | undefined): void {
    const place: Place<T> = { item, bytes, before, behind };
    this.#link(before, place);
    this.#link(place, behind);
    this.#places.set(item, place);
    this.#queuedBytes += bytes;
  }

  #leave(place: Place<T>): void {
    this.#link(place.before, place.behind);
    this.#places.delete(place.item);
    this.#queuedBytes -= place.bytes;
    this.#relax();
  }

  /** Makes two places neighbours; a missing one means that the other is the end of the queue. */
  #link(before: Place<T> | undefined, behind: Place<T> | undefined): void {
    if (before === undefined) this.#head = behind;
    else before.behind = behind;
    if (behind === undefined) this.#tail = before;
    else behind.before = before;
  }

  #relax(): void {
    const { queueMax, queueMaxBytes } = this.#options;
    if (this.#places.size <= queueMax / 2 && this.#queuedBytes <= queueMaxBytes / 2) this.#turn(false);
  }

  #turn(saturated: boolean): void {
    if (this.#saturated === saturated) return;
    this.#saturated = saturated;
    this.#options.onSaturated?.(saturated);
  }
}
