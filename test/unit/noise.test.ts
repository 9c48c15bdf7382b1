import { describe, expect, test } from 'vitest';
import { readableLine, SkippedLines } from '../../packages/workers/src/server/noise.js';

describe('SkippedLines', () => {
  test('B001: all lines are counted, the last ten are kept in order', () => {
    const skipped = new SkippedLines();
    for (let line = 1; line <= 25; line++) skipped.add(`line ${line}`);
    expect(skipped.count).toBe(25);
    expect(skipped.tail()).toEqual(Array.from({ length: 10 }, (_, index) => `line ${16 + index}`));
  });

  test('the tail is a copy: what is added later does not change it', () => {
    const skipped = new SkippedLines(2);
    skipped.add('a');
    const tail = skipped.tail();
    skipped.add('b');
    expect(tail).toEqual(['a']);
  });

  test('a long line is kept up to 500 characters', () => {
    const skipped = new SkippedLines();
    skipped.add('x'.repeat(10_000));
    expect(skipped.tail()[0]).toHaveLength(500);
  });

  test('a warning is due for the first line, then at most once a minute', () => {
    const skipped = new SkippedLines();
    expect(skipped.shouldWarn(5)).toBe(true);
    expect(skipped.shouldWarn(6)).toBe(false);
    expect(skipped.shouldWarn(60_004)).toBe(false);
    expect(skipped.shouldWarn(60_005)).toBe(true);
    expect(skipped.shouldWarn(60_006)).toBe(false);
  });
});

describe('readableLine', () => {
  test('colours, control characters and broken bytes cannot reach a terminal', () => {
    const line = Buffer.from('\u001b[1;31mStarting\u001b[0m\u0007on\tport 80\u001b]0;title\u0007');
    expect(readableLine(line)).toBe('Starting on port 80]0;title');
    expect(readableLine(Buffer.from([0x61, 0xff, 0x62]))).toBe('a\ufffdb');
  });

  test('a long line is cut to 500 characters, never inside a pair', () => {
    for (const before of ['', 'x']) {
      const text = readableLine(Buffer.from(before + '🎉'.repeat(10_000)));
      expect(text).toMatch(/^x?(?:🎉){200,}…$/);
      expect(text.length).toBeLessThanOrEqual(500);
    }
  });
});
