/**
 * Calls that share an AbortSignal share one listener of it: a turn's or a batch's signal stands behind hundreds of calls,
 * and a listener each would cost more than the call's own message. Members are linked, so joining, leaving and aborting
 * leave nothing behind.
 */

export interface AbortMember {
  /** Set by the group only. */
  abortBefore: AbortMember | undefined;
  abortBehind: AbortMember | undefined;
  aborted(): void;
}

const groups = new WeakMap<AbortSignal, AbortGroup>();

export class AbortGroup {
  #first: AbortMember | undefined;

  private constructor(signal: AbortSignal) {
    signal.addEventListener('abort', () => this.#abort(), { once: true });
  }

  /** The group of a signal that has not aborted yet. */
  static of(signal: AbortSignal): AbortGroup {
    let group = groups.get(signal);
    if (group === undefined) {
      group = new AbortGroup(signal);
      groups.set(signal, group);
    }
    return group;
  }

  add(member: AbortMember): void {
    member.abortBehind = this.#first;
    if (this.#first !== undefined) this.#first.abortBefore = member;
    this.#first = member;
  }

  /** A member leaves once. */
  remove(member: AbortMember): void {
    const { abortBefore: before, abortBehind: behind } = member;
    if (before === undefined) this.#first = behind;
    else before.abortBehind = behind;
    if (behind !== undefined) behind.abortBefore = before;
    member.abortBefore = undefined;
    member.abortBehind = undefined;
  }

  #abort(): void {
    const members: AbortMember[] = [];
    for (let member = this.#first; member !== undefined; member = member.abortBehind) members.push(member);
    // The oldest call first, as listeners would run.
    for (const member of members.reverse()) member.aborted();
  }
}
