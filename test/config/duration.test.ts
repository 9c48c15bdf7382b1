import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseDuration } from '../../packages/runtime/src/config/duration.js';

describe('a duration', () => {
  it.each([
    ['500ms', 500],
    ['30s', 30_000],
    ['2m', 120_000],
    ['1h', 3_600_000],
    ['1d', 86_400_000],
    ['1.5s', 1_500],
    ['0.07h', 252_000],
    [' 2 M ', 120_000],
    ['5000', 5_000],
    [250, 250],
    [0.4, 1],
    [0, 0],
  ])('%j is %d ms', (value, ms) => {
    expect(parseDuration(value)).toBe(ms);
  });

  it.each(['', 'soon', '5 parsecs', '-1s', '1e9', '1s2', '0x10', 'ms'])(
    '%j is refused, quoting it',
    (text) => {
      expect(() => parseDuration(text)).toThrow(TypeError);
      expect(() => parseDuration(text)).toThrow(`got "${text}"`);
      expect(() => parseDuration(text)).toThrow('"30s"');
    },
  );

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60])('the number %d is refused', (value) => {
    expect(() => parseDuration(value)).toThrow(TypeError);
  });

  it('is the same in every unit that fits', () => {
    fc.assert(
      fc.property(fc.nat(10_000), (minutes) => {
        const ms = minutes * 60_000;
        expect(parseDuration(`${minutes}m`)).toBe(ms);
        expect(parseDuration(`${minutes * 60}s`)).toBe(ms);
        expect(parseDuration(`${ms}ms`)).toBe(ms);
        expect(parseDuration(ms)).toBe(ms);
      }),
    );
  });
});
