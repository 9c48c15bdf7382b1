import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { useCensus } from '../support/census.js';
import { pidFrom, recorded } from '../support/record.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';
import { run, start, writeConfig } from './cli.js';

const { watch } = useCensus();
const path = useTempDir();

const tools = [
  {
    name: 'read',
    description: 'Reads it.\nMore.',
    inputSchema: { type: 'object' },
    annotations: { readOnlyHint: true },
  },
  { name: 'write', description: 'Writes \u001b[31mit\u001b[0m.', inputSchema: { type: 'object' } },
];

describe('the list', () => {
  test('is a table of server, tool, mark and the first line of the description', async () => {
    const config = writeConfig(path('c.json'), {
      b: scripted({ tools }),
      a: scripted({ toolCount: 1, tools: [] }),
    });
    const ended = await run(['tools', '-c', config]);
    expect(ended.code).toBe(0);
    const rows = ended.stdout
      .trimEnd()
      .split('\n')
      .map((row) => row.split(/ {2,}/));
    expect(rows[0]).toEqual(['server', 'tool', 'mark', 'description']);
    expect(rows.find(([server, tool]) => server === 'b' && tool === 'read')).toEqual([
      'b',
      'read',
      'read-only',
      'Reads it.',
    ]);
    expect(rows.some(([server, tool]) => server === 'a' && tool === 'tool_1')).toBe(true);
    expect(ended.stdout).not.toContain('\u001b');
  });

  test('with --json is an array of whole definitions', async () => {
    const config = writeConfig(path('c.json'), { b: scripted({ tools }) });
    const ended = await run(['tools', 'b', '--json', '-c', config]);
    expect(JSON.parse(ended.stdout)).toEqual([
      {
        server: 'b',
        name: 'read',
        fullName: 'mcp__b__read',
        description: 'Reads it.\nMore.',
        inputSchema: { type: 'object' },
        annotations: { readOnlyHint: true },
      },
      expect.objectContaining({ name: 'write', fullName: 'mcp__b__write' }),
    ]);
    expect(ended.stderr).toBe('');
  });
});

describe('a server that is not ready', () => {
  test('is named on stderr and costs the others nothing', async () => {
    const config = writeConfig(path('c.json'), {
      ok: scripted({ tools }),
      gone: { command: 'no-such-program' },
    });
    const ended = await run(['tools', '-c', config]);
    expect(ended.code).toBe(0);
    expect(ended.stdout).toContain('read');
    expect(ended.stderr).toMatch(/server "gone" is not ready.*no-such-program/);
  });

  test('gives exit 4 when it is the one asked for, or when there is no other', async () => {
    const config = writeConfig(path('c.json'), {
      ok: scripted({ tools }),
      gone: { command: 'no-such-program' },
    });
    expect(await run(['tools', 'gone', '-c', config])).toMatchObject({ code: 4, stdout: '' });
    const alone = writeConfig(path('d.json'), { gone: { command: 'no-such-program' } });
    expect(await run(['tools', '--json', '-c', alone])).toMatchObject({ code: 4, stdout: '[]\n' });
  });

  test('that is unknown gives exit 1', async () => {
    const config = writeConfig(path('c.json'), { ok: scripted({ tools }) });
    expect(await run(['tools', 'ko', '-c', config])).toMatchObject({ code: 1, stdout: '' });
  });

  test('is left behind by nobody: an interrupt during its start ends it (B173)', async () => {
    const slow = scripted({
      record: path('record'),
      pidFile: path('pid'),
      rules: [{ method: 'initialize', reply: null }],
    });
    const running = start(['tools', '-c', writeConfig(path('c.json'), { slow })]);
    await recorded(path('record'), ({ methods }) => methods.includes('initialize'));
    running.child.kill('SIGINT');
    expect(await running.ended).toMatchObject({ code: 130, stdout: '' });
    watch(await pidFrom(path('pid')));
  });
});

describe('help and version', () => {
  test('print to stdout and end with 0', async () => {
    const manifest = JSON.parse(
      readFileSync(new URL('../../packages/cli/package.json', import.meta.url), 'utf8'),
    ) as { version: string };
    expect(await run(['--version'])).toMatchObject({ code: 0, stdout: `${manifest.version}\n`, stderr: '' });
    const help = await run(['--help']);
    expect(help).toMatchObject({ code: 0, stderr: '' });
    for (const command of ['batch', 'tools', 'call']) expect(help.stdout).toContain(command);
    expect((await run(['batch', '--help'])).stdout).toContain('--concurrency');
  });
});
