import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Breaker, breakerDefaults } from '../../packages/runtime/src/breaker.js';
import { type Outcome, outcomes } from '../../packages/workers/src/outcomes.js';

const { openMs, openCapMs, rateWindowMs } = breakerDefaults;
/** Far enough apart that each failure is an event of its own. */
const APART = 100;

/** Records one outcome after the other, `APART` ms from each other; gives the time after the last. */
function feed(breaker: Breaker, list: Outcome[], from = 0): number {
  let now = from;
  for (const outcome of list) {
    breaker.record(outcome, now);
    now += APART;
  }
  return now;
}

function many(outcome: Outcome, count: number): Outcome[] {
  return Array.from({ length: count }, () => outcome);
}

/** A breaker that opened at time 0. */
function opened(): Breaker {
  const breaker = new Breaker();
  feed(breaker, many('connection_lost', 5), -4 * APART);
  expect(breaker.state).toEqual({ type: 'open', until: openMs, attempt: 0 });
  return breaker;
}

describe('failures in a row', () => {
  it.each(['connection_lost', 'outcome_unknown'] as const)('five %s open it', (outcome) => {
    const breaker = new Breaker();
    feed(breaker, many(outcome, 4));
    expect(breaker.state.type).toBe('closed');
    breaker.record(outcome, 1_000);
    expect(breaker.state.type).toBe('open');
    expect(breaker.allow(1_001)).toBe(false);
  });

  it.each(['ok', 'tool_error', 'protocol_error', 'too_large'] as const)(
    'an answer in between (%s) breaks the row',
    (answer) => {
      const breaker = new Breaker();
      feed(breaker, [...many('connection_lost', 4), answer, ...many('connection_lost', 4)]);
      expect(breaker.state.type).toBe('closed');
    },
  );

  it.each(['timeout', 'cancelled', 'rejected'] as const)(
    '%s neither adds to the row nor breaks it',
    (outcome) => {
      const breaker = new Breaker();
      feed(breaker, [...many('connection_lost', 4), ...many(outcome, 3)]);
      expect(breaker.state.type).toBe('closed');
      feed(breaker, ['connection_lost'], 10_000);
      expect(breaker.state.type).toBe('open');
    },
  );

  it('one crash with 64 calls in flight is one failure', () => {
    const breaker = new Breaker();
    for (let i = 0; i < 64; i++) breaker.record('outcome_unknown', 5_000 + i / 10);
    expect(breaker.state.type).toBe('closed');
    expect(breaker.allow(5_010)).toBe(true);
  });

  it('a server that crashes five times with calls in flight is one to stay away from', () => {
    const breaker = new Breaker();
    for (let crash = 0; crash < 5; crash++) {
      for (let i = 0; i < 64; i++) breaker.record('outcome_unknown', crash * 1_000);
    }
    expect(breaker.state.type).toBe('open');
  });
});

describe('share of failures', () => {
  it('half of twenty calls within the window opens it', () => {
    const breaker = new Breaker();
    const now = feed(breaker, [...many('ok', 10), ...many('timeout', 9)]);
    expect(breaker.state.type).toBe('closed');
    breaker.record('timeout', now);
    expect(breaker.state.type).toBe('open');
  });

  it('less than half does not, nor does any share of fewer than twenty', () => {
    const slow = new Breaker();
    feed(slow, many('timeout', 19));
    expect(slow.state.type).toBe('closed');
    const busy = new Breaker();
    feed(busy, [...many('ok', 30), ...many('timeout', 29)]);
    expect(busy.state.type).toBe('closed');
  });

  it('a thousand tool errors are no failure', () => {
    const breaker = new Breaker();
    for (let i = 0; i < 1_000; i++) breaker.record('tool_error', i);
    expect(breaker.state.type).toBe('closed');
  });

  it('cancelled and refused calls are not in the sum', () => {
    const breaker = new Breaker();
    feed(breaker, [...many('cancelled', 30), ...many('rejected', 30), ...many('timeout', 19)]);
    expect(breaker.state.type).toBe('closed');
  });

  it('calls older than the window are forgotten', () => {
    const breaker = new Breaker();
    feed(breaker, many('timeout', 19));
    breaker.record('timeout', rateWindowMs + 19 * APART);
    expect(breaker.state.type).toBe('closed');
  });

  it('the window counts what a plain list of the last calls counts', () => {
    // Mostly a busy server with a share of failures just below the limit; now and then a pause.
    const gap = fc.oneof({ arbitrary: fc.nat(1_000), weight: 30 }, { arbitrary: fc.nat(40_000), weight: 1 });
    const step = fc.tuple(
      gap,
      fc.nat(99).map((drawn) => drawn < 42),
    );
    fc.assert(
      fc.property(fc.array(step, { minLength: 50, maxLength: 200 }), (steps) => {
        const breaker = new Breaker();
        const list: { bucket: number; failure: boolean }[] = [];
        let now = 0;
        for (const [gap, failure] of steps) {
          now += gap;
          const bucket = Math.floor(now / (rateWindowMs / 10));
          list.push({ bucket, failure });
          breaker.record(failure ? 'timeout' : 'ok', now);
          const recent = list.filter((one) => one.bucket > bucket - 10);
          const failures = recent.filter((one) => one.failure).length;
          const expected = failure && recent.length >= 20 && failures * 2 >= recent.length;
          expect(breaker.state.type).toBe(expected ? 'open' : 'closed');
          if (expected) return;
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('open', () => {
  it('refuses until its time is over and says how long that is', () => {
    const breaker = opened();
    expect(breaker.retryAfterMs(1_000)).toBe(openMs - 1_000);
    expect(breaker.allow(openMs - 1)).toBe(false);
    expect(breaker.retryAfterMs(openMs)).toBe(0);
    expect(breaker.allow(openMs)).toBe(true);
  });

  it('late ends of older calls change nothing', () => {
    const breaker = opened();
    for (const outcome of outcomes) breaker.record(outcome, 1_000);
    expect(breaker.state).toEqual({ type: 'open', until: openMs, attempt: 0 });
  });

  it('can be reset by hand', () => {
    const breaker = opened();
    breaker.reset();
    expect(breaker.allow(1)).toBe(true);
    feed(breaker, many('connection_lost', 4), 1_000);
    expect(breaker.state.type).toBe('closed');
  });
});

describe('half-open', () => {
  function halfOpen(): Breaker {
    const breaker = opened();
    expect(breaker.allow(openMs)).toBe(true);
    return breaker;
  }

  it('lets one call through', () => {
    const breaker = halfOpen();
    expect(breaker.allow(openMs + 1)).toBe(false);
    expect(breaker.state.type).toBe('half-open');
  });

  it.each(['ok', 'tool_error', 'protocol_error', 'too_large'] as const)(
    'an answer (%s) closes it',
    (outcome) => {
      const breaker = halfOpen();
      breaker.record(outcome, openMs + 1);
      expect(breaker.state.type).toBe('closed');
      expect([breaker.allow(openMs + 2), breaker.allow(openMs + 2)]).toEqual([true, true]);
    },
  );

  it.each(['connection_lost', 'outcome_unknown', 'timeout'] as const)(
    'a failure (%s) opens it for twice as long',
    (outcome) => {
      const breaker = halfOpen();
      breaker.record(outcome, openMs + 1);
      expect(breaker.state).toEqual({ type: 'open', until: openMs + 1 + 2 * openMs, attempt: 1 });
    },
  );

  it.each(['cancelled', 'rejected'] as const)('a probe that was %s makes room for another', (outcome) => {
    const breaker = halfOpen();
    breaker.record(outcome, openMs + 1);
    expect(breaker.state.type).toBe('half-open');
    expect(breaker.allow(openMs + 2)).toBe(true);
    expect(breaker.allow(openMs + 3)).toBe(false);
  });

  it('a probe that takes for ever does not lock everybody out', () => {
    const breaker = halfOpen();
    expect(breaker.allow(2 * openMs - 1)).toBe(false);
    expect(breaker.allow(2 * openMs)).toBe(true);
    expect(breaker.allow(2 * openMs + 1)).toBe(false);
  });

  it('the time open doubles up to two minutes and starts over after a success', () => {
    const breaker = opened();
    let now = openMs;
    const times: number[] = [];
    for (let i = 0; i < 5; i++) {
      expect(breaker.allow(now)).toBe(true);
      breaker.record('connection_lost', now);
      times.push(breaker.retryAfterMs(now));
      now += breaker.retryAfterMs(now);
    }
    expect(times).toEqual([30_000, 60_000, openCapMs, openCapMs, openCapMs]);
    breaker.allow(now);
    breaker.record('ok', now);
    const end = feed(breaker, many('connection_lost', 5), now + 1_000);
    expect(breaker.retryAfterMs(end - APART)).toBe(openMs);
  });
});

describe('a reset', () => {
  it('forgets the share of failures as well: old ones do not open it again', () => {
    const breaker = new Breaker();
    const { rateMinCalls } = breakerDefaults;
    // One failure between two answers never makes a row, only a share.
    for (let i = 0; i < rateMinCalls / 2 - 1; i++) feed(breaker, ['outcome_unknown', 'ok'], i * 2 * APART);
    const now = rateMinCalls * APART;
    expect(breaker.state.type).toBe('closed');
    breaker.reset();
    feed(breaker, ['outcome_unknown', 'ok'], now);
    expect(breaker.state.type).toBe('closed');
  });

  it('of a half-open one by an answer leaves no failure to count', () => {
    const breaker = opened();
    expect(breaker.allow(openMs)).toBe(true);
    expect(breaker.retryAfterMs(openMs)).toBe(0);
    breaker.record('ok', openMs + 1);
    feed(breaker, many('connection_lost', 4), openMs + APART);
    expect(breaker.state.type).toBe('closed');
  });
});
