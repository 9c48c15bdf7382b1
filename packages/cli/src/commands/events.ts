/** `bulkhead events`: what happened in the resident lately, and with `-f` what happens from now on. */
import type { ControlEvent } from '@bulkhead/runtime/control/client';
import { type CommonOptions, type Context, count } from '../context.js';
import { exitCode } from '../exit-codes.js';
import { plain } from '../output.js';
import { meant } from '../resident/find-resident.js';

export interface EventsOptions extends CommonOptions {
  follow?: boolean;
  lines?: string;
}

/** As many as a resident keeps. */
const MOST = 256;

export async function events(options: EventsOptions, context: Context): Promise<number> {
  const { output, interrupt } = context;
  const follow = options.follow === true;
  const recent = count('-n', options.lines, MOST) ?? (follow ? 10 : MOST);
  const client = meant(options, context);
  for await (const event of client.events({ recent, follow })) {
    await output.data(output.json ? `${JSON.stringify(event)}\n` : line(event));
    if (output.closed.aborted) return exitCode.ok;
  }
  if (follow && !interrupt.signal.aborted) output.note(`resident "${client.entry.name}" has ended`);
  return exitCode.ok;
}

function line({ at, event, data }: ControlEvent): string {
  const { server, ...rest } = data;
  const who = typeof server === 'string' ? ` ${plain(server)}` : '';
  const what = event === 'state' ? stateText(rest) : plain(JSON.stringify(rest));
  return `${at} ${event}${who} ${what}\n`;
}

function stateText({ state, reason }: Record<string, unknown>): string {
  const message = (reason as { message?: unknown } | undefined)?.message;
  return typeof message === 'string' ? `${state}: ${plain(message)}` : String(state);
}
