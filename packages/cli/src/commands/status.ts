/** `bulkhead status`: what the resident's servers are doing; once, or again and again. */
import { setTimeout as wait } from 'node:timers/promises';
import type { StatusReport } from '@bulkhead/runtime/control/client';
import type { CommonOptions, Context } from '../context.js';
import { exitCode } from '../exit-codes.js';
import { meant } from '../resident/find-resident.js';
import { statusCode, statusTable } from '../resident/status-table.js';

export interface StatusOptions extends CommonOptions {
  watch?: boolean;
}

const EVERY_MS = 1_000;
/** Cursor home, and clear to the end: nothing flickers, and what scrolled by stays. */
const HOME = '\u001b[H';
const CLEAR_REST = '\u001b[J';

export async function status(options: StatusOptions, context: Context): Promise<number> {
  const { output, interrupt } = context;
  const client = meant(options, context);
  const tools = options.verbose === true;
  if (options.watch !== true) {
    const report = await client.status({ tools });
    await output.data(shown(report, tools, context));
    return statusCode(report);
  }
  const screen = output.stdout.isTTY === true && !output.json;
  if (screen) await output.data('\u001b[2J');
  while (!output.closed.aborted) {
    const text = shown(await client.status({ tools }), tools, context);
    await output.data(screen ? `${HOME}${text.replaceAll('\n', '\u001b[K\n')}${CLEAR_REST}` : text);
    await interrupt.race(wait(EVERY_MS, undefined, { signal: output.closed }).catch(() => {}));
  }
  return exitCode.ok;
}

function shown(report: StatusReport, tools: boolean, { output }: Context): string {
  if (output.json) return `${JSON.stringify(report)}\n`;
  const width = output.stdout.isTTY === true ? output.stdout.columns : undefined;
  return statusTable(report, { width, tools });
}
