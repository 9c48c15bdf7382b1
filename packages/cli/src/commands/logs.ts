/** `bulkhead logs`: what a server wrote to stderr. */
import { type CommonOptions, type Context, count } from '../context.js';
import { exitCode } from '../exit-codes.js';
import { foreignText } from '../foreign-text.js';
import { meant } from '../resident/find-resident.js';

export interface LogsOptions extends CommonOptions {
  follow?: boolean;
  lines?: string;
}

const MOST_LINES = 100_000;

export async function logs(server: string, options: LogsOptions, context: Context): Promise<number> {
  const { output } = context;
  const lines = count('-n', options.lines, MOST_LINES) ?? 100;
  const decoder = new TextDecoder();
  const client = meant(options, context);
  for await (const bytes of client.logs(server, { lines, follow: options.follow === true })) {
    await output.data(foreignText(decoder.decode(bytes, { stream: true }), output.stdout));
    if (output.closed.aborted) return exitCode.ok;
  }
  return exitCode.ok;
}
