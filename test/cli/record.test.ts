import { readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { useCensus } from '../support/census.js';
import { eventually } from '../support/eventually.js';
import { pidFrom } from '../support/record.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';
import { mainPath, parseLines, run, start, writeConfig, writeLines } from './cli.js';

const { watch } = useCensus();
const path = useTempDir();
const rawServer = fileURLToPath(new URL('./raw-server.mjs', import.meta.url));

interface Line {
  at: string;
  server: string;
  generation: number;
  direction: 'in' | 'out';
  message?: { id?: number; method?: string; params?: { name?: string }; result?: unknown };
  noise?: string;
}

function honest(script: Parameters<typeof scripted>[0] = {}): string {
  return writeConfig(path('c.json'), {
    s: { ...scripted({ pidFile: path('pid'), ...script }), env: { API_KEY: 'never-written' } },
  });
}

const lines = (): Line[] => parseLines<Line>(readFileSync(path('out.jsonl'), 'utf8'));

/** The recording as a server of a config, by itself. */
function replayed(...args: string[]): string {
  return writeConfig(path('r.json'), {
    s: { command: process.execPath, args: [mainPath, 'replay', path('out.jsonl'), ...args] },
  });
}

describe('bulkhead record', () => {
  test('writes every message of both ways, for this user alone, and ends as the command does', async () => {
    const ended = await run([
      'record',
      '--out',
      path('out.jsonl'),
      '--',
      'call',
      's.fail',
      'text=full',
      '-c',
      honest(),
    ]);
    expect(ended).toMatchObject({ code: 5, stdout: 'full\n' });
    expect(ended.stderr).toContain('recorded to');
    expect(statSync(path('out.jsonl')).mode & 0o777).toBe(0o600);
    const all = lines();
    expect(
      all.every(
        ({ server, generation, at }) => server === 's' && generation === 1 && !Number.isNaN(Date.parse(at)),
      ),
    ).toBe(true);
    const call = all.find(({ message }) => message?.method === 'tools/call');
    expect(call).toMatchObject({ direction: 'out', message: { params: { name: 'fail' } } });
    const answer = all.find(
      ({ direction, message }) => direction === 'in' && message?.id === call?.message?.id,
    );
    expect(answer?.message?.result).toMatchObject({ isError: true });
    watch(await pidFrom(path('pid')));
  });

  test('no environment, no member that is named like a secret; noise is told as noise', async () => {
    const config = honest({
      wire: { noise: ['a banner'] },
      tools: [{ name: 'sign', inputSchema: { type: 'object' } }],
    });
    const args =
      '{"password":"ab\\"hunter","nested":{"apiKey":"k-1"},"cursor":"kept","count":1915883588174806059}';
    await run(['record', '--out', path('out.jsonl'), '--', 'call', 's.sign', '--args', args, '-c', config]);
    const text = readFileSync(path('out.jsonl'), 'utf8');
    for (const secret of ['never-written', 'hunter', 'k-1']) expect(text).not.toContain(secret);
    expect(text).toContain('"password":"***"');
    expect(text).toContain('"cursor":"kept","count":1915883588174806059');
    expect(lines().some(({ noise }) => noise === 'a banner')).toBe(true);
  });

  test('over HTTP the messages of both ways, and no header', async () => {
    const raw = { command: process.execPath, args: [rawServer] };
    const far = start(['serve', '--http', '--json', '-c', writeConfig(path('far.json'), { s: raw })]);
    const { url, token } = await eventually(
      () => parseLines<{ url: string; token: string }>(far.stdout())[0],
      () => `an address; stderr: ${far.stderr()}`,
    );
    const config = writeConfig(path('c.json'), {
      far: { type: 'http', url, headers: { Authorization: `Bearer ${token}` } },
    });
    const call = ['call', 'far.mcp__s__raw', 'id:=7', '--json', '-c', config];
    const ended = await run(['record', '--out', path('out.jsonl'), '--', ...call]);
    far.child.kill('SIGTERM');
    await far.ended;
    expect(ended).toMatchObject({ code: 0 });
    const all = lines();
    const asked = all.find(({ message }) => message?.method === 'tools/call')?.message?.id;
    expect(asked).toBeTypeOf('number');
    expect(all.some(({ direction, message }) => direction === 'in' && message?.id === asked)).toBe(true);
    expect(readFileSync(path('out.jsonl'), 'utf8')).not.toContain(token);
    const again = await run(['call', 's.mcp__s__raw', 'id:=7', '--json', '-c', replayed()]);
    expect(again).toMatchObject({ code: 0, stdout: ended.stdout });
  });

  test('a file that cannot be written, and a command that is none, start nothing', async () => {
    const config = honest();
    const nowhere = await run([
      'record',
      '--out',
      path('no', 'out.jsonl'),
      '--',
      'call',
      's.echo',
      'text=x',
      '-c',
      config,
    ]);
    expect(nowhere.code).toBe(1);
    expect(nowhere.stderr).toContain('the recording cannot be written');
    const wrong = await run(['record', '--out', path('out.jsonl'), '--', 'up']);
    expect(wrong).toMatchObject({ code: 1, stdout: '' });
    expect(wrong.stderr).toContain('expected one of call, batch');
  });
});

describe('bulkhead replay', () => {
  test('answers as the server did, without it, digit for digit', async () => {
    const raw = { command: process.execPath, args: [rawServer] };
    const call = ['call', 's.raw', 'id:=7', 'quiet:=true', '--json'];
    const config = writeConfig(path('c.json'), { s: raw });
    const first = await run(['record', '--out', path('out.jsonl'), '--', ...call, '-c', config]);
    expect(first.stdout).toContain('1915883588174806058');
    const again = await run([...call, '-c', replayed()]);
    expect(again).toMatchObject({ code: 0, stdout: first.stdout });
  });

  test('the same question is answered in turn; one that was not recorded is an error that says so', async () => {
    const config = honest({
      rules: [2, 1].map((nth) => ({
        method: 'tools/call',
        nth,
        reply: { result: { content: [{ type: 'text', text: `answer ${nth}` }] } },
      })),
    });
    const ask = { server: 's', tool: 'echo', arguments: { text: 'x' } };
    const calls = writeLines(path('calls.jsonl'), [ask, ask]);
    const batch = ['batch', calls, '--progress', 'none', '-j', '1'];
    const first = await run(['record', '--out', path('out.jsonl'), '--', ...batch, '-c', config]);
    expect(first.stdout).toMatch(/answer 1[\s\S]*answer 2/);
    const again = await run([...batch, '-c', replayed()]);
    expect(again.stdout).toMatch(/answer 1[\s\S]*answer 2/);
    const missed = await run(['call', 's.echo', 'text=other', '-c', replayed()]);
    expect(missed.code).toBe(5);
    expect(missed.stderr).toContain('tools/call of "echo" was not recorded with these params');
  });

  test('of several servers one must be named', async () => {
    const servers = { a: scripted({}), b: scripted({}) };
    const config = writeConfig(path('c.json'), servers);
    await run(['record', '--out', path('out.jsonl'), '--', 'tools', '-c', config]);
    const unnamed = await run(['replay', path('out.jsonl')], { stdin: '' });
    expect(unnamed).toMatchObject({ code: 1, stdout: '' });
    expect(unnamed.stderr).toMatch(/name one with --server: (a, b|b, a)/);
    const tools = await run(['tools', '--json', '-c', replayed('--server', 'b')]);
    expect(tools.stdout).toContain('"name":"echo"');
  });
});
