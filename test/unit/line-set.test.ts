import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LineSet } from '../../packages/runtime/src/batch/line-set.js';

test('a set of lines behaves like a Set, whatever their order and however far they lie apart', () => {
  const line = fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 2_000_000 }));
  fc.assert(
    fc.property(fc.array(line, { maxLength: 60 }), (lines) => {
      const set = new LineSet();
      const model = new Set<number>();
      for (const one of lines) {
        expect(set.add(one)).toBe(!model.has(one));
        model.add(one);
      }
      expect(set.size).toBe(model.size);
      expect([...set]).toEqual([...model].sort((a, b) => a - b));
      for (const one of model) expect([set.has(one), set.has(one + 1)]).toEqual([true, model.has(one + 1)]);
    }),
    { numRuns: 60 },
  );
});
