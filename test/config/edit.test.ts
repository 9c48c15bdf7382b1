/** Edits of config files: exact bytes before and after, on real files. */
import { writeFileSync } from 'node:fs';
import { chmod, lstat, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { editConfigFile } from '../../packages/runtime/src/config/edit.js';
import { useTempDir } from '../support/temp-dir.js';

const path = useTempDir();
const entry = { command: 'node', args: ['s.js', '--x'], env: { A: `\${A}` } };

async function edited(
  text: string | Uint8Array,
  change: Parameters<typeof editConfigFile>[1],
): Promise<string> {
  const file = path('mcp.json');
  await writeFile(file, text);
  await editConfigFile(file, change);
  return readFile(file, 'latin1');
}

const adding = (name = 'new', value: object = entry) => {
  const set = new Map([[name, value as Record<string, unknown>]]);
  return () => ({ set });
};
const removing = (name: string) => () => ({ remove: [name] });

const commented = `{
  // our servers
  "mcpServers": {
    "a": { "command": "a",   "args": ["1", "2"] }, // the first
    /* second */
    "b": {
      "command": "b" // no comma here
    } // behind b
  },
  "theirs": [1,2,   3], // kept
}
`;

describe('adding', () => {
  it('changes nothing but its own lines: comments, order, spacing and unknown keys stay (B110)', async () => {
    const after = await edited(commented, adding());
    expect(after).toBe(
      commented.replace(
        '    } // behind b\n',
        `    }, // behind b
    "new": {
      "command": "node",
      "args": ["s.js", "--x"],
      "env": {
        "A": "\${A}"
      }
    }
`,
      ),
    );
  });

  it('then removing gives the bytes of before', async () => {
    for (const text of [
      '{"mcpServers":{"a":{"command":"a"}}}',
      '{ "mcpServers": { "a": { "command": "a" } } }\n',
      '{\n\t"mcpServers": {\n\t\t"a": {"command": "a"}\n\t}\n}',
      '{\r\n    "mcpServers": {\r\n        "a": {"command": "a"},\r\n    },\r\n}\r\n',
      '\u00ef\u00bb\u00bf{\n  "x": 1,\n  "mcpServers": {}\n}\n',
      '{\n  "mcpServers": {\n    // none yet\n  }\n}\n',
    ]) {
      const bytes = Buffer.from(text, 'latin1');
      expect(await edited(bytes, adding())).not.toBe(text);
      await editConfigFile(path('mcp.json'), removing('new'));
      expect(await readFile(path('mcp.json'), 'latin1')).toBe(text);
    }
  });

  it('takes over indentation, line ends, byte order mark and a trailing comma', async () => {
    const tabs = await edited(
      '\ufeff{\r\n\t"mcpServers": {\r\n\t\t"a": 1,\r\n\t},\r\n}',
      adding('n', { url: 'u' }),
    );
    expect(tabs.startsWith('\u00ef\u00bb\u00bf{')).toBe(true);
    expect(tabs).toContain('\t\t"n": {\r\n\t\t\t"url": "u"\r\n\t\t},\r\n\t}');
    expect(tabs.replaceAll('\r\n', '')).not.toContain('\n');
  });

  it('keeps UTF-16 as UTF-16 (B109)', async () => {
    const text = '\ufeff{"mcpServers": {"a": {"command": "ä"}}}';
    await edited(Buffer.from(text, 'utf16le'), adding('n', { url: 'u' }));
    expect((await readFile(path('mcp.json'))).toString('utf16le')).toBe(
      '\ufeff{"mcpServers": {"a": {"command": "ä"}, "n": {"url": "u"}}}',
    );
  });

  it('stays on one line where everything does', async () => {
    expect(await edited('{"mcpServers":{"a":{"command":"a"}}}', adding('n', { url: 'u' }))).toBe(
      '{"mcpServers":{"a":{"command":"a"},"n":{"url":"u"}}}',
    );
  });

  it('makes the section where there is none, and the file with its directory', async () => {
    expect(await edited('{\n  "hooks": {}\n}\n', adding('n', { url: 'u' }))).toBe(
      '{\n  "hooks": {},\n  "mcpServers": {\n    "n": {\n      "url": "u"\n    }\n  }\n}\n',
    );
    const report = await editConfigFile(path('deep', 'er', 'mcp.json'), adding('n', { url: 'u' }));
    expect(report).toEqual({ created: true, written: true });
    expect(await readFile(path('deep', 'er', 'mcp.json'), 'utf8')).toBe(
      '{\n  "mcpServers": {\n    "n": {\n      "url": "u"\n    }\n  }\n}\n',
    );
    expect((await stat(path('deep', 'er', 'mcp.json'))).mode & 0o777).toBe(0o600);
  });

  it('replaces an entry where it stands', async () => {
    expect(await edited(commented, adding('a', { url: 'u' }))).toBe(
      commented.replace('{ "command": "a",   "args": ["1", "2"] }', '{\n      "url": "u"\n    }'),
    );
  });

  it('writes any name as a name', async () => {
    const text = await edited(
      '{"mcpServers":{}}',
      adding('__proto__', { url: 'u', env: new Map([['constructor', 'x']]) }),
    );
    expect(text).toContain('"__proto__"');
    expect(text).toContain('"constructor": "x"');
    await editConfigFile(path('mcp.json'), removing('__proto__'));
    expect(await readFile(path('mcp.json'), 'utf8')).toBe('{"mcpServers":{}}');
  });
});

describe('removing', () => {
  it('takes the entry and its line, and no comment of another', async () => {
    expect(await edited(commented, removing('a'))).toBe(
      commented.replace('"a": { "command": "a",   "args": ["1", "2"] }, // the first', '// the first'),
    );
    expect(await edited(commented, removing('b'))).toBe(
      commented
        .replace('"2"] }, // the first', '"2"] } // the first')
        .replace('"b": {\n      "command": "b" // no comma here\n    } // behind b', '// behind b'),
    );
  });

  it('takes both of two entries of one name: the first must not come back', async () => {
    const text = await edited(
      '{"mcpServers": {"a": {"url": "1"}, "b": {"url": "2"}, "a": {"url": "3"}}}',
      removing('a'),
    );
    expect(text).toBe('{"mcpServers": {"b": {"url": "2"}}}');
  });

  it('of what is not there writes nothing', async () => {
    const before = await edited(commented, removing('c'));
    expect(before).toBe(commented);
  });
});

describe('the file', () => {
  it.each([
    ['empty', '', /is empty/],
    ['cut off', '{"mcpServers": {"a": {"command": "a"', /:1: .*ends in the middle/],
    ['no object', '[1]', /expected an object/],
    ['no JSON', '{"mcpServers": {\n"a": {command: "x"}}}', /:2: not valid JSON/],
    ['of another kind', '{"mcpServers": []}', /expected `mcpServers` to be an object/],
    ['no text', Buffer.from([0xc3, 0x28, 0x80]), /not UTF-8/],
  ])('that is %s is left as it is (B109)', async (_, content, message) => {
    const file = path('mcp.json');
    await writeFile(file, content);
    await expect(editConfigFile(file, adding())).rejects.toMatchObject({
      code: 'BAD_CONFIG',
      message: expect.stringMatching(message),
    });
    expect(await readFile(file)).toEqual(Buffer.from(content as string));
  });

  it('keeps its mode, and a link stays a link', async () => {
    const real = path('real.json');
    await writeFile(real, '{"mcpServers":{}}');
    await chmod(real, 0o640);
    await symlink(real, path('mcp.json'));
    await editConfigFile(path('mcp.json'), adding());
    expect((await lstat(path('mcp.json'))).isSymbolicLink()).toBe(true);
    expect((await stat(real)).mode & 0o777).toBe(0o640);
    expect(await readFile(real, 'utf8')).toContain('"new"');
    expect((await readdir(path())).sort()).toEqual(['mcp.json', 'real.json']);
  });

  it('that a link names is made when it is not there yet', async () => {
    await mkdir(path('elsewhere'));
    await symlink(join('elsewhere', 'real.json'), path('mcp.json'));
    await editConfigFile(path('mcp.json'), adding());
    expect(await readFile(path('elsewhere', 'real.json'), 'utf8')).toContain('"new"');
  });

  it('that another program changes meanwhile loses nothing of that change', async () => {
    const file = path('mcp.json');
    await writeFile(file, '{"mcpServers":{}}');
    await editConfigFile(file, (names) => {
      writeFileSync(file, '{"mcpServers":{"theirs":{"url":"t"}}}');
      expect(names.has('mine')).toBe(false);
      return { set: new Map([['mine', { url: 'm' }]]) };
    });
    expect(await readFile(file, 'utf8')).toBe('{"mcpServers":{"theirs":{"url":"t"},"mine":{"url":"m"}}}');
  });

  it('that never stands still is given up on, unwritten', async () => {
    const file = path('mcp.json');
    await writeFile(file, '{"mcpServers":{}}');
    let round = 0;
    const change = () => {
      writeFileSync(file, `{"mcpServers":{"r${++round}":{"url":"t"}}}`);
      return { set: new Map([['mine', { url: 'm' }]]) };
    };
    await expect(editConfigFile(file, change)).rejects.toThrow(/changed by another program/);
    expect(await readFile(file, 'utf8')).toBe(`{"mcpServers":{"r${round}":{"url":"t"}}}`);
    expect(await readdir(path())).toEqual(['mcp.json']);
  });

  it('takes twenty additions at the same time, all of them', async () => {
    const file = path('mcp.json');
    const names = Array.from({ length: 20 }, (_, index) => `s${index}`);
    await Promise.all(names.map((name) => editConfigFile(file, adding(name))));
    const { mcpServers } = JSON.parse(await readFile(file, 'utf8')) as { mcpServers: object };
    expect(Object.keys(mcpServers).sort()).toEqual([...names].sort());
  });
});
