/**
 * What is done to a bad server: calls that hang, crash, block or spin it, and a hand that kills, stops and restarts it.
 * Its calls may end in every way that the closed set knows, but each must end, in time.
 */
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises';
import { textOf } from './book.mjs';
import { BAD_MESSAGE_BYTES, RUN_VARIABLE } from './cast.mjs';
import { signalMarked } from './processes.mjs';
import { generator } from './random.mjs';
import { SPINNER } from './spinner.mjs';

const CALLERS = 2;
const SPINNER_ALONE_MS = 7_000;
/** Idle limit plus backstop is 3 s, twice for a call that is tried again; the rest is for a busy machine. */
const LATEST_END_MS = 15_000;

/** Resolves once `stage.closed` and the last call has ended. */
export async function mischief(stage, server, book) {
  const callers = Array.from({ length: CALLERS }, (_, i) => caller(stage, server.name, book, i));
  await Promise.all([...callers, hand(stage, server.name)]);
}

async function caller(stage, name, book, index) {
  const random = generator(stage.seed, `${name} caller ${index}`);
  let first = name === SPINNER ? { tool: 'trap' } : undefined;
  while (!stage.closed) {
    const idempotent = random.chance(0.3);
    const { tool, args = {}, timeoutMs, abortMs } = first ?? draw(random);
    first = undefined;
    const controller = abortMs === undefined ? undefined : new AbortController();
    const timer = setTimeout(() => controller?.abort(), abortMs);
    const call = book.begin(idempotent);
    const startedAt = performance.now();
    let pauseMs = random.between(5, 40);
    try {
      const result = await stage.runtime
        .server(name)
        .callTool(
          tool,
          { text: textOf(call), ...args },
          { idempotent, timeoutMs, signal: controller?.signal },
        );
      book.end(call, result.outcome);
    } catch (error) {
      book.end(call, error.outcome ?? 'no outcome');
      stage.count(`bad calls ended as ${error.code}`);
      if (error.outcome === undefined || error.code === 'INTERNAL')
        stage.violation(`${name}: call ${call} (${tool}) ended as ${error.code ?? error}: ${error.stack}`);
      if (error.outcome === 'rejected') pauseMs = 100;
    } finally {
      clearTimeout(timer);
    }
    const tookMs = Math.round(performance.now() - startedAt);
    if (tookMs > LATEST_END_MS) stage.violation(`${name}: call ${call} (${tool}) took ${tookMs} ms to end`);
    await wait(pauseMs);
  }
}

function draw(random) {
  return random.weighted([
    [60, { tool: 'echo' }],
    [8, { tool: 'sleep', args: { ms: random.between(1, 300) } }],
    [4, { tool: 'fail' }],
    [3, { tool: 'progress', args: { everyMs: 20, forMs: 200 } }],
    [3, { tool: 'stderr' }],
    [6, { tool: 'hang', timeoutMs: random.between(50, 500) }],
    [5, { tool: 'hang', abortMs: random.between(0, 300) }],
    [3, { tool: 'exit', args: { code: random.between(0, 3) } }],
    [3, { tool: 'exit', args: { signal: random.pick(['SIGKILL', 'SIGSEGV', 'SIGABRT']) } }],
    [2, { tool: 'block', args: { ms: random.between(500, 3_000) }, timeoutMs: random.between(200, 2_000) }],
    [3, { tool: 'trap' }],
    [4, { tool: 'big', args: { bytes: random.between(100_000, 4 * BAD_MESSAGE_BYTES) } }],
  ]);
}

/** One act after the other, with pauses. A process that is stopped when the end comes stays stopped: close() must cope. */
async function hand(stage, name) {
  const random = generator(stage.seed, `${name} hand`);
  const server = stage.runtime.server(name);
  const send = async (signal) => {
    const pid = await pidOf(stage, name);
    if (pid === undefined || !signalMarked(pid, signal, RUN_VARIABLE, stage.run)) return undefined;
    stage.count(`${signal} to a server`);
    return pid;
  };
  const acts = [
    [4, () => send('SIGKILL')],
    [2, () => send('SIGTERM')],
    [
      4,
      async () => {
        const pid = await send('SIGSTOP');
        await wait(random.between(50, 1_500));
        if (pid !== undefined && !stage.over) signalMarked(pid, 'SIGCONT', RUN_VARIABLE, stage.run);
      },
    ],
    [2, () => command(stage, name, 'restart', () => server.restart())],
    [
      2,
      async () => {
        // The agent computes meanwhile: end and new beginning of the server are both there at once afterwards.
        const restarted = command(stage, name, 'restart', () => server.restart());
        await turn();
        const until = performance.now() + random.between(300, 900);
        while (performance.now() < until);
        stage.count("blocks of the agent's own loop");
        await restarted;
      },
    ],
    [
      2,
      async () => {
        await command(stage, name, 'stop', () => server.stop());
        await wait(random.between(0, 200));
        await command(stage, name, 'start', () => server.start());
      },
    ],
  ];
  if (name === SPINNER) await wait(SPINNER_ALONE_MS);
  while (!stage.over) {
    await wait(random.between(200, 1_200));
    if (!stage.over) await random.weighted(acts)();
  }
}

async function pidOf(stage, name) {
  const status = await command(stage, name, 'status', () => stage.runtime.status());
  return status?.servers.find((server) => server.name === name)?.pid;
}

/** Commands go to the supervisor: they may fail when it is killed or closed meanwhile, and at no other time. */
async function command(stage, name, word, act) {
  const losses = stage.losses;
  stage.count(`${word} commands`);
  try {
    return await act();
  } catch (error) {
    if (stage.losses === losses && !stage.killing && !stage.closed)
      stage.violation(`${name}: ${word} failed with ${error.code ?? error}: ${error.message}`);
    return undefined;
  }
}
