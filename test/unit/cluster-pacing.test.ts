/** The pure parts that pace a cluster worker. */
import { describe, expect, test } from 'vitest';
import { Delays } from '../../packages/cluster/src/worker/delays.js';
import { settingOf } from '../../packages/cluster/src/worker/fleet-limits.js';
import { Slots } from '../../packages/cluster/src/worker/slots.js';

describe('slots of a worker', () => {
  test('a server never has more than its window, and all of them never more than the worker may', () => {
    const slots = new Slots(3, () => 2);
    const order: string[] = [];
    const take = (server: string): boolean => slots.take(server, () => order.push(server));
    expect([take('a'), take('a'), take('b')]).toEqual([true, true, true]);
    expect([take('a'), take('b')]).toEqual([false, false]);
    expect(slots.taken).toBe(3);
    slots.release('a');
    // The free place went to whoever asked the worker first: `a` still had to wait for its own window then.
    expect(order).toEqual(['b']);
    slots.release('a');
    expect(order).toEqual(['b', 'a']);
    expect(slots.taken).toBe(3);
    for (const server of ['a', 'b', 'b']) slots.release(server);
    expect(slots.taken).toBe(0);
    expect(take('a')).toBe(true);
  });
});

describe('the way back of chunks that cannot run', () => {
  test('is longer the more of a batch are on it, up to thirty times, and short again once one has run', () => {
    const delays = new Delays(1_000);
    expect(delays.next('x')).toBe(1_000);
    for (let count = 1; count < 50; count++) delays.next('x');
    expect(delays.next('x')).toBe(2_000);
    expect(delays.next('y')).toBe(1_000);
    for (let count = 0; count < 5_000; count++) delays.next('x');
    expect(delays.next('x')).toBe(30_000);
    delays.reset('x');
    expect(delays.next('x')).toBe(1_000);
  });
});

describe('a setting of a server', () => {
  test('is found by its name as written or as queues name it, else that of all others', () => {
    expect(settingOf({ 'my.server': 1, '*': 2 }, 'my.server')).toBe(1);
    expect(settingOf({ 'my.server': 1, '*': 2 }, 'other')).toBe(2);
    expect(settingOf({ 'my.server': 1 }, 'other')).toBeUndefined();
  });
});
