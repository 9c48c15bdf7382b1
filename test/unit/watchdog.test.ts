import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { supervisorDefaults } from '../../packages/workers/src/defaults.js';
import {
  type WatchInput,
  type WatchOptions,
  type WatchVerdict,
  watched,
  watchInitial,
} from '../../packages/workers/src/supervisor/watchdog.js';

const { watchdogRoundMs: ROUND, suspectAfterMs, deadAfterMs, pingIdleMs } = supervisorDefaults;

/** A watchdog at work: every `round` is one input, by default one period later with a new heartbeat. */
class Scene {
  #input: WatchInput;
  #state;
  readonly #options: WatchOptions;

  /** A thread that has shown life already, unless `fresh`. */
  constructor(options: Partial<WatchOptions> = {}, fresh = false) {
    this.#options = { ...supervisorDefaults, ...options };
    this.#input = { now: 1_000_000, beat: 7, bytes: 3, inFlight: 0 };
    this.#state = { ...watchInitial(this.#input), beaten: !fresh };
  }

  round(
    change: { afterMs?: number; beats?: boolean; bytes?: boolean; inFlight?: number } = {},
  ): WatchVerdict {
    const { now, beat, bytes, inFlight } = this.#input;
    this.#input = {
      now: now + (change.afterMs ?? ROUND),
      beat: beat + ((change.beats ?? true) ? 1 : 0),
      bytes: bytes + (change.bytes ? 1 : 0),
      inFlight: change.inFlight ?? inFlight,
    };
    const { state, verdict } = watched(this.#state, this.#input, this.#options);
    this.#state = state;
    return verdict;
  }

  /** Rounds for `ms`; gives each verdict with the time since the start. */
  rounds(ms: number, change: Parameters<Scene['round']>[0] = {}): { at: number; verdict: WatchVerdict }[] {
    const seen = [];
    for (let at = ROUND; at <= ms; at += ROUND) seen.push({ at, verdict: this.round(change) });
    return seen;
  }
}

function firstOf(verdict: WatchVerdict, seen: { at: number; verdict: WatchVerdict }[]): number | undefined {
  return seen.find((one) => one.verdict === verdict)?.at;
}

describe('a thread that stops beating', () => {
  it('is suspect after two seconds and dead after ten', () => {
    const seen = new Scene().rounds(12_000, { beats: false });
    expect(firstOf('suspect', seen)).toBe(suspectAfterMs);
    expect(firstOf('dead', seen)).toBe(deadAfterMs);
    expect(seen.at(-1)?.verdict).toBe('dead');
  });

  it('is dead although bytes still arrive and calls are in flight', () => {
    const seen = new Scene().rounds(12_000, { beats: false, bytes: true, inFlight: 5 });
    expect(firstOf('dead', seen)).toBe(deadAfterMs);
  });

  it('is fine again with one beat', () => {
    const scene = new Scene();
    scene.rounds(9_500, { beats: false });
    expect(scene.round()).toBe('ok');
    expect(firstOf('suspect', scene.rounds(3_000, { beats: false }))).toBe(suspectAfterMs);
  });

  it('is alive when its counter wraps to a smaller value', () => {
    const options = supervisorDefaults;
    let state = watchInitial({ now: 0, beat: 2 ** 31 - 1, bytes: 0, inFlight: 0 });
    ({ state } = watched(state, { now: 500, beat: -(2 ** 31), bytes: 0, inFlight: 0 }, options));
    expect(state.beatAt).toBe(500);
  });
});

describe('a watchdog that was late itself', () => {
  it('skips the round and kills nobody', () => {
    const scene = new Scene();
    expect(scene.round({ afterMs: 3_600_000, beats: false })).toBe('skip');
  });

  it('gives every thread its full time again, counted from now', () => {
    const scene = new Scene();
    scene.rounds(9_500, { beats: false });
    expect(scene.round({ afterMs: 60_000, beats: false })).toBe('skip');
    const seen = scene.rounds(12_000, { beats: false });
    expect(firstOf('suspect', seen)).toBe(suspectAfterMs);
    expect(firstOf('dead', seen)).toBe(deadAfterMs);
  });

  it('tolerates a round that is up to a second late', () => {
    expect(new Scene().round({ afterMs: ROUND + 1_000 })).toBe('ok');
    expect(new Scene().round({ afterMs: ROUND + 1_001 })).toBe('skip');
  });

  it('tolerates as much as one period when the period is longer than a second', () => {
    const slow = { watchdogRoundMs: 5_000 };
    expect(new Scene(slow).round({ afterMs: 10_000 })).toBe('ok');
    expect(new Scene(slow).round({ afterMs: 10_001 })).toBe('skip');
  });

  it('skips when the clock went backwards', () => {
    expect(new Scene().round({ afterMs: -5 })).toBe('skip');
  });

  it('asks an idle session after the gap whether it is still there', () => {
    const scene = new Scene();
    expect(scene.round({ afterMs: 3_600_000 })).toBe('skip');
    expect(scene.round()).toBe('ping');
  });

  it('never says dead before deadAfterMs of rounds in time', () => {
    const gap = fc.integer({ min: 1, max: 20_000 });
    fc.assert(
      fc.property(fc.array(gap, { maxLength: 60 }), (gaps) => {
        const scene = new Scene();
        let sinceSkip = 0;
        for (const afterMs of gaps) {
          const verdict = scene.round({ afterMs, beats: false });
          sinceSkip = verdict === 'skip' ? 0 : sinceSkip + afterMs;
          expect(verdict === 'dead').toBe(verdict !== 'skip' && sinceSkip >= deadAfterMs);
        }
      }),
    );
  });
});

describe('ping', () => {
  it('comes after thirty quiet seconds on an idle session', () => {
    expect(firstOf('ping', new Scene().rounds(40_000))).toBe(pingIdleMs);
  });

  it('never comes with a call in flight (B162)', () => {
    const seen = new Scene().rounds(10 * pingIdleMs, { inFlight: 1 });
    expect(new Set(seen.map((one) => one.verdict))).toEqual(new Set(['ok']));
  });

  it('leaves a server its whole idle time after the last call ended without an answer', () => {
    const scene = new Scene();
    scene.rounds(10 * pingIdleMs, { inFlight: 1 });
    const seen = scene.rounds(2 * pingIdleMs, { inFlight: 0 });
    expect(firstOf('ping', seen)).toBe(pingIdleMs);
  });

  it('is put off by bytes that arrive', () => {
    const scene = new Scene();
    scene.rounds(29_000);
    scene.round({ bytes: true });
    expect(firstOf('ping', scene.rounds(40_000))).toBe(pingIdleMs);
  });

  it('is not repeated in the next round, only after another idle time', () => {
    const pings = new Scene().rounds(95_000).filter((one) => one.verdict === 'ping');
    expect(pings.map((one) => one.at)).toEqual([30_000, 60_000, 90_000]);
  });

  it('waits for the last one to time out when the idle time is shorter than that', () => {
    const pings = new Scene({ pingIdleMs: 1_000 }).rounds(22_000).filter((one) => one.verdict === 'ping');
    expect(pings.map((one) => one.at)).toEqual([1_000, 11_000, 21_000]);
  });

  it('that was answered makes room for the next after the idle time', () => {
    const scene = new Scene({ pingIdleMs: 1_000 });
    expect(firstOf('ping', scene.rounds(1_000))).toBe(1_000);
    scene.round({ bytes: true });
    expect(firstOf('ping', scene.rounds(5_000))).toBe(1_000);
  });

  it('is turned off by 0', () => {
    const seen = new Scene({ pingIdleMs: 0 }).rounds(100_000);
    expect(firstOf('ping', seen)).toBeUndefined();
  });

  it('is not sent through a thread that is suspect', () => {
    const seen = new Scene({ pingIdleMs: 1_000, suspectAfterMs: 500 }).rounds(9_000, { beats: false });
    expect(firstOf('ping', seen)).toBeUndefined();
  });
});

describe('before its first heartbeat', () => {
  it('a thread is never dead: a slow start is the business of the start-up limit', () => {
    const seen = new Scene({}, true).rounds(2 * deadAfterMs, { beats: false });
    expect(new Set(seen.map(({ verdict }) => verdict))).toEqual(new Set(['ok']));
  });
});
