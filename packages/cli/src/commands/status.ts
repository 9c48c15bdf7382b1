/** `bulkhead status`: what the resident's servers are doing; once, or again and again. */
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import type { StatusReport } from '@bulkhead/runtime/control/client';
import type { CommonOptions, Context } from '../context.js';
import { exitCode } from '../exit-codes.js';
import { meant } from '../resident/find-resident.js';
import { patient } from '../resident/patient.js';
import { statusCode, statusTable, type Widths } from '../resident/status-table.js';
import { onScreen } from '../screen.js';

export interface StatusOptions extends CommonOptions {
  watch?: boolean;
}

const EVERY_MS = 1_000;

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
    await output.data(screen ? onScreen(text, output.stdout, 'bulkhead status') : text);
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

function shown(report: StatusReport, tools: boolean, { output }: Context, widths?: Widths): string {
  if (output.json) return `${JSON.stringify(report)}\n`;
  const width = output.stdout.isTTY === true ? output.stdout.columns : undefined;
  return statusTable(report, { width, tools, ...(widths === undefined ? {} : { widths }) });
}
