import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { IdTable } from '../../packages/workers/src/id-table.js';

describe('a table of what is in flight', () => {
  test('gives back what stands under an id, once', () => {
    const table = new IdTable<string>();
    table.set(7, 'seven');
    expect(table.get(7)).toBe('seven');
    expect(table.take(7)).toBe('seven');
    expect(table.take(7)).toBeUndefined();
    expect(table.get(7)).toBeUndefined();
    expect(table.size).toBe(0);
  });

  test('keeps an old one however many pass it', () => {
    const table = new IdTable<number>();
    table.set(1, 1);
    for (let id = 2; id < 5_000; id++) {
      table.set(id, id);
      if (id > 600) table.take(id);
    }
    expect(table.get(1)).toBe(1);
    expect(table.get(300)).toBe(300);
    expect(table.size).toBe(600);
    expect(table.values()).toEqual(Array.from({ length: 600 }, (_, i) => i + 1));
  });

  test('behaves like a Map under any order of use', () => {
    const step = fc.record({ op: fc.constantFrom('set', 'take', 'get', 'clear'), back: fc.nat(900) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 2_000 }), (steps) => {
        const table = new IdTable<number>();
        const model = new Map<number, number>();
        let last = 0;
        for (const { op, back } of steps) {
          const id = Math.max(1, last - back);
          if (op === 'set') {
            last++;
            table.set(last, -last);
            model.set(last, -last);
          } else if (op === 'take') {
            expect(table.take(id)).toBe(model.get(id));
            model.delete(id);
          } else if (op === 'get') {
            expect(table.get(id)).toBe(model.get(id));
          } else if (back === 0) {
            table.clear();
            model.clear();
          }
          expect(table.size).toBe(model.size);
        }
        expect(table.values()).toEqual([...model.values()]);
      }),
    );
  });
});

describe('an old one whose place in the ring was taken', () => {
  const RING = 256;
  function passed(): IdTable<string> {
    const table = new IdTable<string>();
    for (const id of [1, 2, 1 + RING, 2 + RING, 3]) table.set(id, `v${id}`);
    return table;
  }

  test('is there, is taken once, and leaves the newer one in place', () => {
    const table = passed();
    expect([table.has(1), table.has(1 + RING), table.has(4), table.has(1 + 2 * RING)]).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect(table.take(1)).toBe('v1');
    expect(table.take(1)).toBeUndefined();
    expect(table.has(1)).toBe(false);
    expect(table.get(1 + RING)).toBe('v257');
    expect(table.size).toBe(4);
  });

  test('stands in its order among the values', () => {
    expect(passed().values()).toEqual(['v1', 'v2', 'v3', 'v257', 'v258']);
  });

  test('is gone after clear(), like all others', () => {
    const table = passed();
    table.clear();
    expect([table.size, table.get(1), table.get(1 + RING), table.get(3)]).toEqual([
      0,
      undefined,
      undefined,
      undefined,
    ]);
    expect(table.values()).toEqual([]);
  });
});
