import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { AbortGroup, type AbortMember } from '../../packages/runtime/src/abort-group.js';

class Member implements AbortMember {
  abortBefore: AbortMember | undefined;
  abortBehind: AbortMember | undefined;
  constructor(readonly aborted: () => void) {}
}

describe('calls that share a signal', () => {
  test('share one listener, and those still there hear of it, the oldest first, once', () => {
    const controller = new AbortController();
    const heard: number[] = [];
    const members = [0, 1, 2, 3, 4].map((n) => new Member(() => heard.push(n)));
    for (const member of members) AbortGroup.of(controller.signal).add(member);
    for (const n of [0, 2, 4]) AbortGroup.of(controller.signal).remove(members[n] as Member);
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1);
    controller.abort();
    controller.abort();
    expect(heard).toEqual([1, 3]);
  });

  test('may leave while the others are told', () => {
    const controller = new AbortController();
    const group = AbortGroup.of(controller.signal);
    const heard: string[] = [];
    const second = new Member(() => heard.push('second'));
    const first = new Member(() => {
      heard.push('first');
      group.remove(first);
      group.remove(second);
    });
    group.add(first);
    group.add(second);
    controller.abort();
    expect(heard).toEqual(['first', 'second']);
  });

  test('have one group for each signal', () => {
    const [one, other] = [new AbortController(), new AbortController()];
    expect(AbortGroup.of(one.signal)).toBe(AbortGroup.of(one.signal));
    expect(AbortGroup.of(one.signal)).not.toBe(AbortGroup.of(other.signal));
  });
});
