/** `bulkhead search`: the tools of all servers that fit some words, the best first. */
import { findTools } from '@bulkhead/runtime';
import { type CommonOptions, type Context, count, time } from '../context.js';
import { exitCode } from '../exit-codes.js';
import { plain } from '../output.js';
import { notReady, worst } from '../ready-servers.js';
import { KnownServers } from '../resident/known-servers.js';
import { table } from '../table.js';

export interface SearchCommandOptions extends CommonOptions {
  limit?: string;
}

const DEFAULT_LIMIT = 10;
const MAX_LIMIT = 1_000;

export async function search(
  words: readonly string[],
  options: SearchCommandOptions,
  context: Context,
): Promise<number> {
  const { output, interrupt } = context;
  const timeoutMs = time('--timeout', options.timeout);
  const limit = count('--limit', options.limit, MAX_LIMIT) ?? DEFAULT_LIMIT;
  const known = await KnownServers.open(options, context);
  return known.use(undefined, async (host, servers) => {
    const report = await interrupt.race(
      host.ready({ servers, ...(timeoutMs === undefined ? {} : { timeoutMs }) }),
    );
    for (const failure of report.failed) output.note(notReady(failure));
    const found = await findTools(host.tools(), words.join(' '), limit);
    if (output.json) {
      const lines = found.map(({ server, name, fullName, description, inputSchema, annotations }) =>
        JSON.stringify({ server, name, fullName, description, inputSchema, annotations }),
      );
      await output.data(lines.length === 0 ? '[]\n' : `[\n${lines.join(',\n')}\n]\n`);
    } else if (found.length > 0) {
      const rows = found.map(({ server, name, description }) => [
        `${plain(server)}.${plain(name)}`,
        plain((description ?? '').trim().split('\n')[0] ?? ''),
      ]);
      const { stdout } = output;
      await output.data(
        table(['tool', 'description'], rows, { width: stdout.isTTY === true ? stdout.columns : undefined }),
      );
    } else output.note(`(no tool fits "${plain(words.join(' '))}")`);
    return report.ready.length === 0 && report.failed.length > 0 ? worst(report) : exitCode.ok;
  });
}
