/** `bulkhead status`: what the resident's servers are doing; once, or again and again. */
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import type { StatusReport } from '@bulkhead/runtime/control/client';
import type { CommonOptions, Context } from '../context.js';
import { exitCode } from '../exit-codes.js';
import { meant } from '../resident/find-resident.js';
import { patient } from '../resident/patient.js';
import { statusCode, statusTable, type Widths } from '../resident/status-table.js';

export interface StatusOptions extends CommonOptions {
  watch?: boolean;
}

const EVERY_MS = 1_000;
/** Cursor home, and clear to the end: nothing flickers, and what scrolled by stays. */
const HOME = '\u001b[H';
const CLEAR_REST = '\u001b[J';
const CLEAR_LINE_REST = '\u001b[K';

export async function status(options: StatusOptions, context: Context): Promise<number> {
  const { output, interrupt } = context;
  const client = meant(options, context);
  const tools = options.verbose === true;
  if (options.watch !== true) {
    const report = await client.status({ tools });
    await output.data(shown(report, tools, context));
    return statusCode(report);
  }
  const screen = output.stdout.isTTY === true && process.env.TERM !== 'dumb' && !output.json;
  const widths: Widths = new Map();
  if (screen) await output.data('\u001b[2J');
  while (!output.closed.aborted) {
    const report = await patient(client, context).status({ tools });
    const text = shown(report, tools, context, screen ? widths : undefined);
    await output.data(screen ? onScreen(text, output.stdout) : text);
    await interrupt.race(pause(context));
  }
  return exitCode.ok;
}

/** Until the next look, or until the terminal has another size. */
async function pause({ output: { closed, stdout } }: Context): Promise<void> {
  const early = new AbortController();
  const signal = AbortSignal.any([closed, early.signal]);
  await Promise.race([wait(EVERY_MS, undefined, { signal }), once(stdout, 'resize', { signal })]).catch(
    () => {},
  );
  early.abort();
}

/** As many lines as the terminal has: one more and it would scroll at every look. */
function onScreen(text: string, { rows = 24 }: Context['output']['stdout'] & { rows?: number }): string {
  const lines = text.trimEnd().split('\n');
  const most = Math.max(1, rows - 1);
  const fitting =
    lines.length <= most
      ? lines
      : [...lines.slice(0, most - 1), `… ${lines.length - most + 1} more lines (bulkhead status shows all)`];
  return `${HOME}${fitting.map((line) => `${line}${CLEAR_LINE_REST}\n`).join('')}${CLEAR_REST}`;
}

function shown(report: StatusReport, tools: boolean, { output }: Context, widths?: Widths): string {
  if (output.json) return `${JSON.stringify(report)}\n`;
  const width = output.stdout.isTTY === true ? output.stdout.columns : undefined;
  return statusTable(report, { width, tools, ...(widths === undefined ? {} : { widths }) });
}
