/** `bulkhead top`: the servers of the resident on a live screen, with keys; where there is no screen, lines as of `status --watch`. */
import type { CommonOptions, Context } from '../context.js';
import { exitCode } from '../exit-codes.js';
import { meant } from '../resident/find-resident.js';
import { patient } from '../resident/patient.js';
import { status } from './status.js';

const BUILD_SERVER = /^(CI|CI_.*|CONTINUOUS_INTEGRATION)$/;

/** As for a program that SIGINT ended: in raw mode Ctrl-C is a key. */
const INTERRUPTED = 130;

export async function top(options: CommonOptions, context: Context): Promise<number> {
  const { output, interrupt } = context;
  const client = meant(options, context);
  const lacking = options.json === true ? 'with --json' : lack(process.env);
  if (lacking !== undefined) {
    output.note(`note: no live screen ${lacking}; this is status --watch`);
    return status({ ...options, watch: true }, context);
  }
  // React and its reconciler look at this once, when they are loaded; the other build measures and keeps every frame.
  process.env.NODE_ENV = 'production';
  // Ink draws nothing, and without colour, where it takes the environment for a build server's. Here is a terminal.
  for (const name of Object.keys(process.env)) if (BUILD_SERVER.test(name)) delete process.env[name];
  const [{ Screen }, { Top }] = await Promise.all([import('../top/screen.js'), import('../top/top.js')]);
  const live = new Top((signal) => patient(client, context, signal));
  const colour = (process.env.NO_COLOR ?? '') === '';
  const terminal = { stdin: process.stdin, stdout: process.stdout, colour };
  const screen = new Screen(terminal, { onKey: (key) => live.press(key), onResize: () => live.draw() });
  try {
    const end = await interrupt.race(live.run(screen));
    return end === 'quit' ? exitCode.ok : INTERRUPTED;
  } finally {
    screen.close();
  }
}

/** Why there can be no screen; undefined when there can. */
function lack(env: NodeJS.ProcessEnv): string | undefined {
  if (process.stdout.isTTY !== true || process.stdin.isTTY !== true) return 'without a terminal';
  if (env.TERM === 'dumb' || env.TERM === undefined) return 'on a terminal of this kind (TERM)';
  return undefined;
}
