/** The judge of the hard test of distributed batches: whatever is broken in a run, one of its checks says so. */
import { describe, expect, it } from 'vitest';

interface Call {
  n: number;
  idempotent: boolean;
  affinity: string | undefined;
}
interface Entry {
  pid: number;
  host: number;
  key: string;
  n: number;
}
interface Result {
  id: string;
  line: number;
  outcome: string;
  result?: { content: { type: string; text: string }[] };
}
interface Run {
  batch: string;
  calls: Call[];
  results: Result[];
  books: { calls: Entry[] };
  disturbed: number[];
  concurrency: number;
  chunkOf: (n: number) => string;
}

const { judge } = (await import(new URL('../cluster/hard/verdict.mjs', import.meta.url).href)) as {
  judge(run: Run): { checks: { name: string; problems: string[] }[]; figures: Record<string, number> };
};

const LOST = 1;
const OTHER = 2;

const entry = (n: number, host: number): Entry => ({ pid: host * 10, host, key: `b:${n}`, n });
const done = (line: number): Result => ({
  id: `call-${line}`,
  line,
  outcome: 'ok',
  result: { content: [{ type: 'text', text: `did ${line}` }] },
});
const unknown = (line: number): Result => ({ id: `call-${line}`, line, outcome: 'outcome_unknown' });

/** Ten calls in two chunks; line 3 was in flight at a lost worker, and 4, idempotent, ran again. */
function goodRun(): Run {
  const calls = Array.from({ length: 10 }, (_, i) => ({
    n: i + 1,
    idempotent: i === 3,
    affinity: i % 2 === 0 ? 'key' : undefined,
  }));
  const first = [1, 2, 3, 4].map((n) => entry(n, LOST));
  const others = [4, 5, 6, 7, 8, 9, 10].map((n) => entry(n, OTHER));
  return {
    batch: 'b',
    calls,
    results: calls.map(({ n }) => (n === 3 ? unknown(n) : done(n))),
    books: { calls: [...first, ...others] },
    disturbed: [LOST],
    concurrency: 2,
    chunkOf: (n) => (n <= 5 ? 'first' : 'second'),
  };
}

const broken = (change: (run: Run) => void): string[] => {
  const run = goodRun();
  change(run);
  return judge(run).checks.flatMap(({ name, problems }) => (problems.length > 0 ? [name] : []));
};

describe('the judge of the hard test', () => {
  it('has nothing to say about a run that kept its promises', () => {
    expect(broken(() => {})).toEqual([]);
    expect(judge(goodRun()).figures).toMatchObject({
      'chunks taken over': 1,
      outcome_unknown: 1,
      'of these had run': 1,
      'idempotent calls run again': 1,
    });
  });

  it.each<[what: string, check: RegExp, change: (run: Run) => void]>([
    ['a line without a result', /exactly 10 result lines/, (run) => run.results.pop()],
    ['two results of a line', /exactly 10 result lines/, (run) => run.results.push(done(1))],
    [
      'the result of another line',
      /of its own line/,
      (run) => run.results.splice(0, 1, { ...done(2), line: 1 }),
    ],
    [
      'another outcome',
      /of its own line/,
      (run) => run.results.splice(0, 1, { ...done(1), outcome: 'timeout' }),
    ],
    ['a call that ran twice', /no call ran twice/, (run) => run.books.calls.push(entry(10, OTHER))],
    ['a result without a call', /has run/, (run) => run.books.calls.pop()],
    [
      'the key of another line',
      /has run/,
      (run) => run.books.calls.splice(-1, 1, { ...entry(10, OTHER), key: 'b:9' }),
    ],
    [
      'an unknown call at a healthy worker',
      /unknown only where/,
      (run) => run.results.splice(9, 1, unknown(10)),
    ],
    [
      'an unknown call that may run again',
      /an idempotent call is never unknown/,
      (run) => run.results.splice(3, 1, unknown(4)),
    ],
    [
      'calls out of order',
      /same affinity/,
      ({ books }) => books.calls.splice(5, 0, ...books.calls.splice(9, 1)),
    ],
    [
      'no takeover at all',
      /taken over/,
      (run) => {
        run.books.calls = run.books.calls.map((call) => ({ ...call, host: LOST }));
      },
    ],
  ])('notices %s', (_what, check, change) => {
    expect(broken(change)).toEqual(expect.arrayContaining([expect.stringMatching(check)]));
  });
});
