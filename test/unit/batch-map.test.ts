import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import type { InputLine } from '../../packages/runtime/src/batch/lines.js';
import { type MapFormat, mapInput } from '../../packages/runtime/src/batch/mapped-input.js';
import { parseRecord } from '../../packages/runtime/src/batch/record.js';
import { ArgumentTemplate } from '../../packages/runtime/src/batch/template.js';

const columns = new Map([
  ['name', '"Ada \\"L\\""'],
  ['n', '42'],
  ['big', '1915883588174806058'],
  ['tags', '["a","b"]'],
  ['none', 'null'],
  ['digits', '"007"'],
  ['amount', '"12.50"'],
  ['list', '"[1, 2]"'],
]);
const fill = (template: object): string => new ArgumentTemplate(JSON.stringify(template)).fill(columns);

describe('a template', () => {
  test.each([
    [{ a: '{{name}}' }, '{"a":"Ada \\"L\\""}'],
    [{ a: 'Hi {{ name }}, {{n}}!' }, '{"a":"Hi Ada \\"L\\", 42!"}'],
    [
      { a: '{{big}}', b: ['{{tags}}', { c: '{{none}}' }] },
      '{"a":1915883588174806058,"b":[["a","b"],{"c":null}]}',
    ],
    [{ a: '{{digits}}', b: '{{amount:number}}', c: '{{list:json}}' }, '{"a":"007","b":12.50,"c":[1, 2]}'],
    [{ a: 'no {placeholder}', b: 7, c: true, d: null }, '{"a":"no {placeholder}","b":7,"c":true,"d":null}'],
  ])('%j', (template, json) => {
    expect(fill(template)).toBe(json);
  });

  test.each([
    [{ a: '{{nobody}}' }, /asks for the column "nobody", the columns are: name, n/],
    [{ a: '{{digits:number}}' }, /column "digits": expected a number, got "007"/],
    [{ a: '{{name:json}}' }, /column "name": expected JSON/],
  ])('%j is refused with the column', (template, message) => {
    expect(() => fill(template)).toThrow(message);
  });

  test.each(['[1]', '"x"', '{oops'])('%s is no template', (text) => {
    expect(() => new ArgumentTemplate(text)).toThrow(/the template/);
  });
});

async function map(
  text: string,
  template: object,
  format?: MapFormat,
  pieceBytes = 1_000_000,
): Promise<InputLine[]> {
  const bytes = Buffer.from(text);
  const pieces = Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, index) =>
    bytes.subarray(index * pieceBytes, (index + 1) * pieceBytes),
  );
  const lines: InputLine[] = [];
  const input = Readable.from(pieces);
  const source = mapInput({ input, format, template: JSON.stringify(template), server: 's', tool: 't' });
  for await (const some of source) lines.push(...some);
  return lines;
}

const argumentsOf = ({ text }: InputLine): unknown => {
  const record = parseRecord(text ?? '');
  return record.kind === 'call' ? JSON.parse(record.arguments) : record;
};

describe('records as lines', () => {
  const csv = '\ufeffid,name,note\r\n1,Ada,"two\r\nlines, and a ""quote"""\r\n\r\n2,Grace Hopper,ä€😀\r\n';

  test.each([1, 3, 1_000])('CSV in pieces of %i bytes', async (pieceBytes) => {
    const lines = await map(csv, { who: '{{name}}', text: '{{note}}' }, undefined, pieceBytes);
    expect(lines.map(({ line }) => line)).toEqual([1, 2]);
    expect(lines.map(argumentsOf)).toEqual([
      { who: 'Ada', text: 'two\r\nlines, and a "quote"' },
      { who: 'Grace Hopper', text: 'ä€😀' },
    ]);
    expect(parseRecord(lines[1]?.text ?? '')).toMatchObject({
      kind: 'call',
      id: '"2"',
      server: 's',
      tool: 't',
    });
  });

  test('a row with too many or too few fields is one bad line', async () => {
    const lines = await map('a,b\n1,2\n1\n1,2,3\n3,4\n', { a: '{{a:number}}' }, 'csv');
    expect(lines.map(({ problem }) => problem)).toEqual([
      undefined,
      'the row has 1 fields, the row of names 2',
      'the row has 3 fields, the row of names 2',
      undefined,
    ]);
  });

  test('a column that the file does not have ends it at once', async () => {
    await expect(map('a,b\n1,2\n', { x: '{{c}}' })).rejects.toThrow(
      'asks for the column "c", the columns are: a, b',
    );
  });

  test('tabs, and a column with the name of a member that every object has', async () => {
    const [line] = await map(
      '__proto__\tconstructor\nx\ty\n',
      { a: '{{__proto__}}', b: '{{constructor}}' },
      'tsv',
    );
    expect(line === undefined ? undefined : argumentsOf(line)).toEqual({ a: 'x', b: 'y' });
  });

  test('JSON Lines keep their numbers, digits and mistakes', async () => {
    const lines = await map('{"id":7,"n":1915883588174806058}\n\n[1]\n{"n":2\n{"id":8}\n', { n: '{{n}}' });
    expect(lines.map(({ line }) => line)).toEqual([1, 3, 4, 5]);
    expect(lines[0]?.text).toContain('"arguments":{"n":1915883588174806058}');
    expect(lines.map(({ problem }) => problem?.slice(0, 17))).toEqual([
      undefined,
      'not a JSON object',
      'not a JSON object',
      'the template asks',
    ]);
  });
});
