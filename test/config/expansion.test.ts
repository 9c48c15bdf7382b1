/** Variables and the tilde, in the function and in every field that takes them. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expand, expandTilde } from '../../packages/runtime/src/config/expand.js';
import { configDirectory, loadServers, names, problemOf, remoteOf, stdioOf } from './directory.js';

const variables = new Map([
  ['A', 'one'],
  ['B', 'two'],
  ['EMPTY', ''],
  ['REF', `\${A}`],
  ['CLOSE', '}'],
]);
const lookup = (name: string) => variables.get(name);

describe('expand()', () => {
  it.each([
    ['nothing to do', 'nothing to do'],
    [`\${A}`, 'one'],
    [`<\${A}-\${B}>`, '<one-two>'],
    [`\${env:A}`, 'one'],
    [`\${EMPTY}`, ''],
    [`\${A:-other}`, 'one'],
    [`\${NO:-other}`, 'other'],
    [`\${EMPTY:-other}`, 'other'],
    [`\${NO:-}`, ''],
    [`\${NO:-http://h:80/x}`, 'http://h:80/x'],
    [`\${NO:-:-}`, ':-'],
    [`\${NO:-\${A}}`, 'one'],
    [`\${NO:-a\${NO2:-b\${B}c}d}e`, 'abtwocde'],
    [`\${NO:-{"a":1}`, '{"a":1'],
    [`\${REF}`, `\${A}`],
    [`\${NO:-\${REF}}`, `\${A}`],
    [`\${NO:-\${CLOSE}x}y`, '}xy'],
    ['$A $$ $1 {A}', '$A $$ $1 {A}'],
    [`$\${A}`, '$one'],
  ])('%s becomes %s', (text, expected) => {
    expect(expand(text, lookup)).toMatchObject({ text: expected, missing: [], unknown: [] });
  });

  it('lists what is not set, and what is empty without a default', () => {
    expect(expand(`\${NO}\${A}\${NO2}\${EMPTY}`, lookup)).toMatchObject({
      missing: ['NO', 'NO2'],
      empty: ['EMPTY'],
    });
    expect(expand(`\${NO:-\${NO2}}`, lookup).missing).toEqual(['NO2']);
  });

  it('a default that is not used may need what is not set', () => {
    expect(expand(`\${A:-\${NO}}`, lookup)).toMatchObject({ text: 'one', missing: [] });
  });

  it.each([`\${}`, `\${1}`, `\${#A}`, `\${A%x}`, `\${A-x}`, `\${a b}`, `\${A`, `\${NO:-x`, `\${input:key}`])(
    '%s is no reference and stays as it is',
    (text) => {
      expect(expand(text, lookup)).toMatchObject({ text, missing: [], unknown: [text] });
    },
  );

  it('texts without "${" never change, and values are never looked into', () => {
    const anyText = fc.string({ unit: fc.constantFrom('$', '{', '}', ':', '-', 'A', '~', ' ') });
    fc.assert(
      fc.property(anyText, anyText, anyText, (before, value, after) => {
        fc.pre(!before.includes('${') && !`${before}$`.endsWith('$$') && !after.includes('${'));
        const found = expand(`${before}\${V}${after}`, (name) => (name === 'V' ? value : undefined));
        expect(found.text).toBe(before + value + after);
        expect(expand(before, lookup).text).toBe(before);
      }),
    );
  });

  it('hostile nesting ends soon, and is left as it is', () => {
    const open = `\${NO:-`.repeat(100_000);
    expect(expand(open, lookup).text).toBe(open);
    const found = expand(`${open}x${'}'.repeat(100_000)}`, lookup);
    expect(found.unknown.length).toBeGreaterThan(0);
    expect(found.unknown.every((text) => text.length <= 61)).toBe(true);
  });
});

describe('B114: the tilde', () => {
  it.each([
    ['~', '/home/me'],
    ['~/x', '/home/me/x'],
    ['a~b', 'a~b'],
    ['~user/x', '~user/x'],
    ['/~/x', '/~/x'],
  ])('%s is %s', (text, expected) => {
    expect(expandTilde(text, '/home/me')).toBe(expected);
  });

  it('counts in command and cwd, and nowhere else', async () => {
    const directory = await configDirectory({
      project: { mcpServers: { s: { command: '~/bin/s', cwd: '~/work', args: ['~/x'], env: { D: '~/y' } } } },
    });
    const { command, cwd, args, env } = stdioOf(await directory.load(), 's');
    expect({ command, cwd, args }).toEqual({
      command: `${directory.home}/bin/s`,
      cwd: `${directory.home}/work`,
      args: ['~/x'],
    });
    expect(env).toContainEqual(['D', '~/y']);
  });
});

describe('B111: variables in an entry', () => {
  it('expand in every field that runs or reaches something', async () => {
    const config = await loadServers(
      {
        local: { command: `\${V}`, args: [`-\${V}`], env: { E: `\${V}` }, cwd: `/\${V}` },
        remote: { url: `https://\${V}.example/`, headers: { H: `Bearer \${V}` } },
      },
      { V: 'val' },
    );
    expect(stdioOf(config, 'local')).toMatchObject({ command: 'val', args: ['-val'], cwd: '/val' });
    expect(stdioOf(config, 'local').env).toContainEqual(['E', 'val']);
    expect(remoteOf(config, 'remote')).toEqual({
      type: 'http',
      url: 'https://val.example/',
      headers: [['H', 'Bearer val']],
    });
  });

  it.each<[string, Record<string, unknown>]>([
    ['command', { command: `\${TOKEN}` }],
    ['args.1', { command: 'x', args: ['a', `\${TOKEN}`] }],
    ['env.KEY', { command: 'x', env: { KEY: `\${TOKEN}` } }],
    ['cwd', { command: 'x', cwd: `\${TOKEN}/x` }],
    ['url', { url: `https://\${TOKEN}/` }],
    ['headers.Authorization', { url: 'https://h/', headers: { Authorization: `Bearer \${TOKEN}` } }],
  ])('an unset variable in %s fails that server only, naming both', async (field, entry) => {
    const config = await loadServers({ s: entry, good: { command: 'node' } });
    expect(names(config)).toEqual(['good']);
    expect(problemOf(config, 's')).toMatchObject({
      severity: 'error',
      field,
      message: 'the variable TOKEN is not set',
      hint: `set TOKEN, or give a default: \${TOKEN:-…}`,
    });
  });

  it('a default, also an empty one, makes the server run', async () => {
    const headers = { A: `\${NO:-anonymous}`, B: `x\${NO:-}`, C: `\${NO:-{"a":"b:c\${NO:-}"}}` };
    const config = await loadServers({ s: { url: 'https://h/', headers } });
    expect(config.problems).toEqual([]);
    expect(remoteOf(config, 's').headers).toEqual([
      ['A', 'anonymous'],
      ['B', 'x'],
      ['C', '{"a":"b:c"}'],
    ]);
  });

  it('a variable that is set but empty is a warning in a header', async () => {
    const config = await loadServers({ s: { url: 'https://h/', headers: { A: `\${T}` } } }, { T: '' });
    expect(problemOf(config, 's')).toMatchObject({ severity: 'warning', message: 'the variable T is empty' });
  });

  it('a form we do not know is an error in a header and a warning in arguments', async () => {
    const config = await loadServers({
      remote: { url: 'https://h/', headers: { A: `\${my-token}` } },
      shell: { command: 'sh', args: ['-c', `echo \${1%x} $HOME`] },
      input: { command: 'x', env: { K: `\${input:key}` } },
    });
    expect(problemOf(config, 'remote').severity).toBe('error');
    expect(problemOf(config, 'input')).toMatchObject({
      severity: 'error',
      hint: `only an editor asks for inputs: write \${KEY} and set that variable`,
    });
    expect(problemOf(config, 'shell').severity).toBe('warning');
    expect(stdioOf(config, 'shell').args[1]).toBe(`echo \${1%x} $HOME`);
  });

  it('messages show texts as written, never the values', async () => {
    const config = await loadServers(
      { a: { url: `\${SECRET}` }, b: { command: `\${SECRET} x` }, c: { url: `ws://\${SECRET}/` } },
      { SECRET: 'hunter2' },
    );
    expect(config.rejected).toHaveLength(3);
    expect(JSON.stringify(config.problems)).not.toContain('hunter2');
  });
});
