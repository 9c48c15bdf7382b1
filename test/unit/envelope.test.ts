import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Incoming,
  looksLikeContentLength,
  readLine,
  sniffId,
} from '../../packages/workers/src/server/envelope.js';
import { resultSpan, resultSpanBytes } from '../../packages/workers/src/server/result-span.js';

const limits = { maxDepth: 1_000 };
const read = (line: string | Buffer) => readLine(Buffer.from(line), limits);

/** The one message of a line. */
function only(line: string | Buffer): Incoming {
  const reading = read(line);
  if (reading.kind !== 'messages' || reading.messages.length !== 1 || reading.messages[0] === undefined) {
    throw new Error(`expected one message, got ${JSON.stringify(reading)}`);
  }
  return reading.messages[0];
}

const reply = (id: unknown, result: unknown = { ok: true }) => JSON.stringify({ jsonrpc: '2.0', id, result });

describe('noise', () => {
  test.each([
    'Starting…',
    '\u001b[32mready\u001b[0m',
    '- item',
    '[INFO] x',
    '123',
    '"hi"',
    'null',
    'true',
    '{"level":"info"}',
    '{"level":"info","id":"abc","error":"x"}',
    '{"jsonrpc":"1.0","method":"x"}',
    '{not json',
    '{"id":5',
    '{"id":5,"error":oops}',
    '{',
    '[',
    '[1,2,3]',
    '[[{"jsonrpc":"2.0","id":1,"result":{}}]]',
  ])('B001, B002: %j is noise, never an exception', (line) => {
    expect(read(line).kind).toBe('noise');
  });

  test('the text of a noise line is readable and at most 500 characters', () => {
    const reading = read(`\u001b[31mlog\u001b[0m ${'x'.repeat(100_000)}`);
    expect(reading).toMatchObject({ kind: 'noise', text: expect.stringMatching(/^log x+…$/) });
    expect(reading.kind === 'noise' && reading.text.length).toBe(500);
  });

  test('a line of blanks is nothing at all', () => {
    expect(read(' \t ')).toEqual({ kind: 'messages', messages: [], batch: false });
    expect(read('\ufeff')).toEqual({ kind: 'messages', messages: [], batch: false });
  });

  test('no bytes at all make it throw', () => {
    const fragment = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(
        '{"jsonrpc":"2.0",',
        '"id":5,',
        '"id":null',
        '"result":{',
        '"error":',
        '[',
        ']',
        '}',
        '"',
        '\\',
        '\ufeff',
      ),
    );
    fc.assert(
      fc.property(fc.array(fragment), (parts) => {
        expect(['noise', 'messages']).toContain(read(parts.join('')).kind);
      }),
      { numRuns: 1_000 },
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(['noise', 'messages']).toContain(read(Buffer.from(bytes)).kind);
      }),
    );
  });
});

describe('messages', () => {
  test('a response comes with its exact text and bytes', () => {
    const text = '{"jsonrpc":"2.0","id":7,"result":{"big":1915883588174806058,"t":"读—🎉"}}';
    const message = only(text);
    expect(message).toMatchObject({ kind: 'response', id: 7, text, coerced: false });
    expect(message.kind === 'response' && message.bytes.toString()).toBe(text);
  });

  test('an error response comes as a response', () => {
    const message = only('{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"no such method"}}');
    expect(message).toMatchObject({ kind: 'response', id: 3, value: { error: { code: -32601 } } });
  });

  test('requests of the server keep their ids, numbers and strings', () => {
    expect(only('{"jsonrpc":"2.0","id":"7","method":"roots/list"}')).toMatchObject({
      kind: 'request',
      id: '7',
      method: 'roots/list',
    });
    expect(only('{"jsonrpc":"2.0","id":0,"method":"ping"}')).toMatchObject({ kind: 'request', id: 0 });
  });

  test('B091: null in optional members of an envelope counts as absent', () => {
    expect(only('{"jsonrpc":"2.0","id":null,"method":"notifications/x","params":null}')).toEqual({
      kind: 'notification',
      method: 'notifications/x',
      value: { jsonrpc: '2.0', method: 'notifications/x' },
    });
    const message = only('{"jsonrpc":"2.0","id":4,"result":{"a":1},"error":null,"method":null}');
    expect(message).toMatchObject({ kind: 'response', id: 4 });
    expect(message.kind === 'response' && message.value).toEqual({ jsonrpc: '2.0', id: 4, result: { a: 1 } });
    expect(only('{"jsonrpc":"2.0","id":4,"result":null,"error":{"code":1,"message":"m"}}')).toMatchObject({
      kind: 'response',
      value: { error: { code: 1 } },
    });
  });

  test('B005: a byte order mark in front does not hide a message', () => {
    const text = reply(2);
    const message = only(`\ufeff${text}`);
    expect(message).toMatchObject({ kind: 'response', id: 2, text });
    expect(message.kind === 'response' && message.bytes.toString()).toBe(text);
  });

  test('blanks and a CR around a message are dropped', () => {
    expect(only(` \t${reply(2)} \r`)).toMatchObject({ kind: 'response', id: 2, text: reply(2) });
  });

  test('B015: a numeric id that comes back as a string finds its call, marked', () => {
    expect(only(reply('7'))).toMatchObject({ kind: 'response', id: 7, coerced: true });
    for (const id of ['07', '-7', '7.0', ' 7', '0x7', '7e0', 'seven', '']) {
      expect(only(reply(id))).toMatchObject({ kind: 'invalid', id: null });
    }
  });
});

describe('B014: batches', () => {
  test('a single reply in an array is unwrapped, with its own exact text', () => {
    const text = '{"jsonrpc":"2.0","id":1,"result":{"n":1915883588174806058}}';
    const reading = read(`[ ${text} ]`);
    expect(reading).toMatchObject({
      kind: 'messages',
      batch: true,
      messages: [{ kind: 'response', id: 1, text }],
    });
    const [message] = reading.kind === 'messages' ? reading.messages : [];
    expect(message?.kind === 'response' && message.bytes.toString()).toBe(text);
  });

  test('a notification and a response in one array both count, what is neither does not', () => {
    const note = '{"jsonrpc":"2.0","method":"notifications/x"}';
    const reading = read(`[1,${note},null,{"log":true},${reply(9, { t: '🎉' })}]`);
    expect(reading).toMatchObject({
      batch: true,
      messages: [
        { kind: 'notification', method: 'notifications/x' },
        { kind: 'response', id: 9, text: reply(9, { t: '🎉' }) },
      ],
    });
  });

  test('an empty array is noise that says so', () => {
    expect(read('[]')).toEqual({ kind: 'noise', text: 'an empty JSON array: []' });
    expect(read('[1]')).toMatchObject({ text: 'a JSON array without messages: [1]' });
  });
});

describe('unusable answers name their call', () => {
  test.each([
    ['no jsonrpc', '{"id":5,"result":{}}', /jsonrpc member is missing/],
    ['a wrong jsonrpc', '{"jsonrpc":2.0,"id":5,"error":{"code":1,"message":"m"}}', /jsonrpc member is 2 /],
    ['jsonrpc 1.0', '{"jsonrpc":"1.0","id":"5","result":null}', /jsonrpc member is "1.0"/],
    ['result null', '{"jsonrpc":"2.0","id":5,"result":null}', /result is null/],
    ['neither', '{"jsonrpc":"2.0","id":5}', /neither a result nor an error/],
    ['both', '{"jsonrpc":"2.0","id":5,"result":{},"error":{"code":1,"message":"m"}}', /both/],
    ['a result that is text', '{"jsonrpc":"2.0","id":5,"result":"done"}', /result is "done", not an object/],
    ['a result that is a list', '{"jsonrpc":"2.0","id":5,"result":[]}', /not an object/],
    ['an error without code', '{"jsonrpc":"2.0","id":5,"error":{"message":"boom"}}', /no integer code.*boom/],
    ['a code as text', '{"jsonrpc":"2.0","id":5,"error":{"code":"1","message":"m"}}', /no integer code/],
    ['an error without message', '{"jsonrpc":"2.0","id":5,"error":{"code":1}}', /no message/],
    ['an error that is text', '{"jsonrpc":"2.0","id":5,"error":"boom"}', /error is "boom", not an object/],
    ['NaN inside', '{"jsonrpc":"2.0","id":5,"result":{"x":NaN}}', /not valid JSON/],
    ['a line cut short', '{"jsonrpc":"2.0","id":5,"result":{"content":[{"ty', /not valid JSON/],
  ])('%s', (_name, line, reason) => {
    expect(only(line)).toMatchObject({ kind: 'invalid', id: 5, reason: expect.stringMatching(reason) });
  });

  test('an error with id null answers no call, and says what the error was', () => {
    expect(only('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}')).toMatchObject(
      {
        kind: 'invalid',
        id: null,
        reason: expect.stringContaining('Parse error'),
      },
    );
  });

  test('an id that is no integer is no id of ours', () => {
    for (const id of ['1.5', '1e300', 'true', '{}', '[5]']) {
      expect(only(`{"jsonrpc":"2.0","id":${id},"result":{}}`)).toMatchObject({ kind: 'invalid', id: null });
    }
  });

  test('a broken request of the server fails no call of ours', () => {
    for (const line of [
      '{"jsonrpc":"2.0","id":5,"method":7}',
      '{"jsonrpc":"2.0","id":5,"method":"sampling/createMessage","params":{"x":NaN}}',
      '{"jsonrpc":"2.0","id":5,"params":{"x":NaN},"method":"x"}',
      '{"id":5,"method":"x","result":1}',
    ]) {
      const reading = read(line);
      expect(
        reading.kind === 'noise' || reading.messages.every((m) => m.kind === 'invalid' && m.id === null),
      ).toBe(true);
    }
  });

  test('messages that a server joined on one line are all read', () => {
    const reading = read(
      `${reply(1)} ${reply(2)}{"jsonrpc":"2.0","id":3,"result":{"x":NaN}}{"jsonrpc":"2.0","id":4,"res`,
    );
    expect(reading).toMatchObject({
      batch: false,
      messages: [
        { kind: 'response', id: 1, text: reply(1) },
        { kind: 'response', id: 2, text: reply(2) },
        { kind: 'invalid', id: 3 },
        { kind: 'invalid', id: 4 },
      ],
    });
    expect(only(`${reply(1)} done`)).toMatchObject({ kind: 'response', id: 1 });
  });
});

describe('nesting', () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
  /** The result object and the message are two levels more. */
  const line = (depth: number) => `{"jsonrpc":"2.0","id":5,"result":{"x":${nested(depth)}}}`;

  test('as deep as the limit is read, one level more is refused by id', () => {
    expect(only(line(998))).toMatchObject({ kind: 'response', id: 5 });
    expect(only(line(999))).toMatchObject({
      kind: 'invalid',
      id: 5,
      reason: 'it nests deeper than 1000 levels',
    });
  });

  test('the id is found behind the deep value too', () => {
    expect(only(`{"result":{"x":${nested(5_000)},"id":6},"jsonrpc":"2.0","id":5}`)).toMatchObject({
      kind: 'invalid',
      id: 5,
    });
  });

  test('deep noise and requests stay noise, and brackets in strings are not nesting', () => {
    expect(read(nested(5_000)).kind).toBe('noise');
    expect(read(`{"jsonrpc":"2.0","id":5,"method":"x","params":${nested(5_000)}}`).kind).toBe('noise');
    expect(only(reply(5, { text: `\\"${'['.repeat(5_000)}` }))).toMatchObject({ kind: 'response', id: 5 });
  });
});

describe('B013: LSP framing', () => {
  test.each(['Content-Length: 120', 'content-length:7\r', '\ufeffContent-Length: 1'])(
    '%j is told',
    (line) => {
      expect(looksLikeContentLength(Buffer.from(line))).toBe(true);
    },
  );
  test.each(['{"Content-Length": 5}', 'Content-Length: many', 'The Content-Length: 5', ''])(
    '%j is not',
    (line) => {
      expect(looksLikeContentLength(Buffer.from(line))).toBe(false);
    },
  );
});

describe('sniffId', () => {
  const sniff = (text: string) => sniffId(Buffer.from(text));

  test('it finds the top-level id in front of what is cut', () => {
    expect(sniff('{"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"te')).toBe(5);
    expect(sniff('{"id":5,"jsonrpc":"2.0","result":{"id":6,')).toBe(5);
    expect(sniff('\ufeff { "id" : "5" , "result":{')).toBe(5);
    expect(sniff('{"jsonrpc":"2.0","id":12,"error":{"code":1,"message":"读')).toBe(12);
  });

  test('an id inside the result is not taken for it', () => {
    expect(sniff('{"jsonrpc":"2.0","result":{"id":6,"rows":[{"id":7')).toBeUndefined();
    expect(sniff('{"result":{"text":"\\"id\\":8, \\"id\\":9","id":6')).toBeUndefined();
    expect(sniff('{"result":{},"id":5}')).toBe(5);
  });

  test('an id that may go on behind the cut is not an id', () => {
    expect(sniff('{"jsonrpc":"2.0","id":5')).toBeUndefined();
  });

  test('requests and notifications of the server, arrays and noise have none', () => {
    for (const text of [
      '{"jsonrpc":"2.0","id":5,"method":"sampling/createMessage","params":{"x":',
      '{"jsonrpc":"2.0","id":5,"params":{"x":',
      '{"jsonrpc":"2.0","id":5,"method":"roots/list","extra":{"x":',
      '{"jsonrpc":"2.0","method":"notifications/progress","params":{"id":5,',
      '[{"jsonrpc":"2.0","id":5,"result":{',
      'xxxxxxxx',
      '',
    ]) {
      expect(sniff(text)).toBeUndefined();
    }
  });
});

describe('resultSpan', () => {
  /** The result's text by characters and by bytes. */
  function resultOf(text: string): [string, string] {
    const value = JSON.parse(text) as Record<string, unknown>;
    const span = resultSpan(text, value);
    const bytes = Buffer.from(text);
    const byteSpan = resultSpanBytes(bytes, value);
    return [text.slice(span.start, span.end), bytes.toString('utf8', byteSpan.start, byteSpan.end)];
  }

  const result = '{"id":1915883588174806058,"t":"读—🎉 },\\"id\\":","n":{"result":{}}}';
  test.each([
    ['id first', `{"jsonrpc":"2.0","id":7,"result":${result}}`],
    ['result first', `{"result":${result},"jsonrpc":"2.0","id":7}`],
    ['id last', `{"jsonrpc":"2.0","result":${result},"id":7}`],
    ['id as text', `{"jsonrpc":"2.0","id":"7","result":${result}}`],
    ['with blanks', `{ "jsonrpc": "2.0", "id": 7, "result": ${result} }`],
    ['further members', `{"jsonrpc":"2.0","id":7,"extra":"读","result":${result},"more":{}}`],
    ['a member behind', `{"jsonrpc":"2.0","id":7,"result":${result},"error":null}`],
    ['two results', `{"jsonrpc":"2.0","id":7,"result":{"a":1},"result":${result}}`],
    ['two results, escaped', `{"jsonrpc":"2.0","id":7,"result":{"a":1} , "re\\u0073ult":${result}}`],
    [
      'an error between two results',
      `{"jsonrpc":"2.0","id":7,"result":{"a":1},"error":null,"result":${result}}`,
    ],
    ['two ids', `{"jsonrpc":"2.0","id":7,"result":${result},"id":{},"id":7}`],
    ['two ids in front of the tail', `{"result":${result},"id":{},"jsonrpc":"2.0","id":7}`],
    ['an escaped id in front of the tail', `{"result":${result},"\\u0069d":{},"jsonrpc":"2.0","id":7}`],
  ])('%s', (_name, text) => {
    expect(resultOf(text)).toEqual([result, result]);
  });

  test('what a tool sends inside its result cannot move the span', () => {
    const envelope = fc.constantFrom('jsonrpc', 'id', 'result', 'error', 'method', 'x');
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 3 },
        fc.integer(),
        fc.string({ unit: 'binary' }),
        tie('object'),
        fc.array(tie('any'), { maxLength: 3 }),
      ),
      object: fc.dictionary(envelope, tie('any'), { maxKeys: 4 }),
    })).object;
    fc.assert(
      fc.property(value, fc.nat(), fc.constantFrom('first', 'last', 'middle'), (object, id, place) => {
        const own = JSON.stringify(object);
        const text = {
          first: `{"result":${own},"jsonrpc":"2.0","id":${id}}`,
          last: `{"jsonrpc":"2.0","id":${id},"result":${own}}`,
          middle: `{"jsonrpc":"2.0","result":${own},"id":${id}}`,
        }[place];
        expect(resultOf(text)).toEqual([own, own]);
      }),
      { numRuns: 500 },
    );
  });

  test('a message without a result is a SyntaxError', () => {
    expect(() => resultSpan('{"id":1}', { id: 1 })).toThrow(SyntaxError);
  });
});
