/** Constant load on a good server: a few callers, each with one call at a time. Every call must end `ok`. */
import { setTimeout as wait } from 'node:timers/promises';
import { textOf } from './book.mjs';
import { generator } from './random.mjs';

const CALLERS = 4;
/**
 * Ends of calls that were under way when the supervisor was killed: sent, never sent, or sent through a server thread
 * whose end was heard of first.
 */
const LOST = new Set(['SUPERVISOR_LOST', 'CONNECTION_LOST', 'OUTCOME_UNKNOWN']);

/** Resolves once `stage.over` and the last call has ended. */
export async function load(stage, server, book) {
  const callers = Array.from({ length: CALLERS }, (_, i) => caller(stage, server, book, i));
  await Promise.all(callers);
}

async function caller(stage, { name, kind }, book, index) {
  const random = generator(stage.seed, `${name} caller ${index}`);
  while (!stage.over) {
    const idempotent = random.chance(0.2);
    const { tool, args, fits } = draw(random, kind);
    const losses = stage.losses;
    const call = book.begin(idempotent);
    try {
      const text = textOf(call);
      const result = await stage.runtime.callTool(`mcp__${name}__${tool}`, { text, ...args }, { idempotent });
      book.end(call, result.outcome);
      if (result.outcome !== 'ok' || !fits(result.text(), text))
        stage.violation(`${name}: call ${call} (${tool}) got another answer: ${result.raw.slice(0, 120)}`);
    } catch (error) {
      book.end(call, error.outcome ?? 'no outcome');
      // `losses` is counted before the calls hear of it.
      if ((stage.killing || stage.losses > losses) && LOST.has(error.code))
        stage.count('good calls under way at a supervisor kill');
      else
        stage.violation(`${name}: call ${call} (${tool}) ended as ${error.code ?? error}: ${error.message}`);
    }
    await wait(random.between(1, 12));
  }
}

function draw(random, kind) {
  const echo = { tool: 'echo', args: {}, fits: (answer, text) => answer === text };
  if (kind === 'echo') return echo;
  const ms = random.between(1, 60);
  const bytes = random.between(20_000, 400_000);
  return random.weighted([
    [80, echo],
    [10, { tool: 'sleep', args: { ms }, fits: (answer) => answer === `slept ${ms} ms` }],
    [
      5,
      {
        tool: 'progress',
        args: { everyMs: 10, forMs: ms },
        fits: (answer) => answer === `done after ${ms} ms`,
      },
    ],
    [5, { tool: 'big', args: { bytes }, fits: (answer) => answer.length === bytes }],
  ]);
}
