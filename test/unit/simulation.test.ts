/** The simulation of distributed batches: what must hold in every run of it, and that it can be repeated. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

interface Setting {
  calls: number;
  workers: number;
  window: number;
  fleetWindow?: number;
  meanMs: number;
  sigma?: number;
  kills?: number;
  replaceMs?: number;
  idempotentShare?: number;
  chunkLines?: number;
  stepMicros: number;
  lineMicros: number;
  seed?: number;
}

interface Report {
  seconds: number;
  shareOfIdeal: number;
  storeBusy: number;
  takeovers: number;
  longestTakeoverMs: number;
  sentAway: number;
  givenUp: number;
  unknown: number;
  lost: number;
  ranAgain: number;
  violations: string[];
}

const load = <T>(path: string): Promise<T> => import(new URL(path, import.meta.url).href) as Promise<T>;
const { simulate } = await load<{ simulate(setting: Setting): Report }>(
  '../../bench/simulation/simulation.mjs',
);
const { Lines, END } = await load<{
  END: { ok: number; unknown: number };
  Lines: new (
    count: number,
    isIdempotent: () => boolean,
  ) => {
    violations: string[];
    dropped: number;
    markSent(line: number): void;
    ran(line: number): void;
    end(line: number, end: number): void;
    fate(line: number): string;
  };
}>('../../bench/simulation/lines.mjs');

const base: Setting = { calls: 5_000, workers: 5, window: 16, meanMs: 100, stepMicros: 60, lineMicros: 80 };

describe('the simulation of a fleet', () => {
  it('is the same again for the same seed, and another for another', () => {
    const setting = { ...base, kills: 2, seed: 7 };
    expect(simulate(setting)).toEqual(simulate(setting));
    expect(simulate(setting).seconds).not.toBe(simulate({ ...setting, seed: 8 }).seconds);
  });

  it('gives every line one result, and runs no call twice that must not, whoever is killed', () => {
    fc.assert(
      fc.property(
        fc.record({
          calls: fc.integer({ min: 1, max: 3_000 }),
          workers: fc.integer({ min: 1, max: 12 }),
          window: fc.integer({ min: 1, max: 64 }),
          fleetWindow: fc.integer({ min: 1, max: 100 }),
          meanMs: fc.integer({ min: 1, max: 400 }),
          kills: fc.integer({ min: 0, max: 12 }),
          chunkLines: fc.integer({ min: 1, max: 300 }),
          idempotentShare: fc.double({ min: 0, max: 1, noNaN: true }),
          seed: fc.integer(),
        }),
        (drawn) => {
          const report = simulate({ ...base, ...drawn });
          expect(report.violations).toEqual([]);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('is never quicker than its calls allow', () => {
    const { seconds, shareOfIdeal } = simulate({ ...base, sigma: 0 });
    expect(seconds).toBeGreaterThan((5_000 * 0.1) / (5 * 16));
    expect(shareOfIdeal).toBeLessThan(1);
    expect(shareOfIdeal).toBeGreaterThan(0.5);
  });

  it('is as slow as its store, when that is the limit', () => {
    const { seconds, storeBusy } = simulate({ ...base, stepMicros: 20_000 });
    expect(storeBusy).toBeGreaterThan(0.9);
    expect(seconds).toBeGreaterThan(simulate(base).seconds * 2);
  });

  it('takes the chunks of a killed worker over within the lock and a look for lost ones', () => {
    const report = simulate({ ...base, calls: 20_000, kills: 3, idempotentShare: 0.5, seed: 3 });
    expect(report.takeovers).toBeGreaterThan(0);
    expect(report.unknown).toBeGreaterThan(0);
    expect(report.ranAgain).toBeGreaterThan(0);
    expect(report.longestTakeoverMs).toBeGreaterThan(5_000);
  });

  it('keeps the window of the fleet, and sends chunks away that find no place', () => {
    const narrow = simulate({ ...base, fleetWindow: 8 });
    expect(narrow.sentAway).toBeGreaterThan(0);
    expect(narrow.seconds).toBeGreaterThan((5_000 * 0.1) / 8);
  });
});

describe('the lines of a simulation', () => {
  it('tell when a promise is broken', () => {
    const lines = new Lines(3, () => false);
    lines.ran(0);
    expect(lines.violations).toEqual(['line 0 ran before it was noted as sent']);
    lines.markSent(1);
    lines.ran(1);
    expect(lines.fate(1)).toBe('unknown');
    lines.ran(1);
    expect(lines.violations.at(-1)).toBe('line 1 ran twice');
    lines.end(1, END.ok);
    lines.end(1, END.unknown);
    expect(lines.dropped).toBe(1);
  });
});
