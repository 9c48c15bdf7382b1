import { describe, expect, test } from 'vitest';
import {
  compose,
  parsePair,
  type ReadText,
  readArgsOption,
  readPairs,
} from '../../packages/cli/src/arguments.js';
import { parseTarget } from '../../packages/cli/src/target.js';
import { validate } from '../../packages/cli/src/validate.js';

const noFiles: ReadText = async (path) => {
  throw new Error(`no file ${path}`);
};

describe('one pair', () => {
  test.each([
    ['a=b', { name: 'a', isJson: false, isFile: false, text: 'b' }],
    ['a=', { name: 'a', isJson: false, isFile: false, text: '' }],
    ['a=b=c', { name: 'a', isJson: false, isFile: false, text: 'b=c' }],
    ['a:={"x":"="}', { name: 'a', isJson: true, isFile: false, text: '{"x":"="}' }],
    ['a=@notes.txt', { name: 'a', isJson: false, isFile: true, text: 'notes.txt' }],
    ['a:=@data.json', { name: 'a', isJson: true, isFile: true, text: 'data.json' }],
    ['url=http://x/?q=1:=2', { name: 'url', isJson: false, isFile: false, text: 'http://x/?q=1:=2' }],
  ])('%s', (text, pair) => {
    expect(parsePair(text)).toEqual(pair);
  });

  test('text without a key is refused and shown, JSON without quotes with a hint (B169)', () => {
    expect(() => parsePair('hello')).toThrow(/expected key=value.*received `hello`/);
    expect(() => parsePair('=5')).toThrow(/received `=5`/);
    expect(() => parsePair('{a:1}')).toThrow(/received `\{a:1\}`.*--args.*PowerShell/);
  });
});

describe('--args', () => {
  test('is JSON, a file or stdin; a byte order mark and CRLF do no harm (B169)', async () => {
    const read: ReadText = async (path) =>
      path === '-' ? '{"from":"stdin"}' : '\ufeff{\r\n"from": "file"\r\n}\r\n';
    expect(await readArgsOption('{"a":1}', read)).toBe('{"a":1}');
    expect(compose(await readArgsOption('@f.json', read), [], {})).toBe('{"from":"file"}');
    expect(await readArgsOption('-', read)).toBe('{"from":"stdin"}');
  });

  test('an error shows what was received and names the shells that strip quotes (B169)', async () => {
    await expect(readArgsOption('{a:1}', noFiles)).rejects.toThrow(
      /--args: not JSON.*Received `\{a:1\}`.*PowerShell and cmd/s,
    );
    await expect(readArgsOption('[1]', noFiles)).rejects.toThrow(/expected a JSON object, received `\[1\]`/);
  });
});

describe('together', () => {
  const schema = { properties: { n: { type: 'integer' }, s: { type: 'string' } } };

  test('pairs win over --args, values are coerced, digits stay (B094)', () => {
    const base = '{"n": 1915883588174806058, "s": "old", "deep": {"id": 9007199254740993}}';
    expect(compose(base, [parsePair('s=007')], schema)).toBe(
      '{"n":1915883588174806058,"s":"007","deep":{"id": 9007199254740993}}',
    );
    expect(compose(undefined, [parsePair('n=1915883588174806058')], schema)).toBe(
      '{"n":1915883588174806058}',
    );
    expect(compose(undefined, [parsePair('n:= 9007199254740993 ')], schema)).toBe('{"n":9007199254740993}');
  });

  test('no arguments are an empty object, and line breaks never reach the frame', () => {
    expect(compose(undefined, [], schema)).toBe('{}');
    expect(compose('{"a":[\n1,\r\n2]}', [], schema)).not.toMatch(/[\r\n]/);
  });

  test('the content of a file is the value', async () => {
    const pairs = await readPairs([parsePair('s=@f'), parsePair('n=@f')], async () => '12');
    expect(compose(undefined, pairs, schema)).toBe('{"s":"12","n":12}');
  });

  test('names from the command line are only names', () => {
    const json = compose(undefined, [parsePair('__proto__=x'), parsePair('constructor=y')], schema);
    expect(json).toBe('{"__proto__":"x","constructor":"y"}');
  });

  test('a name given twice and JSON that is none are refused', () => {
    expect(() => compose(undefined, [parsePair('a=1'), parsePair('a=2')], {})).toThrow(/"a" is given twice/);
    expect(() => compose(undefined, [parsePair('a:={x}')], {})).toThrow(/argument "a": not JSON.*`\{x\}`/s);
  });
});

describe('the target', () => {
  const unknown = (name: string): Error => new Error(`unknown ${name}`);

  test('the longest server name wins, and tools may hold dots', () => {
    expect(parseTarget('a.b.c', ['a', 'a.b'], unknown)).toEqual({ server: 'a.b', tool: 'c' });
    expect(parseTarget('a.x.y', ['a', 'a.b'], unknown)).toEqual({ server: 'a', tool: 'x.y' });
  });

  test('a full name leads to the servers that it may belong to', () => {
    expect(parseTarget('mcp__a__t', ['a', 'b'], unknown)).toEqual({
      fullName: 'mcp__a__t',
      candidates: ['a'],
    });
    expect(parseTarget('mcp__odd__t', ['a', 'b'], unknown)).toMatchObject({ candidates: ['a', 'b'] });
  });

  test('an unknown server and another shape are told apart', () => {
    expect(() => parseTarget('x.y', ['a'], unknown)).toThrow('unknown x');
    expect(() => parseTarget('a', ['a'], unknown)).toThrow(/expected <server>\.<tool>/);
    expect(() => parseTarget('a.', ['a'], unknown)).toThrow(/expected <server>\.<tool>/);
  });
});

describe('validation', () => {
  const schema = {
    type: 'object',
    properties: { n: { type: 'integer' } },
    required: ['n'],
    additionalProperties: false,
  };

  test('names what does not fit and where', async () => {
    expect(await validate({ n: 1 }, schema)).toEqual({ is: 'valid' });
    expect(await validate({ n: '1', x: 2 }, schema)).toEqual({
      is: 'invalid',
      problems: ['arguments: unknown property "x"', '"n": must be integer'],
    });
    expect(await validate({}, schema)).toMatchObject({ problems: [expect.stringContaining("'n'")] });
  });

  test('`$schema` chooses the dialect', async () => {
    const tuple = { type: 'object', properties: { p: { type: 'array', items: [{ type: 'integer' }] } } };
    const draft7 = { ...tuple, $schema: 'http://json-schema.org/draft-07/schema#' };
    expect(await validate({ p: ['x'] }, draft7)).toMatchObject({ is: 'invalid' });
    const modern = { type: 'object', properties: { p: { prefixItems: [{ type: 'integer' }] } } };
    expect(await validate({ p: ['x'] }, modern)).toMatchObject({ is: 'invalid' });
  });

  test('a schema that cannot be used is skipped, with the reason', async () => {
    expect(await validate({}, { $schema: 'https://example.org/other' })).toMatchObject({ is: 'skipped' });
    expect(await validate({}, { $ref: 'https://example.org/remote.json' })).toMatchObject({
      is: 'skipped',
      why: expect.stringContaining('remote.json'),
    });
  });
});
