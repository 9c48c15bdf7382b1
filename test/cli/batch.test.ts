import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { useCensus } from '../support/census.js';
import { eventually } from '../support/eventually.js';
import { pidFrom, readRecord, recorded } from '../support/record.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';
import { parseLines, run, STACK_TRACE, shell, start, writeConfig, writeLines } from './cli.js';

const { watch } = useCensus();
const path = useTempDir();

interface Line {
  id: unknown;
  line: number;
  server: string | null;
  outcome: string;
  isError: boolean;
  error?: { code: string; message: string };
}

const echo = (id: unknown, server = 's'): object => ({
  id,
  server,
  tool: 'echo',
  arguments: { text: String(id) },
});

function config(servers: Record<string, Parameters<typeof scripted>[0]>): string {
  return writeConfig(
    path('c.json'),
    Object.fromEntries(
      Object.entries(servers).map(([name, script]) => [
        name,
        scripted({ record: path(`${name}.record`), pidFile: path(`${name}.pid`), ...script }),
      ]),
    ),
  );
}

describe('a batch over real servers', () => {
  test('gives one line per line, whatever the servers do: exit 5', async () => {
    const file = writeLines(path('in.jsonl'), [
      ...Array.from({ length: 50 }, (_, id) => echo(id)),
      ...Array.from({ length: 50 }, (_, id) => echo(100 + id, 't')),
      '{broken',
      '',
      { id: 'fail', server: 's', tool: 'fail' },
      { id: 'full', tool: 'mcp__t__echo', arguments: { text: 'x' } },
      { id: 'unknown', server: 's', tool: 'nosuch' },
      { id: 'nowhere', server: 'nowhere', tool: 'x' },
      { id: 'gone', server: 'gone', tool: 'x' },
      { id: 'hang', server: 's', tool: 'hang', timeoutMs: 300 },
    ]);
    const servers = { s: scripted({}), t: scripted({ pageSize: 100 }), gone: { command: 'no-such-program' } };
    const ended = await run(['batch', file, '-c', writeConfig(path('c.json'), servers)]);
    expect(ended.code).toBe(5);
    const lines = parseLines<Line>(ended.stdout);
    expect(lines).toHaveLength(107);
    expect(new Set(lines.map(({ line }) => line)).size).toBe(107);
    const by = (id: unknown): Line | undefined => lines.find((line) => line.id === id);
    expect(lines.filter(({ outcome }) => outcome === 'ok')).toHaveLength(101);
    expect(lines.find(({ line }) => line === 101)).toMatchObject({
      outcome: 'rejected',
      error: { code: 'BAD_INPUT' },
    });
    expect(by('fail')).toMatchObject({ outcome: 'tool_error', isError: true, line: 103 });
    expect(by('full')).toMatchObject({ outcome: 'ok', server: 't' });
    expect(by('unknown')?.error?.code).toBe('UNKNOWN_TOOL');
    expect(by('nowhere')?.error?.code).toBe('UNKNOWN_SERVER');
    expect(by('gone')).toMatchObject({ outcome: 'rejected', error: { code: 'NOT_READY' } });
    expect(by('gone')?.error?.message).toContain('no-such-program');
    expect(by('hang')).toMatchObject({ outcome: 'timeout', error: { code: 'TIMEOUT' } });
    expect(ended.stderr).toMatch(/server +calls +ok/);
    expect(ended.stderr).not.toContain('\u001b');
  });

  test('all ok is exit 0; --ordered and --out keep the order of the input', async () => {
    const file = writeLines(
      path('in.jsonl'),
      Array.from({ length: 200 }, (_, id) => ({
        id,
        server: 's',
        tool: 'sleep',
        arguments: { ms: (id * 7) % 20 },
      })),
    );
    const args = [
      'batch',
      file,
      '--ordered',
      '--out',
      path('out.jsonl'),
      '--summary',
      'json',
      '-c',
      config({ s: {} }),
    ];
    const ended = await run(args);
    expect(ended).toMatchObject({ code: 0, stdout: '' });
    const lines = parseLines<Line>(readFileSync(path('out.jsonl'), 'utf8'));
    expect(lines.map(({ id }) => id)).toEqual(Array.from({ length: 200 }, (_, id) => id));
    expect(parseLines(ended.stderr).at(-1)).toMatchObject({
      summary: { lines: 200, done: 200, ok: 200, servers: [{ server: 's', calls: 200, restarts: 0 }] },
    });
    watch(await pidFrom(path('s.pid')));
  });

  test('lines come from stdin for an explicit -', async () => {
    const ended = await run(['batch', '-', '-c', config({ s: {} })], { stdin: JSON.stringify(echo(1)) });
    expect(parseLines<Line>(ended.stdout)).toMatchObject([{ id: 1, outcome: 'ok' }]);
    expect(ended.code).toBe(0);
  });

  test('starts only the servers that its lines name', async () => {
    const file = writeLines(path('in.jsonl'), [echo(1)]);
    await run(['batch', file, '-c', config({ s: {}, other: {} })]);
    expect(readRecord(path('s.record')).methods).toContain('tools/call');
    expect(readRecord(path('other.record')).events).toEqual([]);
  });

  test('a server whose handshake hangs holds nobody else, and its own lines get the reason', async () => {
    const file = writeLines(path('in.jsonl'), [
      echo(1, 'stuck'),
      ...Array.from({ length: 20 }, (_, id) => echo(id)),
    ]);
    const both = config({ s: {}, stuck: { rules: [{ method: 'initialize', reply: null }] } });
    const ended = await run(['batch', file, '--connect-timeout', '2s', '-c', both]);
    const lines = parseLines<Line>(ended.stdout);
    expect(lines.slice(0, 20).every(({ server, outcome }) => server === 's' && outcome === 'ok')).toBe(true);
    expect(lines[20]).toMatchObject({ server: 'stuck', outcome: 'rejected', error: { code: 'NOT_READY' } });
    expect(ended.code).toBe(5);
    watch(await pidFrom(path('stuck.pid')));
  });

  test('a server that crashes costs the calls in flight; every other line runs after its restart', async () => {
    const lines = Array.from({ length: 40 }, (_, id) => echo(id));
    lines[10] = { id: 10, server: 's', tool: 'exit', arguments: { code: 3 } };
    const file = writeLines(path('in.jsonl'), lines);
    const ended = await run(['batch', file, '-j', '1', '-c', config({ s: {} }), '--summary', 'json']);
    const done = parseLines<Line>(ended.stdout);
    expect(done).toHaveLength(40);
    expect(done.filter(({ outcome }) => outcome !== 'ok')).toMatchObject([
      { id: 10, outcome: 'outcome_unknown' },
    ]);
    expect(parseLines(ended.stderr).at(-1)).toMatchObject({ summary: { servers: [{ restarts: 1 }] } });
    expect(ended.code).toBe(5);
  });

  test('no server could be started: exit 4, and the lines are written', async () => {
    const file = writeLines(path('in.jsonl'), [echo(1, 'gone'), echo(2, 'gone')]);
    const ended = await run([
      'batch',
      file,
      '-c',
      writeConfig(path('c.json'), { gone: { command: 'no-such-program' } }),
    ]);
    expect(ended.code).toBe(4);
    expect(parseLines<Line>(ended.stdout).map(({ error }) => error?.code)).toEqual([
      'NOT_READY',
      'NOT_READY',
    ]);
  });
});

describe('usage', () => {
  test('mistakes are exit 1 and start nothing', async () => {
    const file = writeLines(path('in.jsonl'), [echo(1)]);
    for (const [args, message] of [
      [['batch', path('nosuch.jsonl')], 'nosuch.jsonl'],
      [['batch', path()], 'directory'],
      [['batch', file, '--out', file], 'is the input file'],
      [['batch', file, '--out', path('no', 'such', 'dir')], 'cannot be written'],
      [['batch', file, '-j', 'many'], '--concurrency'],
      [['batch', file, '--timeout', '-1'], '--timeout'],
      [['batch', file, '--progress', 'lots'], '--progress'],
    ] as const) {
      const ended = await run([...args, '-c', config({ s: {} })]);
      expect(ended, args.join(' ')).toMatchObject({ code: 1, stdout: '' });
      expect(ended.stderr).toContain(message);
      expect(ended.stderr).not.toMatch(STACK_TRACE);
    }
    expect(readFileSync(file, 'utf8')).toContain('echo');
    expect(readRecord(path('s.record')).events).toEqual([]);
  });
});

describe('a batch that is stopped', () => {
  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)(
    'by %s: exit %i, what is done is in the file, the call in flight is cancelled',
    async (signal, code) => {
      const file = writeLines(path('in.jsonl'), [
        ...Array.from({ length: 5 }, (_, id) => echo(id)),
        { id: 'hang', server: 's', tool: 'hang' },
        echo('never'),
      ]);
      const running = start(['batch', file, '-j', '1', '--out', path('out.jsonl'), '-c', config({ s: {} })]);
      await recorded(path('s.record'), ({ messages }) =>
        messages.some(({ params }) => params?.name === 'hang'),
      );
      running.child.kill(signal);
      const ended = await running.ended;
      expect(ended.code).toBe(code);
      const lines = parseLines<Line>(readFileSync(path('out.jsonl'), 'utf8'));
      expect(lines.map(({ id, outcome }) => [id, outcome])).toEqual([
        ...[0, 1, 2, 3, 4].map((id) => [id, 'ok']),
        ['hang', 'cancelled'],
      ]);
      expect(ended.stderr).toContain('1 read but not started');
      watch(await pidFrom(path('s.pid')));
    },
  );

  test('an interrupt while stdin stays open and silent ends it', async () => {
    const running = start(['batch', '-', '-c', config({ s: {} })], { stdin: { open: true } });
    running.child.stdin?.write(`${JSON.stringify(echo(1))}\n`);
    await eventually(
      () => running.stdout().includes('"ok"'),
      () => 'the first result',
    );
    running.child.kill('SIGINT');
    expect((await running.ended).code).toBe(130);
    watch(await pidFrom(path('s.pid')));
  });

  test('by a reader that leaves: no trace, no leftover server, the documented status (B170)', async () => {
    const file = writeLines(
      path('in.jsonl'),
      Array.from({ length: 10_000 }, (_, id) => echo(id)),
    );
    const line = `set -o pipefail; "$NODE" "$MAIN" batch ${file} -c ${config({ s: {} })} | head -1; echo "\${PIPESTATUS[0]}"`;
    const ended = await shell(line, path());
    const [first, status] = ended.stdout.trimEnd().split('\n');
    expect(JSON.parse(first ?? '')).toMatchObject({ outcome: 'ok' });
    expect(status).toBe('141');
    expect(ended.stderr).toBe('');
    watch(await pidFrom(path('s.pid')));
  });
});

describe('memory', () => {
  test('a slow reader of large results gets all of them, with a small heap', async () => {
    const file = writeLines(
      path('in.jsonl'),
      Array.from({ length: 100 }, (_, id) => ({
        id,
        server: 's',
        tool: 'big',
        arguments: { bytes: 1_000_000 },
      })),
    );
    const line =
      `"$NODE" --max-old-space-size=150 "$MAIN" batch ${file} -c ${config({ s: {} })} --progress none` +
      ` | (sleep 1; wc -lc); echo "\${PIPESTATUS[0]}"`;
    const [lines, bytes, status] = (await shell(line, path())).stdout.trim().split(/\s+/);
    expect([lines, status]).toEqual(['100', '0']);
    expect(Number(bytes)).toBeGreaterThan(100_000_000);
  });
});
