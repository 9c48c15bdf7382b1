/** The options of `bulkhead batch` beyond plain running, as a person meets them. */
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { useCensus } from '../support/census.js';
import { readRecord } from '../support/record.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';
import { parseLines, run, writeConfig, writeLines } from './cli.js';

useCensus();
const path = useTempDir();

interface Line {
  id: unknown;
  line: number;
  outcome?: string;
  valid?: boolean;
  attempts?: number;
  result?: { content: { text: string }[] };
  error?: { code: string; message: string };
}

const config = (): string => writeConfig(path('c.json'), { s: scripted({ record: path('record') }) });
const batch = (file: string, ...args: string[]): ReturnType<typeof run> =>
  run(['batch', file, '-c', config(), ...args]);
const echo = (id: number): object => ({ id, server: 's', tool: 'echo', arguments: { text: String(id) } });
const file = (lines: object[]): string => writeLines(path('in.jsonl'), lines);
const calledTools = (): unknown[] =>
  readRecord(path('record')).messages.flatMap(({ method, params }) =>
    method === 'tools/call' ? [params?.name] : [],
  );

describe('options of a batch', () => {
  test('--fail-fast stops at the first line that is not ok: exit 5', async () => {
    const lines = [echo(0), { id: 1, server: 's', tool: 'fail' }, ...[2, 3, 4, 5].map(echo)];
    const ended = await batch(file(lines), '--fail-fast', '-j', '1');
    expect(ended.code).toBe(5);
    expect(parseLines<Line>(ended.stdout).map(({ id, outcome }) => [id, outcome])).toEqual([
      [0, 'ok'],
      [1, 'tool_error'],
    ]);
    expect(ended.stderr).toContain('stopped at the first line that was not ok');
    expect(calledTools()).toEqual(['echo', 'fail']);
  });

  test('--dry-run checks every line and calls nothing', async () => {
    const lines = [
      echo(0),
      { id: 1, server: 's', tool: 'sleep', arguments: { ms: 'long' } },
      { id: 2, server: 's', tool: 'no' },
    ];
    const ended = await batch(file(lines), '--dry-run', '--ordered');
    expect(ended.code).toBe(5);
    expect(parseLines<Line>(ended.stdout)).toMatchObject([
      { id: 0, line: 1, valid: true },
      { id: 1, line: 2, valid: false, error: { code: 'INVALID_ARGUMENTS' } },
      { id: 2, line: 3, valid: false, error: { code: 'UNKNOWN_TOOL' } },
    ]);
    expect(calledTools()).toEqual([]);
    expect((await batch(file([echo(0)]), '--dry-run')).code).toBe(0);
  });

  test('--map sends each row of a CSV file to one tool, and a bad template is told before anything runs', async () => {
    writeFileSync(path('data.csv'), 'id,name\n7,Ada\n8,"Grace ""G"" Hopper"\n');
    const ended = await batch(
      path('data.csv'),
      ...['--map', '{"text": "Dear {{name}}"}', '--tool', 's.echo', '--ordered'],
    );
    expect(ended.code, ended.stderr).toBe(0);
    const lines = parseLines<Line>(ended.stdout);
    expect(lines.map(({ id, line }) => [id, line])).toEqual([
      ['7', 1],
      ['8', 2],
    ]);
    expect(lines.map(({ result }) => result?.content[0]?.text)).toEqual([
      'Dear Ada',
      'Dear Grace "G" Hopper',
    ]);

    writeFileSync(path('template.json'), '{"text": "{{nobody}}"}');
    const missing = await batch(path('data.csv'), '--map', path('template.json'), '--tool', 's.echo');
    expect(missing).toMatchObject({ code: 1, stdout: '' });
    expect(missing.stderr).toContain('asks for the column "nobody", the columns are: id, name');
  });

  test('--retry tries an idempotent line again and counts its attempts, and no other', async () => {
    const again = { id: 1, server: 's', tool: 'fail', idempotent: true };
    const ended = await batch(
      file([again, { ...again, id: 2, idempotent: false }]),
      '--retry',
      '2',
      '--ordered',
    );
    expect(parseLines<Line>(ended.stdout).map(({ id, attempts }) => [id, attempts])).toEqual([
      [1, 3],
      [2, 1],
    ]);
  });

  test('--progress ndjson ends with how it ended', async () => {
    const ended = await batch(
      file([echo(0), echo(1)]),
      '--progress',
      'ndjson',
      '--json',
      '--per-server',
      '1',
    );
    const told = parseLines<{ progress?: object }>(ended.stderr).flatMap(({ progress }) => progress ?? []);
    const size = readFileSync(path('in.jsonl')).length;
    expect(told.at(-1)).toMatchObject({ lines: 2, done: 2, inFlight: 0, doneBytes: size, totalBytes: size });
  });

  test.each([
    [['--rate', '10'], /--rate: expected a rate such as 10\/s/],
    [['--rate', 's=0/s'], /--rate: expected a rate/],
    [['--per-server', '0'], /--per-server: expected a whole number/],
    [['--retry-unsafe'], /--retry-unsafe needs --retry/],
    [['--map', '{}'], /--map needs --tool/],
    [['--tool', 's.echo'], /--tool needs --map/],
    [['--map', '[1', '--tool', 's.echo'], /cannot be read/],
    [['--map', '{"a"', '--tool', 's.echo'], /the template is not JSON/],
    [['--map', '{}', '--tool', 'nowhere.echo'], /server "nowhere" is not in the config/],
  ])('%j is a usage error, and nothing is started', async (args, message) => {
    const ended = await batch(file([echo(0)]), ...args);
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(ended.stderr).toMatch(message);
    expect(readRecord(path('record')).events).toEqual([]);
  });
});
