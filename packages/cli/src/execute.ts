/** Runs a chosen command between signals and exit: every error becomes one message and one exit status. */
import { BulkheadError } from '@bulkhead/workers/errors';
import type { CommonOptions, Context } from './context.js';
import { exitCode, exitCodeOf } from './exit-codes.js';
import { Interrupt, Interrupted } from './interrupt.js';
import { Output } from './output.js';

export async function execute(
  run: (context: Context) => Promise<number>,
  options: CommonOptions,
): Promise<void> {
  const output = new Output();
  const interrupt = new Interrupt();
  output.json = options.json ?? false;
  output.verbose = options.verbose ?? false;
  interrupt.listen();
  let code: number;
  try {
    code = await run({ output, interrupt });
  } catch (error) {
    if (!(error instanceof Interrupted)) output.error(error);
    code = error instanceof BulkheadError ? exitCodeOf(error.code) : exitCode.failed;
  }
  interrupt.dispose();
  await output.exit(interrupt.exitCode ?? code);
}
