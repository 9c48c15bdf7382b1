import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { memberSpans } from '../../packages/workers/src/json-span.js';
import { AnswerScanner } from '../../packages/workers/src/server/answer-scan.js';

const scanner = new AnswerScanner();

function scan(text: string, options: { from?: number; whole?: boolean } = {}) {
  const bytes = Buffer.from(text);
  if (!scanner.scan(bytes, options.from ?? 0, options.whole ?? false)) return undefined;
  const { id, isError, next, start, end } = scanner;
  return { id, isError, next, result: bytes.toString('utf8', start, end) };
}

const versionFirst = (id: number, result: string) => `{"jsonrpc":"2.0","id":${id},"result":${result}}\n`;
const resultFirst = (id: number, result: string) => `{"result":${result},"jsonrpc":"2.0","id":${id}}\n`;

describe('a plain answer', () => {
  test.each([versionFirst, resultFirst])('is found in either order of members', (write) => {
    const result =
      '{"content":[{"type":"text","text":"a \\"b\\" \\u00e9 é"}],"n":[-1.5e+3,0,true,null,{}, [ ]]}';
    expect(scan(write(42, result))).toEqual({
      id: 42,
      isError: false,
      next: Buffer.byteLength(write(42, result)),
      result,
    });
  });

  test('says whether it is an error of the tool; the last of two counts, one further inside does not', () => {
    expect(scan(versionFirst(1, '{"isError":true}'))?.isError).toBe(true);
    expect(scan(versionFirst(1, '{"isError": true,"isError":false}'))?.isError).toBe(false);
    expect(scan(versionFirst(1, '{"a":{"isError":true}}'))?.isError).toBe(false);
    expect(scan(versionFirst(1, '{"isError":null}'))?.isError).toBe(false);
  });

  test('is read from the middle of a chunk, with CRLF or LF', () => {
    const first = versionFirst(1, '{}').replace('\n', '\r\n');
    const chunk = first + versionFirst(2, '{"x":1}');
    expect(scan(chunk)).toMatchObject({ id: 1, next: first.length });
    expect(scan(chunk, { from: first.length })).toMatchObject({ id: 2, next: chunk.length });
  });

  test('ends with the bytes only where they are known to be whole', () => {
    const text = versionFirst(3, '{}').trimEnd();
    expect(scan(text)).toBeUndefined();
    expect(scan(text, { whole: true })).toMatchObject({ id: 3, next: text.length });
  });
});

describe('left to the thorough reader', () => {
  test.each([
    ['an error', '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}\n'],
    ['an id as a string', '{"jsonrpc":"2.0","id":"1","result":{}}\n'],
    ['an id with a leading zero', '{"jsonrpc":"2.0","id":01,"result":{}}\n'],
    ['an id with a fraction', '{"jsonrpc":"2.0","id":1.5,"result":{}}\n'],
    ['an id of ten digits', '{"jsonrpc":"2.0","id":1234567890,"result":{}}\n'],
    ['a result that is a list', '{"jsonrpc":"2.0","id":1,"result":[]}\n'],
    ['a member behind it', '{"jsonrpc":"2.0","id":1,"result":{},"method":"x"}\n'],
    ['two results', '{"jsonrpc":"2.0","id":1,"result":{},"result":{}}\n'],
    ['an escape in a name of the result', '{"jsonrpc":"2.0","id":1,"result":{"is\\u0045rror":true}}\n'],
    ['blanks in the envelope', '{"jsonrpc": "2.0","id":1,"result":{}}\n'],
    ['a byte order mark', '\ufeff{"jsonrpc":"2.0","id":1,"result":{}}\n'],
    ['two messages on a line', '{"jsonrpc":"2.0","id":1,"result":{}}{"jsonrpc":"2.0","id":2,"result":{}}\n'],
    ['a message that is cut', '{"jsonrpc":"2.0","id":1,"result":{"a":"b'],
    ['65 levels', versionFirst(1, `{"a":${'['.repeat(64)}${']'.repeat(64)}}`)],
    ['NaN', versionFirst(1, '{"a":NaN}')],
    ['a number that begins with a plus', versionFirst(1, '{"a":+1}')],
    ['a number that ends in a dot', versionFirst(1, '{"a":1.}')],
    ['a tab in a string', versionFirst(1, '{"a":"\t"}')],
    ['an escape that JSON does not know', versionFirst(1, '{"a":"\\x"}')],
    ['a comma too many', versionFirst(1, '{"a":[1,]}')],
    ['a bracket that closes a brace', versionFirst(1, '{"a":{"b":1]}')],
  ])('%s', (_, text) => {
    expect(scan(text)).toBeUndefined();
  });
});

describe('against JSON.parse', () => {
  const parse = (text: string): Record<string, unknown> | undefined => {
    try {
      return JSON.parse(text);
    } catch {
      return undefined;
    }
  };

  test('every result that JSON.stringify writes is found whole', () => {
    fc.assert(
      fc.property(
        fc.nat(999_999_999),
        fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 8 })),
        (id, value) => {
          const result = JSON.stringify(value);
          const escapedName = Object.keys(value).some((key) => JSON.stringify(key).includes('\\'));
          fc.pre(id > 0 && !escapedName);
          for (const write of [versionFirst, resultFirst])
            expect(scan(write(id, result))).toMatchObject({ id, result });
        },
      ),
    );
  });

  test('what it takes after any damage is JSON, with the same id, result and error flag', () => {
    const damage = fc.record({
      at: fc.nat(400),
      cut: fc.nat(3),
      put: fc.string({ maxLength: 3, unit: 'binary' }),
    });
    const value = fc.dictionary(fc.constantFrom('a', 'isError', 'content'), fc.jsonValue({ maxDepth: 4 }));
    let taken = 0;
    fc.assert(
      fc.property(value, fc.boolean(), fc.array(damage, { maxLength: 2 }), (result, first, damages) => {
        let text = (first ? versionFirst : resultFirst)(7, JSON.stringify(result)).trimEnd();
        for (const { at, cut, put } of damages) {
          const place = at % text.length;
          text = text.slice(0, place) + put + text.slice(place + cut);
        }
        text = Buffer.from(text).toString();
        const found = scan(text, { whole: true });
        if (found === undefined) return;
        taken++;
        const parsed = parse(text) ?? {};
        expect(Object.keys(parsed).sort()).toEqual(['id', 'jsonrpc', 'result']);
        expect(found.id).toBe(parsed.id);
        const span = memberSpans(text).get('result');
        expect(found.result).toBe(text.slice(span?.start, span?.end));
        expect(found.isError).toBe((parsed.result as Record<string, unknown>).isError === true);
      }),
      { numRuns: 3_000 },
    );
    expect(taken).toBeGreaterThan(500);
  });
});
