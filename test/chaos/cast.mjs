/**
 * Who plays: good servers that do everything right, and bad ones that are somebody else at every launch. What a bad
 * server is at its k-th launch is drawn from the seed.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { toolDefinitions } from '../fixtures/scripted/tools.mjs';
import { generator } from './random.mjs';
import { SPINNER } from './spinner.mjs';

const SCRIPTED = fileURLToPath(new URL('../fixtures/scripted-server.mjs', import.meta.url));
const ECHO = fileURLToPath(new URL('../../examples/echo/server.mjs', import.meta.url));

export const GOOD_SCRIPTED = 6;
export const GOOD_ECHO = 3;
export const BAD = 5;
/** Launches of one bad server that are drawn; later ones are honest. */
const LAUNCHES = 2_000;
/** Largest message of a bad server: `big` calls and floods without a line end go beyond it. */
export const BAD_MESSAGE_BYTES = 512 * 1024;

/** Every process of a run carries this variable, so that the end can look for what is left of it. */
export const RUN_VARIABLE = 'BULKHEAD_CHAOS_RUN';

/** End of the names of files that hold a grandchild's pid. */
export const GRANDCHILD = '.grandchild';

/** Shortened so that a run of seconds goes all the ways that take minutes in earnest. */
export const limits = {
  heartbeatMs: 100,
  watchdogRoundMs: 100,
  suspectAfterMs: 700,
  deadAfterMs: 3_000,
  eofGraceMs: 300,
  termGraceMs: 300,
  killGraceMs: 2_000,
  terminateGraceMs: 2_000,
  backoffBaseMs: 50,
  backoffCapMs: 500,
  restartMax: 5,
  restartWindowMs: 5_000,
  stableAfterMs: 2_000,
  quarantineTrialMs: 1_500,
  quarantineTrialCapMs: 3_000,
  pingIdleMs: 1_000,
  pingTimeoutMs: 1_000,
};

/**
 * @returns {{name: string, kind: 'good' | 'echo' | 'bad', ledger?: string, entry: object}[]} ledger: the file in which
 *   the server writes down each message it receives
 */
export function makeCast(directory, seed, run) {
  const env = { [RUN_VARIABLE]: run };
  const named = (kind, amount, make) =>
    Array.from({ length: amount }, (_, i) => ({ name: `${kind}-${i}`, kind, ...make(`${kind}-${i}`) }));
  const start = (...args) => ({ command: process.execPath, args, env });
  return [
    ...named('good', GOOD_SCRIPTED, (name) => {
      const ledger = join(directory, `${name}.ledger`);
      return { ledger, entry: start(SCRIPTED, JSON.stringify({ record: ledger })) };
    }),
    ...named('echo', GOOD_ECHO, () => ({ entry: start(ECHO) })),
    ...named('bad', BAD, (name) => {
      const ledger = join(directory, `${name}.ledger`);
      const script = join(directory, `${name}.json`);
      writeFileSync(script, JSON.stringify(badScript(directory, name, ledger, seed)));
      const options = {
        callTimeoutMs: 2_000,
        startupTimeoutMs: 3_000,
        maxMessageBytes: BAD_MESSAGE_BYTES,
        logMaxBytes: 256 * 1024,
      };
      return { ledger, entry: { ...start(SCRIPTED, script), ...options } };
    }),
  ];
}

function badScript(directory, name, ledger, seed) {
  const random = generator(seed, `${name} launches`);
  const trap = {
    name: 'trap',
    inputSchema: { type: 'object' },
    // Backtracks for ever on "aaa…!": checking the result spins the server thread until the watchdog ends it.
    outputSchema: { type: 'object', properties: { s: { type: 'string', pattern: '^(a+)+$' } } },
  };
  const structuredContent = { s: `${'a'.repeat(60)}!` };
  return {
    record: ledger,
    tools: [...toolDefinitions, trap],
    rules: [{ method: 'tools/call', tool: 'trap', reply: { result: { content: [], structuredContent } } }],
    launches: {
      file: join(directory, `${name}.launches`),
      scripts: Array.from({ length: LAUNCHES }, (_, k) => {
        const drawn = personality(random, join(directory, `${name}-${k}${GRANDCHILD}`));
        return k === 0 && name === SPINNER ? {} : drawn;
      }),
    },
  };
}

function personality(random, pidFile) {
  return random.weighted([
    [6, {}],
    [2, { exitAfter: { requests: 2, code: 9, stderr: 'left after the handshake\n' } }],
    [2, { exitAfter: { requests: random.between(3, 40), answered: random.chance(0.5), code: 1 } }],
    [1, { exitAtStart: { code: 3, stderr: 'left before the handshake\n' } }],
    [1, { startDelayMs: 60_000 }],
    [2, { ignoreSigterm: true, ignoreEof: true }],
    [
      2,
      {
        grandchild: { pidFile, holdStdout: random.chance(0.5), ignoreSigterm: random.chance(0.5) },
        ignoreEof: random.chance(0.5),
      },
    ],
    [1, { floods: [{ stream: 'stderr', bytes: 20_000_000, lineBytes: 80 }] }],
    [1, { floods: [{ stream: 'stdout', bytes: 5_000_000, lineBytes: 120 }] }],
    [1, { floods: [{ stream: 'stdout', bytes: 4 * BAD_MESSAGE_BYTES }] }],
    [1, { floods: [{ on: 'tools/call', stream: 'stderr', bytes: 100_000 }] }],
    [1, { wire: { noise: ['loading …'], copies: 2 } }],
    [1, { wire: { pieceBytes: 11, eol: '\r\n' } }],
    [1, { pings: { everyMs: 20 } }],
  ]);
}
