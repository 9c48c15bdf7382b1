/** `bulkhead prompts list` and `get`: the prompts of servers, and one filled in. */
import { BulkheadError, contentBlocks, isRecord } from '@bulkhead/workers';
import { parsePair, readPairs } from '../arguments.js';
import { type CommonOptions, type Context, usageError } from '../context.js';
import { listEach, withServer } from '../each-server.js';
import { exitCode } from '../exit-codes.js';
import { foreignText } from '../foreign-text.js';
import { nearest } from '../nearest.js';
import { plain } from '../output.js';
import { readText } from '../read-text.js';
import { blockText } from '../render.js';
import { KnownServers } from '../resident/known-servers.js';
import { table } from '../table.js';
import { parseTarget } from '../target.js';

type Row = Record<string, unknown> & { server: string };

export async function listPrompts(
  server: string | undefined,
  options: CommonOptions,
  context: Context,
): Promise<number> {
  return listEach(
    server,
    options,
    context,
    async (view, signal): Promise<Row[]> =>
      (await view.listPrompts({ signal })).map((prompt) => ({ ...prompt, server: view.name })),
    { what: 'prompts', asTable },
  );
}

export async function getPrompt(
  targetText: string,
  pairTexts: readonly string[],
  options: CommonOptions,
  context: Context,
): Promise<number> {
  const { output, interrupt } = context;
  const args = await argumentsOf(pairTexts, context);
  const known = await KnownServers.open(options, context, (name) => targetText.startsWith(`${name}.`));
  const target = parseTarget(targetText, known.names, (name) => known.unknown(name));
  if (!('server' in target)) throw usageError(`expected <server>.<prompt>, got "${targetText}"`);
  const { server, tool: name } = target;
  return withServer(server, known, options, context, async (view) => {
    const prompts = await view.listPrompts({ signal: interrupt.signal });
    const offered = prompts.flatMap((prompt) => (typeof prompt.name === 'string' ? [prompt.name] : []));
    if (!offered.includes(name)) {
      const near =
        offered.length === 0 ? 'it has none' : `nearest: ${nearest(name, offered).map(plain).join(', ')}`;
      throw new BulkheadError('BAD_INPUT', `server "${server}" has no prompt "${name}"; ${near}`, { server });
    }
    const result = await view.getPrompt(name, args, { signal: interrupt.signal });
    await output.data(output.json ? `${JSON.stringify(result)}\n` : asText(result, output.stdout));
    return exitCode.ok;
  });
}

/** Arguments of prompts are texts, whatever they look like. */
async function argumentsOf(
  texts: readonly string[],
  { interrupt }: Context,
): Promise<Record<string, string>> {
  const pairs = await interrupt.race(readPairs(texts.map(parsePair), readText));
  const json = pairs.find((pair) => pair.isJson);
  if (json !== undefined)
    throw usageError(`${json.name}:=…: arguments of prompts are texts; write ${json.name}=value`);
  return Object.fromEntries(pairs.map(({ name, text }) => [name, text]));
}

function asText(result: Record<string, unknown>, stdout: Context['output']['stdout']): string {
  const messages = Array.isArray(result.messages) ? result.messages.filter(isRecord) : [];
  const parts = messages.map(({ role, content }) => {
    const blocks = contentBlocks(Array.isArray(content) ? content : [content]);
    const text = foreignText(blocks.map(blockText).join('\n'), stdout);
    return `${plain(String(role))}: ${text}${text.endsWith('\n') ? '' : '\n'}`;
  });
  return parts.join('');
}

function asTable(rows: readonly Row[], stdout: Context['output']['stdout']): string {
  const lines = rows.map(({ server, name, title, description, arguments: parameters }) => [
    plain(server),
    plain(text(name)),
    plain(argumentsText(parameters)),
    plain((text(description) || text(title)).split('\n')[0] ?? ''),
  ]);
  return table(['server', 'prompt', 'arguments', 'description'], lines, {
    width: stdout.isTTY === true ? stdout.columns : undefined,
  });
}

function argumentsText(parameters: unknown): string {
  const list = Array.isArray(parameters) ? parameters.filter(isRecord) : [];
  return list.map(({ name, required }) => (required === true ? text(name) : `[${text(name)}]`)).join(' ');
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
