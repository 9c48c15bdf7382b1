/** `bulkhead record`: another command of this program in a process of its own, whose servers are recorded. */
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { BulkheadError } from '@bulkhead/workers/errors';
import { type CommonOptions, type Context, usageError } from '../context.js';
import { RECORD_VARIABLE } from '../recording.js';

export interface RecordCommandOptions extends CommonOptions {
  out: string;
}

/** Commands that start servers of their own and say something to them. */
const RECORDED: ReadonlySet<string> = new Set([
  'call',
  'batch',
  'serve',
  'tools',
  'describe',
  'search',
  'resources',
  'prompts',
  'doctor',
]);

/** The exit status is that of the recorded command. */
export async function record(
  [name = '', ...rest]: readonly string[],
  { out }: RecordCommandOptions,
  { interrupt, output }: Context,
): Promise<number> {
  if (!RECORDED.has(name)) {
    throw usageError(`record: expected one of ${[...RECORDED].join(', ')} after --, got "${name}"`);
  }
  const file = resolve(out);
  const program = process.argv[1];
  if (program === undefined) throw new BulkheadError('INTERNAL', 'this program does not know its own file');
  const child = spawn(process.execPath, [...process.execArgv, program, name, ...rest], {
    stdio: 'inherit',
    env: { ...process.env, [RECORD_VARIABLE]: file },
  });
  const pass = (): void => {
    // Ctrl-C on a terminal reaches the command by itself; told twice it would end without grace.
    if (interrupt.exitCode === 130 && process.stderr.isTTY === true) return;
    child.kill('SIGTERM');
  };
  interrupt.signal.addEventListener('abort', pass, { once: true });
  interrupt.kill.addEventListener('abort', pass, { once: true });
  const code = await new Promise<number>((resolveCode, reject) => {
    child.once('error', reject);
    child.once('close', (status, signal) => resolveCode(status ?? (signal === 'SIGKILL' ? 137 : 143)));
  });
  output.note(`recorded to ${file}; look through it before you give it away`);
  return code;
}
