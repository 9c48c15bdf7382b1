import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Mailbox, type MailboxOptions } from '../../packages/runtime/src/mailbox.js';

function mailbox(options: Partial<MailboxOptions> = {}): Mailbox<string> {
  return new Mailbox<string>({ window: 2, queueMax: 4, queueMaxBytes: 100, ...options });
}

/** Offers each with one byte. */
function offerAll(box: Mailbox<string>, names: string): string[] {
  return [...names].map((name) => box.offer(name, 1));
}

describe('the window', () => {
  it('is sent at once, what exceeds it waits, what exceeds the queue is refused', () => {
    const box = mailbox();
    expect(offerAll(box, 'abcdefg')).toEqual([
      'send',
      'send',
      'queued',
      'queued',
      'queued',
      'queued',
      'full',
    ]);
    expect([box.inFlight, box.queued, box.queuedBytes]).toEqual([2, 4, 4]);
  });

  it('each end gives the next in order of arrival', () => {
    const box = mailbox();
    offerAll(box, 'abcde');
    expect([box.settled(), box.settled(), box.settled(), box.settled()]).toEqual(['c', 'd', 'e', undefined]);
    expect([box.inFlight, box.queued, box.queuedBytes]).toEqual([1, 0, 0]);
  });

  it('of one lets one call through at a time', () => {
    const box = mailbox({ window: 1 });
    offerAll(box, 'abc');
    expect(box.inFlight).toBe(1);
    expect(box.settled()).toBe('b');
    expect(box.inFlight).toBe(1);
  });

  it('of zero holds everything back until it grows', () => {
    const box = mailbox({ window: 0 });
    expect(offerAll(box, 'ab')).toEqual(['queued', 'queued']);
    expect(box.next()).toBeUndefined();
    box.setWindow(2);
    expect([box.next(), box.next(), box.next()]).toEqual(['a', 'b', undefined]);
    expect(box.inFlight).toBe(2);
  });

  it('that shrinks takes effect as calls end', () => {
    const box = mailbox({ window: 3 });
    offerAll(box, 'abcd');
    box.setWindow(1);
    expect([box.settled(), box.settled(), box.settled()]).toEqual([undefined, undefined, 'd']);
  });

  it('that grew does not let a new call overtake those that wait', () => {
    const box = mailbox({ window: 1 });
    offerAll(box, 'ab');
    box.setWindow(5);
    expect(box.offer('c', 1)).toBe('queued');
    expect([box.next(), box.next()]).toEqual(['b', 'c']);
  });

  it('is not widened by one end too many', () => {
    const box = mailbox({ window: 1 });
    box.settled();
    expect(offerAll(box, 'ab')).toEqual(['send', 'queued']);
  });

  it('is empty after the connection was lost', () => {
    const box = mailbox();
    offerAll(box, 'abc');
    box.lostInFlight();
    expect(box.inFlight).toBe(0);
    expect([box.next(), box.next()]).toEqual(['c', undefined]);
  });
});

describe('the limits of the queue', () => {
  it('bytes count too, and only while they wait', () => {
    const box = mailbox({ window: 1, queueMax: 100 });
    expect(box.offer('sent', 1_000)).toBe('send');
    expect(box.offer('a', 60)).toBe('queued');
    expect(box.offer('b', 41)).toBe('full');
    expect(box.offer('c', 40)).toBe('queued');
    box.settled();
    expect(box.offer('d', 60)).toBe('queued');
  });

  it('with no queue a call is sent or refused', () => {
    const box = mailbox({ window: 1, queueMax: 0 });
    expect(offerAll(box, 'ab')).toEqual(['send', 'full']);
    box.settled();
    expect(box.offer('c', 1)).toBe('send');
  });

  it('the same item cannot wait twice', () => {
    const box = mailbox({ window: 0 });
    box.offer('a', 1);
    expect(() => box.offer('a', 1)).toThrow('offer it once');
    expect(box.queued).toBe(1);
  });
});

describe('taking a waiting call out', () => {
  it('the others keep their order, and its place and bytes are free', () => {
    const box = mailbox({ window: 0 });
    offerAll(box, 'abcd');
    expect(box.remove('b')).toBe(true);
    expect(box.remove('d')).toBe(true);
    expect([...box.waiting()]).toEqual(['a', 'c']);
    expect(box.queuedBytes).toBe(2);
    expect(box.offer('e', 1)).toBe('queued');
    expect(box.remove('a')).toBe(true);
    expect([...box.waiting()]).toEqual(['c', 'e']);
  });

  it('is false for one that was sent, was taken out already or never came', () => {
    const box = mailbox({ window: 1 });
    offerAll(box, 'ab');
    box.remove('b');
    expect([box.remove('a'), box.remove('b'), box.remove('z')]).toEqual([false, false, false]);
    expect(box.inFlight).toBe(1);
  });
});

describe('a call that was given out but never sent', () => {
  it('goes back to the head of the queue', () => {
    const box = mailbox({ window: 2 });
    offerAll(box, 'abcd');
    box.lostInFlight();
    for (const name of ['b', 'a']) expect(box.requeue(name, 1)).toBe(true);
    expect([...box.waiting()]).toEqual(['a', 'b', 'c', 'd']);
  });

  it('is taken back even when the queue is full, but only once', () => {
    const box = mailbox({ window: 1, queueMax: 1 });
    offerAll(box, 'ab');
    box.lostInFlight();
    expect([box.requeue('a', 1), box.requeue('a', 1)]).toEqual([true, false]);
    expect(box.queued).toBe(2);
    expect(box.offer('c', 1)).toBe('full');
  });
});

describe('saturation', () => {
  function watchedBox(options: Partial<MailboxOptions> = {}) {
    const turns: boolean[] = [];
    return { turns, box: mailbox({ ...options, onSaturated: (saturated) => turns.push(saturated) }) };
  }

  it('begins when the queue is full and ends when it is half empty, each told once', () => {
    const { box, turns } = watchedBox({ window: 1 });
    offerAll(box, 'abcd');
    expect(box.saturated).toBe(false);
    offerAll(box, 'efg');
    expect(turns).toEqual([true]);
    box.settled();
    expect(box.saturated).toBe(true);
    box.settled();
    expect(turns).toEqual([true, false]);
    expect(box.saturated).toBe(false);
  });

  it('stays while the queue swings between half and full', () => {
    const { box, turns } = watchedBox({ window: 1 });
    offerAll(box, 'abcde');
    for (const name of 'vwxyz') {
      box.settled();
      box.offer(name, 1);
    }
    expect(turns).toEqual([true]);
  });

  it('ends when the waiting calls are cancelled, without any answer', () => {
    const { box, turns } = watchedBox({ window: 0 });
    offerAll(box, 'abcd');
    for (const name of [...box.waiting()]) box.remove(name);
    expect(turns).toEqual([true, false]);
  });

  it('counts bytes as well: half the count is not enough', () => {
    const { box, turns } = watchedBox({ window: 0, queueMax: 10 });
    box.offer('a', 1);
    box.offer('b', 80);
    expect(box.offer('c', 50)).toBe('full');
    box.remove('a');
    expect(turns).toEqual([true]);
    box.remove('b');
    expect(turns).toEqual([true, false]);
  });

  it('with no queue begins with the first refusal and ends with the next answer', () => {
    const { box, turns } = watchedBox({ window: 1, queueMax: 0 });
    offerAll(box, 'ab');
    box.settled();
    expect(turns).toEqual([true, false]);
  });
});

it('behaves like a plain list, whatever the order of events', () => {
  const event = fc.oneof(
    fc.record({ do: fc.constant('offer' as const), bytes: fc.integer({ min: 0, max: 40 }) }),
    fc.record({ do: fc.constantFrom('settled' as const, 'next' as const, 'requeue' as const) }),
    fc.record({ do: fc.constant('remove' as const), at: fc.nat(9) }),
    fc.record({ do: fc.constant('window' as const), size: fc.nat(4) }),
  );
  fc.assert(
    fc.property(fc.array(event, { maxLength: 200 }), (events) => {
      const box = new Mailbox<number>({ window: 2, queueMax: 5, queueMaxBytes: 100 });
      const bytesOf = new Map<number, number>();
      let list: number[] = [];
      let window = 2;
      const flying: number[] = [];
      let id = 0;
      const take = () => {
        const item = flying.length < window ? list.shift() : undefined;
        if (item !== undefined) flying.push(item);
        return item;
      };
      const waitingBytes = () => list.reduce((sum, item) => sum + (bytesOf.get(item) ?? 0), 0);
      for (const one of events) {
        switch (one.do) {
          case 'offer': {
            id++;
            bytesOf.set(id, one.bytes);
            const sends = list.length === 0 && flying.length < window;
            const fits = list.length < 5 && waitingBytes() + one.bytes <= 100;
            expect(box.offer(id, one.bytes)).toBe(sends ? 'send' : fits ? 'queued' : 'full');
            if (sends) flying.push(id);
            else if (fits) list.push(id);
            break;
          }
          case 'settled':
            flying.shift();
            expect(box.settled()).toBe(take());
            break;
          case 'next':
            expect(box.next()).toBe(take());
            break;
          case 'requeue': {
            const item = flying.pop();
            if (item === undefined) break;
            // As after a lost connection: what flew is forgotten, then put back.
            box.lostInFlight();
            for (const back of [item, ...flying.splice(0).reverse()]) {
              box.requeue(back, bytesOf.get(back) ?? 0);
              list = [back, ...list];
            }
            break;
          }
          case 'remove': {
            const item = list[one.at];
            expect(box.remove(item ?? -1)).toBe(item !== undefined);
            list = list.filter((other) => other !== item);
            break;
          }
          case 'window':
            window = one.size;
            box.setWindow(window);
            break;
          default:
            one satisfies never;
        }
        expect([...box.waiting()]).toEqual(list);
        expect([box.inFlight, box.queued, box.queuedBytes]).toEqual([
          flying.length,
          list.length,
          waitingBytes(),
        ]);
      }
    }),
  );
});

it('a queue of a hundred thousand is worked off and cancelled from without slowing down', () => {
  const count = 100_000;
  const box = new Mailbox<number>({ window: 1, queueMax: count, queueMaxBytes: count });
  for (let i = 0; i <= count; i++) box.offer(i, 1);
  const startedAt = performance.now();
  for (let i = 2; i <= count; i += 2) box.remove(i);
  let worked = 0;
  while (box.settled() !== undefined) worked++;
  expect(worked).toBe(count / 2);
  // A quadratic queue takes many seconds here; a linear one some ten milliseconds.
  expect(performance.now() - startedAt).toBeLessThan(2_000);
});

describe('saturation', () => {
  it('is told when the bytes are used up, though there is room for more items', () => {
    const told: boolean[] = [];
    const box = mailbox({ window: 1, queueMaxBytes: 10, onSaturated: (is) => told.push(is) });
    box.offer('a', 10);
    box.offer('b', 9);
    expect(told).toEqual([]);
    box.offer('c', 1);
    expect([box.saturated, told]).toEqual([true, [true]]);
  });

  it('ends once half the bytes are free, exactly half included', () => {
    const box = mailbox({ window: 1, queueMaxBytes: 10 });
    for (const [name, bytes] of [
      ['a', 1],
      ['b', 4],
      ['c', 1],
      ['d', 5],
    ] as const)
      box.offer(name, bytes);
    expect(box.saturated).toBe(true);
    expect([box.settled(), box.saturated]).toEqual(['b', true]);
    expect([box.settled(), box.saturated]).toEqual(['c', false]);
  });
});

it('new limits hold for what comes next; what waits already stays', () => {
  const box = mailbox({ window: 1, queueMax: 1 });
  expect(offerAll(box, 'abc')).toEqual(['send', 'queued', 'full']);
  box.setLimits(3, 100);
  expect(offerAll(box, 'de')).toEqual(['queued', 'queued']);
  box.setLimits(1, 100);
  expect([box.offer('f', 1), box.queued]).toEqual(['full', 3]);
  box.setLimits(10, 3);
  expect(box.offer('g', 1)).toBe('full');
});
