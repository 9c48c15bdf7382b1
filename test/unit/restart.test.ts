import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { supervisorDefaults } from '../../packages/workers/src/defaults.js';
import {
  becameReady,
  type Failure,
  failed,
  initial,
  type RestartDecision,
  type RestartState,
  released,
  tick,
} from '../../packages/workers/src/supervisor/restart.js';

const { backoffBaseMs, backoffCapMs, restartMax, quarantineTrialMs, quarantineTrialCapMs, stableAfterMs } =
  supervisorDefaults;

/** Fails `state` with an ordinary exit after a handshake, unless told otherwise. */
function fail(state: RestartState, failure: Partial<Failure> = {}) {
  return failed(state, { now: 0, kind: 'exit', beforeHandshake: false, random: 1, ...failure });
}

/** Fails until the decision is quarantine; gives the state and how many failures it took. */
function toQuarantine(state: RestartState, failure: Partial<Failure> = {}) {
  for (let count = 1; count <= 100; count++) {
    const result = fail(state, failure);
    if (result.decision.type === 'quarantine') return { ...result, count };
    state = result.state;
  }
  throw new Error('it was never quarantined');
}

function waitOf(decision: RestartDecision): number {
  return decision.type === 'backoff' ? decision.waitMs : decision.trialMs;
}

describe('backoff', () => {
  it('the ceiling doubles from the base up to the cap', () => {
    let state = initial();
    const waits: number[] = [];
    for (let i = 0; i < 10; i++) {
      // Far enough apart that the window never fills.
      const result = fail(state, { now: i * 120_000 });
      waits.push(waitOf(result.decision));
      state = result.state;
    }
    expect(waits).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  });

  it('the wait is drawn from the whole span below the ceiling', () => {
    expect(fail(initial(), { random: 0 }).decision).toEqual({ type: 'backoff', waitMs: 0 });
    expect(fail(initial(), { random: 0.5 }).decision).toEqual({
      type: 'backoff',
      waitMs: backoffBaseMs / 2,
    });
  });

  it('a server that failed a thousand times, far apart, still waits no longer than the cap', () => {
    let state = initial();
    for (let i = 0; i < 1_100; i++) state = fail(state, { now: i * 120_000 }).state;
    expect(waitOf(fail(state, { now: 1_100 * 120_000 }).decision)).toBe(backoffCapMs);
    expect(state.failures.length).toBeLessThanOrEqual(restartMax + 1);
  });
});

describe('quarantine', () => {
  it('comes with the failure after restartMax inside the window', () => {
    const { count, decision } = toQuarantine(initial());
    expect(count).toBe(restartMax + 1);
    expect(decision).toEqual({
      type: 'quarantine',
      trialMs: quarantineTrialMs,
      reason: '6 failures within 60 s',
    });
  });

  it('does not come when the same failures are spread over more than the window', () => {
    let state = initial();
    for (let i = 0; i < 50; i++) {
      const result = fail(state, { now: i * 13_000 });
      expect(result.decision.type).toBe('backoff');
      state = result.state;
    }
  });

  it('a failed trial goes straight back, even when it came to a handshake', () => {
    const quarantined = toQuarantine(initial());
    const ready = becameReady(quarantined.state, 61_000);
    const { decision } = fail(ready, { now: 62_000 });
    expect(decision).toEqual({
      type: 'quarantine',
      trialMs: 2 * quarantineTrialMs,
      reason: 'the trial after quarantine failed',
    });
  });

  it('the wait for a trial doubles up to the cap', () => {
    let { state, decision } = toQuarantine(initial());
    const waits: number[] = [];
    for (let i = 1; i <= 8; i++) {
      waits.push(waitOf(decision) / 60_000);
      ({ state, decision } = fail(state, { now: i * 10_000_000 }));
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
    expect(quarantineTrialCapMs).toBe(60 * 60_000);
  });

  it('a trial that stays healthy ends it: the next failure is an ordinary one', () => {
    const { state } = toQuarantine(initial());
    const ready = becameReady(state, 100_000);
    const { decision } = fail(ready, { now: 100_000 + stableAfterMs });
    expect(decision).toEqual({ type: 'backoff', waitMs: backoffBaseMs });
    expect(waitOf(toQuarantine(tick(ready, 100_000 + stableAfterMs)).decision)).toBe(quarantineTrialMs);
  });

  it('with restartMax 0 the first failure quarantines', () => {
    const options = { ...supervisorDefaults, restartMax: 0 };
    expect(toQuarantine(initial(), { options }).count).toBe(1);
  });
});

describe('failures that a repetition cannot mend (B154)', () => {
  it.each(['spawn', 'cwd', 'config', 'protocol-version', 'auth'])('%s quarantines at once', (kind) => {
    const { decision } = fail(initial(), { kind, beforeHandshake: true });
    expect(decision).toMatchObject({ type: 'quarantine', reason: 'trying again cannot help' });
  });

  it.each(['ENOENT', 'EACCES', 'ENOTDIR'])('a spawn that fails with %s quarantines at once', (errno) => {
    expect(fail(initial(), { kind: 'spawn', errno }).decision.type).toBe('quarantine');
  });

  it.each(['EAGAIN', 'EMFILE', 'ENOMEM'])('a spawn that fails with %s is tried again', (errno) => {
    let state = initial();
    for (let i = 0; i < restartMax; i++) {
      const result = fail(state, { kind: 'spawn', errno, beforeHandshake: true });
      expect(result.decision.type).toBe('backoff');
      state = result.state;
    }
  });

  it.each(['exit', 'start-timeout', 'watchdog', 'memory', 'thread', 'internal'])(
    '%s is tried again',
    (kind) => {
      expect(fail(initial(), { kind }).decision.type).toBe('backoff');
    },
  );
});

describe('exits before the handshake (B042)', () => {
  it('three in a row quarantine, with that reason', () => {
    const { count, decision } = toQuarantine(initial(), { beforeHandshake: true });
    expect(count).toBe(3);
    expect(decision).toMatchObject({ reason: 'exits before the handshake, 3 times in a row' });
  });

  it('count even when they are far apart', () => {
    let state = initial();
    for (const now of [0, 1_000_000]) state = fail(state, { now, beforeHandshake: true }).state;
    expect(fail(state, { now: 2_000_000, beforeHandshake: true }).decision.type).toBe('quarantine');
  });

  it('a handshake in between starts the count again', () => {
    let state = initial();
    for (let i = 0; i < 2; i++) state = fail(state, { beforeHandshake: true }).state;
    state = fail(becameReady(state, 1), { now: 2 }).state;
    expect(fail(state, { now: 3, beforeHandshake: true }).decision.type).toBe('backoff');
  });

  it('a start that only took too long is not one of them', () => {
    expect(toQuarantine(initial(), { kind: 'start-timeout', beforeHandshake: true }).count).toBe(
      restartMax + 1,
    );
  });
});

describe('forgiveness', () => {
  it('a handshake alone forgives nothing', () => {
    let state = initial();
    for (let i = 0; i < restartMax; i++) state = becameReady(fail(state, { now: i }).state, i);
    expect(fail(state, { now: 10 }).decision.type).toBe('quarantine');
  });

  it('comes after stableAfterMs of being ready, and not a millisecond earlier', () => {
    const ready = becameReady(fail(initial()).state, 1_000);
    expect(tick(ready, 1_000 + stableAfterMs - 1)).toBe(ready);
    expect(tick(ready, 1_000 + stableAfterMs)).toMatchObject({ attempt: 0, failures: [], readySince: 1_000 });
  });

  it('is not given to a server that is not ready, however long it waits', () => {
    const waiting = fail(initial()).state;
    expect(tick(waiting, 1e12)).toBe(waiting);
  });

  it('follows the option, not the default', () => {
    const options = { ...supervisorDefaults, stableAfterMs: 10_000_000 };
    const ready = becameReady(fail(initial(), { options }).state, 0);
    const { decision } = fail(ready, { now: stableAfterMs, options });
    expect(waitOf(decision)).toBe(2 * backoffBaseMs);
  });

  it('by hand gives a fresh budget, but remembers the quarantines', () => {
    const freed = released(toQuarantine(initial()).state);
    const again = toQuarantine(freed);
    expect(again.count).toBe(restartMax + 1);
    expect(waitOf(again.decision)).toBe(2 * quarantineTrialMs);
  });
});

describe('a server that shakes hands and exits at once', () => {
  const life = fc.integer({ min: 0, max: 500 });
  const random = fc.double({ min: 0, max: 1, noNaN: true });

  it('is spawned at most six times in any five seconds, then quarantined', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(life, random), { minLength: 40, maxLength: 40 }), (lives) => {
        const spawns: number[] = [];
        let state = initial();
        let now = 0;
        let firstQuarantine: number | undefined;
        for (const [lifeMs, drawn] of lives) {
          spawns.push(now);
          state = becameReady(state, now + lifeMs / 2);
          now += lifeMs;
          const result = fail(state, { now, random: drawn });
          state = result.state;
          if (result.decision.type === 'quarantine') firstQuarantine ??= spawns.length;
          now += waitOf(result.decision);
        }
        expect(firstQuarantine).toBe(6);
        for (const from of spawns) {
          expect(spawns.filter((at) => at >= from && at < from + 5_000).length).toBeLessThanOrEqual(6);
        }
      }),
    );
  });

  it('and one that dies before the handshake at most three times', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(life, random), { minLength: 3, maxLength: 3 }), (lives) => {
        let state = initial();
        let now = 0;
        const types = lives.map(([lifeMs, drawn]) => {
          now += lifeMs;
          const result = fail(state, { now, random: drawn, beforeHandshake: true });
          state = result.state;
          now += waitOf(result.decision);
          return result.decision.type;
        });
        expect(types).toEqual(['backoff', 'backoff', 'quarantine']);
      }),
    );
  });
});

it('no function changes the state it was given', () => {
  const state = Object.freeze({ ...initial(), failures: Object.freeze([]) as readonly number[] });
  becameReady(state, 1);
  fail(state);
  released(state);
  expect(state).toEqual(initial());
});

describe('the kind of a failure', () => {
  it.each(['spawn', 'cwd', 'config', 'framing', 'protocol-version', 'auth'])(
    '%s is quarantined at once: a repetition cannot mend it',
    (kind) => {
      expect(toQuarantine(initial(), { kind }).count).toBe(1);
    },
  );

  it.each(['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM', 'ETXTBSY'])(
    'spawn with %s is tried again: the host is short of something now',
    (errno) => {
      expect(fail(initial(), { kind: 'spawn', errno }).decision.type).toBe('backoff');
    },
  );

  it.each(['ENOENT', 'EACCES', undefined])('spawn with %s is not', (errno) => {
    const failure = { kind: 'spawn', ...(errno !== undefined && { errno }) };
    expect(fail(initial(), failure).decision.type).toBe('quarantine');
  });

  it('an errno excuses nothing but a spawn', () => {
    expect(fail(initial(), { kind: 'cwd', errno: 'EAGAIN' }).decision.type).toBe('quarantine');
  });

  it.each(['start-timeout', 'thread', 'watchdog', 'memory', 'network', 'http', 'session'])(
    '%s before the handshake is no early exit of the server: the whole budget counts',
    (kind) => {
      expect(toQuarantine(initial(), { kind, beforeHandshake: true }).count).toBe(restartMax + 1);
      expect(toQuarantine(initial(), { kind: 'exit', beforeHandshake: true }).count).toBeLessThan(restartMax);
    },
  );
});
