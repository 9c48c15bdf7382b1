/** `bulkhead describe`: one tool with its arguments, as its server lists it now. */
import type { CatalogTool } from '@bulkhead/runtime';
import { type CommonOptions, type Context, time } from '../context.js';
import { exitCode } from '../exit-codes.js';
import { findTool, refuseHeld } from '../find-tool.js';
import { harmless } from '../foreign-text.js';
import { plain } from '../output.js';
import { parameterRows } from '../parameters.js';
import { KnownServers } from '../resident/known-servers.js';
import { table } from '../table.js';
import { parseTarget } from '../target.js';

export async function describe(
  targetText: string,
  options: CommonOptions,
  context: Context,
): Promise<number> {
  const { output, interrupt } = context;
  const timeoutMs = time('--timeout', options.timeout);
  const known = await KnownServers.open(options, context, (name) => targetText.startsWith(`${name}.`));
  const target = parseTarget(targetText, known.names, (name) => known.unknown(name));
  const servers = 'server' in target ? [target.server] : target.candidates;
  if (known.config !== undefined) refuseHeld(servers, known.config);
  return known.use(servers, async (host) => {
    const { view, tool } = await interrupt.race(findTool(host, target, servers, timeoutMs));
    const found = host.tools().find(({ server, name }) => server === view.name && name === tool.name);
    if (found !== undefined) await output.data(output.json ? `${JSON.stringify(found)}\n` : asText(found));
    return exitCode.ok;
  });
}

function asText(tool: CatalogTool): string {
  const { server, name, fullName, title, description, inputSchema, outputSchema, annotations = {} } = tool;
  const marks = [
    ['read-only', annotations.readOnlyHint],
    ['destructive', annotations.destructiveHint],
    ['idempotent', annotations.idempotentHint],
    ['open world', annotations.openWorldHint],
  ].flatMap(([mark, set]) => (set === true ? [String(mark)] : []));
  const parts = [
    `${plain(server)}.${plain(name)}${title === undefined ? '' : ` (${plain(title)})`}`,
    `full name: ${fullName}`,
    ...(marks.length === 0 ? [] : [`its server says: ${marks.join(', ')}`]),
    ...(description === undefined || description.trim() === '' ? [] : ['', harmless(description.trim())]),
    '',
  ];
  const rows = parameterRows(inputSchema);
  if (rows.length === 0) parts.push('takes no arguments');
  else
    parts.push(
      table(
        ['argument', 'type', '', 'description'],
        rows.map((row) => row.map(plain)),
      ).trimEnd(),
    );
  if (outputSchema !== undefined) parts.push('', `gives: ${plain(JSON.stringify(outputSchema))}`);
  return `${parts.join('\n')}\n`;
}
