import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { deeperThan, elementSpans, memberSpans, walkMembers } from '../../packages/workers/src/json-span.js';

/** Members of the object in `text` as their source texts. */
function members(text: string, start?: number): Map<string, string> {
  return new Map(
    [...memberSpans(text, start)].map(([name, span]) => [name, text.slice(span.start, span.end)]),
  );
}

/** JSON text of a value with whitespace and string escapes that JSON.stringify would not write. */
function spelled(value: unknown, dice: () => number): string {
  const blank = () => ['', '', ' ', '\t', '\r\n', ' \n '][dice() % 6];
  const quoted = (text: string) =>
    `"${[
      ...JSON.stringify(text)
        .slice(1, -1)
        .matchAll(/\\u....|\\.|./gs),
    ]
      .map(([part]) =>
        part.length === 1 && dice() % 4 === 0
          ? `\\u${part.charCodeAt(0).toString(16).padStart(4, '0')}`
          : part === '/' && dice() % 2 === 0
            ? '\\/'
            : part,
      )
      .join('')}"`;
  if (typeof value === 'string') return quoted(value);
  if (Array.isArray(value)) {
    return `[${blank()}${value.map((item) => spelled(item, dice)).join(`${blank()},${blank()}`)}${blank()}]`;
  }
  if (typeof value === 'object' && value !== null) {
    const pairs = Object.entries(value).map(
      ([key, item]) => `${quoted(key)}${blank()}:${blank()}${spelled(item, dice)}`,
    );
    return `{${blank()}${pairs.join(`${blank()},${blank()}`)}${blank()}}`;
  }
  return JSON.stringify(value);
}

const dice = fc.infiniteStream(fc.nat()).map((stream) => () => stream.next().value as number);

describe('memberSpans', () => {
  test('the digits of an integer above 2^53 survive', () => {
    const text = '{"id": 1915883588174806058, "price": 1.10, "list":[1.0 , 2e3]}';
    expect(Object.fromEntries(members(text))).toEqual({
      id: '1915883588174806058',
      price: '1.10',
      list: '[1.0 , 2e3]',
    });
  });

  test('brackets, quotes and backslashes inside strings are text', () => {
    const text = String.raw`{"a":"}],{\"","b":"\\","c":{"d":"\\\"]"},"\u0065\"":[]}`;
    expect([...members(text)]).toEqual([
      ['a', String.raw`"}],{\""`],
      ['b', String.raw`"\\"`],
      ['c', String.raw`{"d":"\\\"]"}`],
      ['e"', '[]'],
    ]);
  });

  test('of a repeated name the last one counts, as in JSON.parse', () => {
    expect(members('{"a":1,"b":2,"\\u0061":3}').get('a')).toBe('3');
  });

  test('it reads the object that begins at `start` and ignores what follows it', () => {
    expect(members('[{"a":1},{"b":2}]', 9).get('b')).toBe('2');
  });

  test('foreign names like __proto__ are members', () => {
    expect(members('{"__proto__":1,"constructor":2}').get('__proto__')).toBe('1');
  });

  test.each([
    '',
    '[]',
    '{',
    '{"a"',
    '{"a":',
    '{"a":1',
    '{"a":"x}',
    '{"a":[1}',
    '{"a":{"b":1}',
    '{"a\\":1}',
    '{"a":1 "b":2}',
  ])('cut or unbalanced text %j is a SyntaxError', (text) => {
    expect(() => memberSpans(text)).toThrow(SyntaxError);
  });

  test('any JSON object in any spelling has the members that JSON.parse sees', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()), dice, (value, roll) => {
        const text = ` ${spelled(value, roll)} `;
        const parsed = JSON.parse(text) as Record<string, unknown>;
        const found = members(text);
        expect(new Set(found.keys())).toEqual(new Set(Object.keys(parsed)));
        for (const [name, own] of found) expect(JSON.parse(own)).toEqual(parsed[name]);
      }),
      { numRuns: 500 },
    );
  });
});

describe('walkMembers', () => {
  test('a cut object gives its whole members, and the cut one marked', () => {
    const seen: [string, boolean][] = [];
    const complete = walkMembers('{"id":5,"result":{"id":6,"te', 0, (name, _span, whole) => {
      seen.push([name, whole]);
    });
    expect(complete).toBe(false);
    expect(seen).toEqual([
      ['id', true],
      ['result', false],
    ]);
  });

  test('a number that meets the cut is not whole: more digits may follow', () => {
    const seen: boolean[] = [];
    walkMembers('{"id":5', 0, (_name, _span, whole) => seen.push(whole));
    expect(seen).toEqual([false]);
  });
});

describe('elementSpans', () => {
  test('any array in any spelling is cut into its elements', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), dice, (value, roll) => {
        const text = spelled(value, roll);
        const own = elementSpans(text).map(({ start, end }) => JSON.parse(text.slice(start, end)));
        expect(own).toEqual(JSON.parse(text));
      }),
      { numRuns: 300 },
    );
  });

  test.each(['{}', '[', '[1', '[1,', '["]', '[1 2]'])('%j is a SyntaxError', (text) => {
    expect(() => elementSpans(text)).toThrow(SyntaxError);
  });
});

describe('deeperThan', () => {
  function depthOf(value: unknown): number {
    if (typeof value !== 'object' || value === null) return 0;
    return 1 + Math.max(0, ...Object.values(value).map(depthOf));
  }

  test('it tells the depth that JSON.parse finds, for any spelling', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), dice, (value, roll) => {
        const bytes = Buffer.from(spelled(value, roll));
        const depth = depthOf(value);
        expect(deeperThan(bytes, depth)).toBe(false);
        if (depth > 0) expect(deeperThan(bytes, depth - 1)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  test.each([0, 1, 2, 3, 46, 47, 48, 49, 50, 95, 96, 97])(
    'a string of %i characters and backslashes of both parities hides its brackets',
    (length) => {
      const filler = 'x'.repeat(length);
      for (const content of [`${filler}[[[`, `${filler}\\"[[[`, `${filler}\\\\\\"[[[`, `[${filler}\\\\`]) {
        expect(deeperThan(Buffer.from(`["${content}"]`), 1)).toBe(false);
        expect(deeperThan(Buffer.from(`["${content}",[]]`), 1)).toBe(true);
      }
    },
  );
});
