/** What servers offer, asked for with and without a resident: the same words either way, and its servers when it is there. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { useCensus } from '../support/census.js';
import { eventually } from '../support/eventually.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';
import { type Ended, parseLines, type Running, run, start, writeConfig } from './cli.js';

useCensus({ graceMs: 8_000 });
const path = useTempDir();
const running: Running[] = [];
const features = fileURLToPath(new URL('../fixtures/matrix/server.mjs', import.meta.url));

beforeEach(() => {
  process.env.XDG_RUNTIME_DIR = path('run');
  mkdirSync(path('run'), { mode: 0o700 });
});
afterEach(async () => {
  for (const { child } of running) child.kill('SIGTERM');
  await Promise.all(running.splice(0).map(({ ended }) => ended));
  delete process.env.XDG_RUNTIME_DIR;
});

function keep(program: Running): Running {
  running.push(program);
  return program;
}

async function says(program: Running, text: string): Promise<void> {
  await eventually(
    () => program.stderr().includes(text),
    () => `"${text}"; it said: ${program.stderr()}`,
  );
}

/** One server with everything to offer, one with nothing but tools. */
function config(): string {
  writeFileSync(path('record'), '');
  const argument = JSON.stringify({ transport: 'stdio', record: path('record') });
  return writeConfig(path('c.json'), {
    all: { command: process.execPath, args: [features, argument] },
    bare: scripted({}),
  });
}

async function up(file: string): Promise<Running> {
  const resident = keep(start(['up', '-c', file], { cwd: path() }));
  await says(resident, 'is up (process');
  return resident;
}

const inDir = (...args: string[]) => run(args, { cwd: path() });
const shown = ({ code, stdout, stderr }: Ended) => ({ code, stdout, stderr });
const methods = () =>
  parseLines<{ method?: string }>(readFileSync(path('record'), 'utf8')).map((line) => line.method);
const starts = () => methods().filter((method) => method === 'initialize').length;

describe('what servers offer', () => {
  test('is told by the resident as without it, from the servers that it has', async () => {
    const file = config();
    const lines = [
      ['describe', 'all.echo'],
      ['describe', 'mcp__all__digits', '--json'],
      ['describe', 'all.nope'],
      ['search', 'fail', '--json', '--limit', '1'],
      ['resources', 'list'],
      ['resources', 'read', 'all', 'test:///3'],
      ['resources', 'read', 'bare', 'test:///3'],
      ['resources', 'list', 'none'],
      ['prompts', 'get', 'all.prompt-1', 'city=Rome'],
      ['prompts', 'get', 'all.nope'],
    ];
    const alone = [];
    for (const line of lines) alone.push(shown(await inDir(...line, '-c', file)));
    await up(file);
    await eventually(
      () => methods().at(-1) === 'tools/list' || methods().includes('tools/list'),
      () => 'the resident to start its server',
    );
    expect((await inDir('resources', 'list', 'all', '-c', file)).code).toBe(0);
    const before = starts();
    for (const [index, line] of lines.entries())
      expect([line, shown(await inDir(...line, '-c', file))]).toEqual([line, alone[index]]);
    expect(starts()).toBe(before);
    expect((await inDir('resources', 'list', 'all', '--no-resident', '-c', file)).code).toBe(0);
    expect(starts()).toBe(before + 1);
  });

  test('is told by the resident that is named, from anywhere', async () => {
    const resident = keep(start(['up', '--name', 'mine', '-c', config()], { cwd: path() }));
    await says(resident, 'is up (process');
    mkdirSync(path('elsewhere'));
    const elsewhere = (...args: string[]) => run([...args, '--resident', 'mine'], { cwd: path('elsewhere') });
    expect((await elsewhere('describe', 'all.echo')).stdout).toContain('mcp__all__echo');
    expect((await elsewhere('search', 'echo')).stdout).toContain('all.echo');
    expect((await elsewhere('resources', 'read', 'all', 'test:///1')).stdout).toBe('text of test:///1\n');
    expect((await elsewhere('prompts', 'list')).stdout).toContain('prompt-0');
    const unknown = await elsewhere('resources', 'read', 'al', 'test:///1');
    expect(unknown).toMatchObject({ code: 1, stdout: '' });
    expect(unknown.stderr).toMatch(/resident "mine" has no server "al"; nearest: all/);
  });
});

describe('resources watch', () => {
  test.each([['a resident'], ['servers of its own']])(
    'prints a line for each update, through %s',
    async (how) => {
      const file = config();
      if (how === 'a resident') await up(file);
      const watching = keep(
        start(['resources', 'watch', 'all', 'test:///2', '--json', '-c', file], { cwd: path() }),
      );
      await says(watching, 'watching test:///2');
      // The server tells of one update with every subscription.
      await eventually(
        () => watching.stdout().includes('\n'),
        () => `an update; it wrote: ${watching.stdout()} ${watching.stderr()}`,
      );
      expect(parseLines(watching.stdout())).toEqual([
        { at: expect.stringMatching(/^\d{4}-.*Z$/), server: 'all', uri: 'test:///2' },
      ]);
      watching.child.kill('SIGINT');
      expect((await watching.ended).code).toBe(130);
    },
  );

  test('of two at one resident leaves the subscription to the other, and the last takes it back', async () => {
    const file = config();
    await up(file);
    const args = ['resources', 'watch', 'all', 'test:///2', '-c', file];
    const first = keep(start(args, { cwd: path() }));
    await says(first, 'watching');
    const second = keep(start(args, { cwd: path() }));
    await says(second, 'watching');
    first.child.kill('SIGTERM');
    expect((await first.ended).code).toBe(143);
    expect(methods().filter((method) => method === 'resources/subscribe')).toHaveLength(1);
    expect(methods()).not.toContain('resources/unsubscribe');
    second.child.kill('SIGTERM');
    await second.ended;
    await eventually(
      () => methods().includes('resources/unsubscribe'),
      () => `the subscription to be taken back; the server got: ${methods().join(', ')}`,
    );
  });

  test('says what a server does not offer, and that its resident has ended', async () => {
    const file = config();
    const bare = await inDir('resources', 'watch', 'bare', 'test:///2', '-c', file);
    expect(bare).toMatchObject({ code: 5, stdout: '' });
    expect(bare.stderr).toContain('does not offer resources');
    const resident = await up(file);
    const watching = keep(start(['resources', 'watch', 'all', 'test:///2', '-c', file], { cwd: path() }));
    await says(watching, 'watching');
    resident.child.kill('SIGTERM');
    const ended = await watching.ended;
    expect(ended.code).toBe(4);
    expect(ended.stderr).toContain('the resident has ended');
  });
});

describe('reload', () => {
  test('takes the files as they are now, and says what it made of them', async () => {
    const file = config();
    await up(file);
    expect((await inDir('reload', '-c', file)).stderr).toContain('no server changed');
    writeFileSync(file, '{');
    const broken = await inDir('reload', '--resident', await nameOf());
    expect(broken).toMatchObject({ code: 1, stdout: '' });
    expect(broken.stderr).toContain('is not taken');
  });

  async function nameOf(): Promise<string> {
    const [row] = JSON.parse((await inDir('ps', '--json')).stdout) as { name: string }[];
    return row?.name ?? '';
  }
});
