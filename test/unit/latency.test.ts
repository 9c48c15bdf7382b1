import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { durationBoundsMs, LatencyRecorder } from '../../packages/runtime/src/latency.js';

describe('latencies of answered calls', () => {
  it('there is nothing to tell before the first', () => {
    expect(new LatencyRecorder().snapshot()).toBeUndefined();
  });

  it('percentiles are in milliseconds', () => {
    const recorder = new LatencyRecorder();
    for (let ms = 1; ms <= 100; ms++) recorder.record(ms);
    const { p50 = 0, p95 = 0, p99 = 0 } = recorder.snapshot() ?? {};
    expect(Math.abs(p50 - 50)).toBeLessThan(1);
    expect(Math.abs(p95 - 95)).toBeLessThan(1.5);
    expect(Math.abs(p99 - 99)).toBeLessThan(1.5);
  });

  it('the mean and the count tell what came between two looks', () => {
    const recorder = new LatencyRecorder();
    for (let call = 0; call < 10; call++) recorder.record(10);
    const { mean: before = 0, count: early = 0 } = recorder.snapshot() ?? {};
    for (let call = 0; call < 5; call++) recorder.record(400);
    const { mean = 0, count = 0 } = recorder.snapshot() ?? {};
    expect([early, count]).toEqual([10, 15]);
    expect(Math.abs((mean * count - before * early) / (count - early) - 400)).toBeLessThan(8);
  });

  it('any latency from a microsecond to an hour comes back within one per cent', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.001, max: 3_600_000, noNaN: true }), (ms) => {
        const recorder = new LatencyRecorder();
        recorder.record(ms);
        const { p50 = 0 } = recorder.snapshot() ?? {};
        // Below 50 µs the whole microsecond is the coarser step.
        expect(Math.abs(p50 - ms)).toBeLessThanOrEqual(Math.max(0.0005, ms * 0.01) + 1e-9);
      }),
    );
  });

  it.each([
    ['zero', 0, 0.001],
    ['a negative one', -5, 0.001],
    ['one beyond an hour', 1e12, 3_600_000],
    ['one without end', Number.POSITIVE_INFINITY, 3_600_000],
  ])('%s counts as the nearest that can be told apart', (_, ms, expected) => {
    const recorder = new LatencyRecorder();
    recorder.record(ms);
    const { p99 = 0 } = recorder.snapshot() ?? {};
    expect(Math.abs(p99 - expected)).toBeLessThanOrEqual(expected * 0.01);
  });

  it('what is not a number is left out', () => {
    const recorder = new LatencyRecorder();
    recorder.record(Number.NaN);
    expect(recorder.snapshot()).toBeUndefined();
  });

  it('a histogram counts how many took at most each bound, of which each is up to two per cent off', () => {
    const recorder = new LatencyRecorder();
    expect(recorder.cumulative()).toBeUndefined();
    const latencies = [0.2, 0.9, 3, 3, 40, 700, 59_000, 400_000];
    for (const ms of latencies) recorder.record(ms);
    expect(durationBoundsMs.length).toBeGreaterThan(10);
    expect(recorder.cumulative()).toEqual(
      durationBoundsMs.map((bound) => latencies.filter((ms) => ms <= bound).length),
    );
    // Told twice, it is the same.
    expect(recorder.cumulative()?.at(-1)).toBe(7);
  });

  it('no percentile is above the slowest', () => {
    const recorder = new LatencyRecorder();
    recorder.record(7.003);
    const { p50 = 0, p99 = 0 } = recorder.snapshot() ?? {};
    expect(Math.max(p50, p99)).toBeLessThanOrEqual(7.003);
  });
});
