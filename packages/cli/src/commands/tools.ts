/** `bulkhead tools`: what the servers offer, as a table or as JSON. */
import type { CatalogTool } from '@bulkhead/runtime';
import { type CommonOptions, type Context, time } from '../context.js';
import { exitCode } from '../exit-codes.js';
import { plain } from '../output.js';
import { notReady, oneServer, worst } from '../ready-servers.js';
import { demanded } from '../resident/find-resident.js';
import { remoteHost, type ToolHost } from '../resident/remote-host.js';
import { withServers } from '../resident/with-servers.js';
import { atOnce, openConfig } from '../session.js';
import { table } from '../table.js';

export async function tools(
  server: string | undefined,
  options: CommonOptions,
  context: Context,
): Promise<number> {
  const timeoutMs = time('--timeout', options.timeout);
  if (typeof options.resident === 'string') {
    const client = demanded(options.resident, context);
    const names = (await client.status()).servers
      .filter(({ state }) => state !== 'disabled')
      .map(({ name }) => name);
    return show(remoteHost(client), server === undefined ? names : [server], timeoutMs, context);
  }
  const all = await openConfig(options, context, (name) => name === server);
  const config = server === undefined ? all : oneServer(server, all);
  const servers = config.servers.filter(({ spec }) => !spec.disabled).map(({ name }) => name);
  return withServers(atOnce(config), options, context, (host) => show(host, servers, timeoutMs, context));
}

async function show(
  host: ToolHost,
  servers: string[],
  timeoutMs: number | undefined,
  { output, interrupt }: Context,
): Promise<number> {
  const report = await interrupt.race(
    host.ready({ servers, ...(timeoutMs === undefined ? {} : { timeoutMs }) }),
  );
  for (const failure of report.failed) output.note(notReady(failure));
  const list = host.tools();
  await output.data(output.json ? asJson(list) : await asTable(list, output.stdout));
  if (list.length === 0 && report.ready.length > 0) output.note('(no tools)');
  return report.ready.length === 0 && report.failed.length > 0 ? worst(report) : exitCode.ok;
}

/** One tool a line inside one array: a JSON document that line tools can read too. */
function asJson(list: readonly CatalogTool[]): string {
  const lines = list.map(({ server, name, fullName, description, inputSchema, annotations }) =>
    JSON.stringify({ server, name, fullName, description, inputSchema, annotations }),
  );
  return lines.length === 0 ? '[]\n' : `[\n${lines.join(',\n')}\n]\n`;
}

async function asTable(
  list: readonly CatalogTool[],
  stdout: { columns?: number; isTTY?: boolean },
): Promise<string> {
  if (list.length === 0) return '';
  const rows = list.map(({ server, name, description, annotations }) => [
    plain(server),
    plain(name),
    annotations?.readOnlyHint === true ? 'read-only' : '',
    plain((description ?? '').trim().split('\n')[0] ?? ''),
  ]);
  return table(['server', 'tool', 'mark', 'description'], rows, {
    width: stdout.isTTY === true ? stdout.columns : undefined,
  });
}
