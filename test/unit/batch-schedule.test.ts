/** The scheduler against its rules, one by one: what is taken out of it, put back, or asked for out of turn. */
import { describe, expect, test } from 'vitest';
import { Scheduler } from '../../packages/runtime/src/batch/schedule.js';

/** Lanes that are open, each with the letters of its text waiting. */
function scheduler(slots: number, lanes: Record<string, string>, window = 10): Scheduler<string> {
  const made = new Scheduler<string>(slots);
  for (const [name, items] of Object.entries(lanes)) {
    made.addLane(name, window);
    made.setOpen(name, true);
    for (const item of items) made.push(name, item);
  }
  return made;
}

/** Starts until nothing may start. */
function started(from: Scheduler<string>): string {
  let all = '';
  for (let item = from.next(); item !== undefined; item = from.next()) all += item;
  return all;
}

describe('what is taken out', () => {
  test('of one lane no longer counts as waiting, there or for the shares of others', () => {
    const made = scheduler(4, { a: 'abcdef', x: 'xyz' });
    expect(made.drain('x')).toEqual(['x', 'y', 'z']);
    expect(made.waiting).toBe(6);
    expect(started(made)).toBe('abcd');
    expect(made.drain('x')).toEqual([]);
  });

  test('by a condition leaves the others in their order, and what has started alone', () => {
    const made = scheduler(1, { a: 'abcde', x: 'xyz' });
    expect(made.next()).toBe('a');
    expect(made.takeIf((item) => 'abdy'.includes(item))).toEqual(['b', 'd', 'y']);
    expect(made.waiting).toBe(4);
    made.done('a');
    const rest: string[] = [];
    for (let item = made.next(); item !== undefined; item = made.next()) {
      rest.push(item);
      made.done('ce'.includes(item) ? 'a' : 'x');
    }
    expect(rest).toEqual(['x', 'c', 'z', 'e']);
    expect([made.waiting, made.inFlight]).toEqual([0, 0]);
  });

  test('to the last one frees the share for the lane that is left', () => {
    const made = scheduler(4, { a: 'abcdef', x: 'xyz' });
    made.takeIf((item) => 'xyz'.includes(item));
    expect(started(made)).toBe('abcd');
  });
});

describe('what comes back', () => {
  test('is the next of its lane, also when nothing of it had started', () => {
    const made = scheduler(1, { a: 'bc' });
    made.unshift('a', 'a');
    expect(made.waiting).toBe(3);
    expect(made.next()).toBe('a');
    made.done('a');
    made.unshift('a', 'a');
    expect([made.next(), made.waiting]).toEqual(['a', 2]);
  });

  test('to a lane that was empty counts for the shares again', () => {
    const made = scheduler(4, { a: 'abcdef', x: 'x' });
    expect([made.next(), made.next()]).toEqual(['a', 'x']);
    made.done('x');
    made.unshift('x', 'x');
    expect(started(made)).toBe('bxc');
  });
});

describe('an item that is asked for', () => {
  test('starts wherever it stands, and the others keep their order', () => {
    const made = scheduler(3, { a: 'abc', x: 'xyz' });
    expect(made.nextIf((item) => item === 'z')).toBe('z');
    expect(made.nextIf((item) => item === 'q')).toBeUndefined();
    expect([made.inFlight, made.waiting]).toEqual([1, 5]);
    expect(started(made)).toBe('ax');
  });

  test('does not start without a slot, in a closed lane, or beyond the window', () => {
    const full = scheduler(1, { a: 'ab' });
    full.next();
    expect(full.nextIf(() => true)).toBeUndefined();
    const closed = scheduler(2, { a: 'ab' });
    closed.setOpen('a', false);
    expect(closed.nextIf(() => true)).toBeUndefined();
    const narrow = scheduler(4, { a: 'abc' }, 1);
    expect(narrow.nextIf(() => true)).toBe('a');
    expect(narrow.nextIf(() => true)).toBeUndefined();
  });
});

test('a lane whose calls are all in flight keeps its share until they are done', () => {
  const made = scheduler(6, { a: 'a', b: 'bcdef', u: 'uvwxy' });
  // Three lanes have work: two slots each, though one of them has nothing more to start.
  expect(started(made)).toBe('abucv');
  made.done('a');
  expect(started(made)).toBe('dw');
});

test('while more may come the last slot is for somebody new', () => {
  const made = scheduler(3, { a: 'abc' });
  made.moreMayCome = true;
  expect(started(made)).toBe('ab');
  made.addLane('x', 10);
  made.setOpen('x', true);
  made.push('x', 'x');
  expect(started(made)).toBe('x');
});

test('a lane with thousands of items that started gives the rest in order', () => {
  const made = new Scheduler<number>(1);
  made.addLane('a', 1);
  made.setOpen('a', true);
  for (let n = 0; n < 3_000; n++) made.push('a', n);
  for (let n = 0; n < 3_000; n++) {
    expect(made.next()).toBe(n);
    made.done('a');
  }
  expect(made.next()).toBeUndefined();
});

test('a server without a lane is named', () => {
  expect(() => new Scheduler<string>(1).push('nobody', 'x')).toThrow('no lane for server "nobody"');
});
