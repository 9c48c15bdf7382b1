/** Whether a run kept its promises: the collected file and the servers' books against the input. Each check is a sentence. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

const SHOWN = 5;
/** Beside the calls in flight a lost worker may have had answers under way to the store, and others behind these. */
const AT_RISK = 3;

/** @returns {Promise<object[]>} */
export async function readResults(path) {
  const results = [];
  for await (const line of createInterface({ input: createReadStream(path) })) results.push(JSON.parse(line));
  return results;
}

/**
 * @param {{batch: string, calls: object[], results: object[], books: import('./books.mjs').Books, disturbed: number[],
 *   concurrency: number, chunkOf: (n: number) => string}} run
 * @returns {{checks: {name: string, problems: string[]}[], figures: Record<string, number>}}
 */
export function judge({ batch, calls, results, books, disturbed, concurrency, chunkOf }) {
  const runs = runsByLine(books.calls);
  const byLine = new Map(results.map((result) => [result.line, result]));
  const outcomeOf = (n) => byLine.get(n)?.outcome;
  const unknown = results.filter(({ outcome }) => outcome === 'outcome_unknown');
  const checks = [
    check(`exactly ${calls.length} result lines, each line number once`, () => {
      const missing = calls.filter(({ n }) => !byLine.has(n)).map(({ n }) => `line ${n} has no result`);
      const count = results.length === calls.length ? [] : [`${results.length} results`];
      return [...count, ...missing];
    }),
    check('each result is that of its own line', () =>
      results
        .filter((result) => !isOwn(result))
        .map((result) => `line ${result.line}: ${JSON.stringify(result)}`),
    ),
    check('no call ran twice that must not', () =>
      calls
        .filter(({ n, idempotent }) => !idempotent && (runs.get(n)?.length ?? 0) > 1)
        .map(({ n }) => `line ${n} ran ${runs.get(n).length} times`),
    ),
    check('every call that is told as done has run, and with its own key', () =>
      calls
        .filter(({ n }) => outcomeOf(n) === 'ok' && !hasRun(runs.get(n), `${batch}:${n}`))
        .map(({ n }) => `line ${n}: ${JSON.stringify(runs.get(n) ?? [])}`),
    ),
    check('a call is unknown only where it was in flight at a worker that was killed or frozen', () => [
      ...unknown
        .filter(({ line }) => (runs.get(line) ?? []).some(({ host }) => !disturbed.includes(host)))
        .map(({ line }) => `line ${line} ran at a worker that nothing happened to`),
      ...(unknown.length > AT_RISK * concurrency * disturbed.length
        ? [`${unknown.length} are unknown, and no more than ${concurrency} were in flight at each`]
        : []),
    ]),
    check('an idempotent call is never unknown', () =>
      unknown.filter(({ line }) => calls[line - 1]?.idempotent).map(({ line }) => `line ${line}`),
    ),
    check('calls with the same affinity ran in their order', () =>
      disorder(calls, books.calls, runs, outcomeOf),
    ),
    check('chunks of lost workers were taken over', () =>
      takeovers(books.calls, chunkOf) > 0
        ? []
        : ['no chunk ran at two workers: nothing was lost in this run'],
    ),
  ];
  const again = [...runs.values()].filter((own) => own.length > 1);
  return {
    checks,
    figures: {
      'chunks taken over': takeovers(books.calls, chunkOf),
      outcome_unknown: unknown.length,
      'of these had run': unknown.filter(({ line }) => runs.has(line)).length,
      'idempotent calls run again': again.length,
      'answers dropped (line had its result, or nobody was left)':
        books.calls.length - results.length + unknown.length,
    },
  };
}

/** @param {() => string[]} find */
export function check(name, find) {
  const problems = find();
  const more = problems.length - SHOWN;
  return { name, problems: more > 0 ? [...problems.slice(0, SHOWN), `and ${more} more`] : problems };
}

function runsByLine(entries) {
  const runs = new Map();
  for (const entry of entries) {
    const own = runs.get(entry.n);
    if (own === undefined) runs.set(entry.n, [entry]);
    else own.push(entry);
  }
  return runs;
}

function isOwn({ id, line, outcome, result }) {
  if (id !== `call-${line}`) return false;
  return outcome === 'ok' ? result?.content?.[0]?.text === `did ${line}` : outcome === 'outcome_unknown';
}

function hasRun(runs = [], key) {
  return runs.length > 0 && runs.every((run) => run.key === key);
}

/**
 * Lines that were in flight when their worker was lost cannot be in order: a frozen one may still hand them to its server
 * when it wakes up, and idempotent ones run again. All others must be.
 */
function disorder(calls, entries, runs, outcomeOf) {
  const last = new Map();
  const problems = [];
  for (const { n } of entries) {
    const { affinity } = calls[n - 1];
    if (affinity === undefined || runs.get(n).length > 1 || outcomeOf(n) !== 'ok') continue;
    if (n < (last.get(affinity) ?? 0))
      problems.push(`line ${n} ran after line ${last.get(affinity)} of "${affinity}"`);
    else last.set(affinity, n);
  }
  return problems;
}

function takeovers(entries, chunkOf) {
  const hosts = new Map();
  for (const { n, host } of entries) {
    const chunk = chunkOf(n);
    hosts.set(chunk, (hosts.get(chunk) ?? new Set()).add(host));
  }
  return [...hosts.values()].filter((own) => own.size > 1).length;
}
