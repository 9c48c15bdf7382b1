/** A batch that is killed without warning, again and again, and resumed: what its results and its server's own ledger say. */
import { existsSync, readFileSync, statSync, truncateSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { useCensus } from '../support/census.js';
import { useTempDir } from '../support/temp-dir.js';
import { type Ended, parseLines, run, writeConfig, writeLines } from './cli.js';

const { watch } = useCensus();
const path = useTempDir();
const SERVER = fileURLToPath(new URL('../fixtures/ledger-server.mjs', import.meta.url));

interface Line {
  id: number;
  line: number;
  outcome: string;
  attempts: number;
  error?: { code: string; message: string };
}

type Kill = { when: 'received' | 'answered'; at: number } | { when: 'written'; at: number; results: string };

const LINES = 400;
const IN_FLIGHT = 8;
const out = (): string => path('out.jsonl');
const isIdempotent = (id: number): boolean => id % 5 === 0;

function input(count = LINES): string {
  const lines = Array.from({ length: count }, (_, id) => ({
    id,
    server: 'ledger',
    tool: 'work',
    arguments: { key: id, idempotent: isIdempotent(id) },
    ...(isIdempotent(id) ? { idempotent: true } : {}),
  }));
  return writeLines(path('in.jsonl'), lines);
}

async function batch(file: string, kill: Kill | undefined, args: readonly string[] = []): Promise<Ended> {
  const server = { ledger: path('ledger'), pids: path('pids'), kill };
  const config = writeConfig(path('c.json'), {
    ledger: { command: process.execPath, args: [SERVER, JSON.stringify(server)] },
  });
  const ended = await run([
    'batch',
    file,
    ...['--out', out(), '--resume', '-j', String(IN_FLIGHT), '-c', config],
    ...args,
  ]);
  for (const pid of readFileSync(path('pids'), 'utf8').trim().split('\n')) watch(Number(pid));
  return ended;
}

const results = (): Line[] => parseLines<Line>(readFileSync(out(), 'utf8'));
const sizeOf = (file: string): number => (existsSync(file) ? statSync(file).size : 0);

/** Numbers in [0, 1) that are the same in every run (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

describe('a batch that is killed and resumed', () => {
  test.each(Array.from({ length: 5 }, (_, round) => round))(
    'round %i: after five kills at random moments no line is lost and none has run twice',
    async (round) => {
      const random = seeded(round + 1);
      const ordered = round % 2 === 1;
      const args = ordered ? ['--ordered'] : [];
      const file = input();
      for (let kills = 0; kills < 5; kills++) {
        const when = (['received', 'answered', 'written'] as const)[Math.floor(random() * 3)] ?? 'received';
        const at = 1 + Math.floor(random() * 50);
        const kill: Kill =
          when === 'written' ? { when, at: sizeOf(out()) + at * 150, results: out() } : { when, at };
        const ended = await batch(file, kill, args);
        expect(ended.signal, ended.stderr).toBe('SIGKILL');
        // Now and then as a kill in the middle of a write would leave it.
        const torn = Math.floor(random() * 100);
        if (random() < 0.5 && sizeOf(out()) > torn) truncateSync(out(), sizeOf(out()) - torn);
      }
      const last = await batch(file, undefined, args);

      const lines = results();
      const numbers = lines.map(({ line }) => line);
      if (!ordered) numbers.sort((a, b) => a - b);
      expect(numbers).toEqual(Array.from({ length: LINES }, (_, index) => index + 1));
      const unknown = lines.filter(({ outcome }) => outcome !== 'ok');
      expect(unknown.map(({ outcome }) => outcome)).toEqual(unknown.map(() => 'outcome_unknown'));
      expect(unknown.filter(({ id }) => isIdempotent(id))).toEqual([]);
      expect(last).toMatchObject({ code: unknown.length === 0 ? 0 : 5, signal: null });
      expect(existsSync(`${out()}.journal`)).toBe(false);

      const ran = parseLines<{ key: number; idempotent: boolean }>(readFileSync(path('ledger'), 'utf8'));
      const once = ran.filter(({ idempotent }) => !idempotent).map(({ key }) => key);
      expect(once.filter((key, index) => once.indexOf(key) !== index)).toEqual([]);
      const keys = new Set(ran.map(({ key }) => key));
      expect(lines.filter(({ id, outcome }) => outcome === 'ok' && !keys.has(id))).toEqual([]);
    },
    60_000,
  );

  test('a call that was under way is reported, not repeated, and the report says what to do', async () => {
    const file = input(20);
    await batch(file, { when: 'received', at: 4 }, ['-j', '1']);
    const last = await batch(file, undefined, ['-j', '1']);
    expect(last.code).toBe(5);
    const unknown = results().filter(({ outcome }) => outcome === 'outcome_unknown');
    expect(unknown.map(({ id, attempts, error }) => [id, attempts, error?.code])).toContainEqual([
      3,
      1,
      'OUTCOME_UNKNOWN',
    ]);
    expect(unknown[0]?.error?.message).toMatch(/^line \d+: .*Look whether it did/);
    expect(last.stderr).toMatch(/lines had their result from an earlier run|20 lines done/);
  });
});

describe('resuming', () => {
  test('what is finished stays as it is: nothing is called again', async () => {
    const file = input(10);
    expect((await batch(file, undefined)).code).toBe(0);
    const before = readFileSync(out(), 'utf8');
    const again = await batch(file, undefined);
    expect(again.code).toBe(0);
    expect(readFileSync(out(), 'utf8')).toBe(before);
    expect(again.stderr).toContain('10 lines had their result');
    expect(parseLines(readFileSync(path('ledger'), 'utf8'))).toHaveLength(10);
  });

  test('another input, or other options, is refused before anything is called', async () => {
    const file = input(20);
    await batch(file, { when: 'received', at: 5 });
    const calls = readFileSync(path('ledger'), 'utf8');
    const before = readFileSync(out(), 'utf8');
    const ordered = await batch(file, undefined, ['--ordered']);
    expect(ordered).toMatchObject({ code: 1 });
    expect(ordered.stderr).toMatch(/out\.jsonl\.journal" belongs to another run: .*--ordered/);
    const changed = await batch(input(21), undefined);
    expect(changed).toMatchObject({ code: 1 });
    expect(changed.stderr).toMatch(/its input has changed/);
    expect(readFileSync(path('ledger'), 'utf8')).toBe(calls);
    expect(readFileSync(out(), 'utf8')).toBe(before);
  });

  test('an unfinished run is not written over by one that forgot --resume', async () => {
    const file = input(20);
    await batch(file, { when: 'received', at: 5 });
    const before = readFileSync(out(), 'utf8');
    const ended = await run(['batch', file, '--out', out(), '-c', path('c.json')]);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(/holds an unfinished run: go on with --resume/);
    expect(readFileSync(out(), 'utf8')).toBe(before);
  });

  test('results of a run without a journal are refused unless they are complete', async () => {
    const file = input(5);
    await batch(file, undefined);
    const whole = readFileSync(out(), 'utf8');
    truncateSync(out(), whole.indexOf('\n') + 1);
    const ended = await batch(file, undefined);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(/it is not known whether its call was sent/);
    expect(parseLines(readFileSync(path('ledger'), 'utf8'))).toHaveLength(5);
  });

  test.each([
    [['--resume'], /--resume needs --out/],
    [['--resume', '--dry-run', '--out', 'x'], /--dry-run do not go together/],
  ])('%j alone is a usage error', async (args, message) => {
    const config = writeConfig(path('c.json'), { s: { command: 'true' } });
    const ended = await run(['batch', input(1), ...args, '-c', config], { cwd: path() });
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(message);
  });
});
