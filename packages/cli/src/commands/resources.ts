/** `bulkhead resources list` and `read`: what servers offer to read, and one of it. */
import { BulkheadError, isRecord } from '@bulkhead/workers';
import type { CommonOptions, Context } from '../context.js';
import { listEach, withServer } from '../each-server.js';
import { exitCode } from '../exit-codes.js';
import { foreignText } from '../foreign-text.js';
import { plain } from '../output.js';
import { KnownServers } from '../resident/known-servers.js';
import { table } from '../table.js';

type Row = Record<string, unknown> & { server: string };

export async function listResources(
  server: string | undefined,
  options: CommonOptions,
  context: Context,
): Promise<number> {
  return listEach(
    server,
    options,
    context,
    async (view, signal): Promise<Row[]> => {
      const [resources, templates] = await Promise.all([
        view.listResources({ signal }),
        view.listResourceTemplates({ signal }),
      ]);
      return [...resources, ...templates].map((resource) => ({ ...resource, server: view.name }));
    },
    { what: 'resources', asTable },
  );
}

export async function readResource(
  server: string,
  uri: string,
  options: CommonOptions,
  context: Context,
): Promise<number> {
  const { output } = context;
  const known = await KnownServers.open(options, context, (name) => name === server);
  return withServer(server, known, options, context, async (view) => {
    const result = await view.readResource(uri, { signal: context.interrupt.signal });
    if (output.json) {
      await output.data(`${JSON.stringify(result)}\n`);
      return exitCode.ok;
    }
    const contents = Array.isArray(result.contents) ? result.contents.filter(isRecord) : [];
    if (contents.length === 0) output.note('(empty resource)');
    for (const { text, blob, mimeType } of contents) {
      if (typeof text === 'string') await output.data(ended(foreignText(text, output.stdout)));
      else if (typeof blob === 'string') await printBytes(blob, mimeType, server, output);
    }
    return exitCode.ok;
  });
}

/** Bytes are for a file or a program; a terminal gets their size. */
async function printBytes(
  blob: string,
  mimeType: unknown,
  server: string,
  output: Context['output'],
): Promise<void> {
  const bytes = Buffer.from(blob, 'base64');
  if (output.stdout.isTTY !== true) {
    await output.bytes(bytes);
    return;
  }
  const kind = typeof mimeType === 'string' ? ` of ${plain(mimeType)}` : '';
  const message = `${bytes.length} bytes${kind} are nothing for a terminal; write them to a file: > FILE`;
  throw new BulkheadError('BAD_INPUT', message, { server });
}

function asTable(rows: readonly Row[], stdout: Context['output']['stdout']): string {
  const lines = rows.map((row) => [
    plain(row.server),
    plain(text(row.uri) || text(row.uriTemplate)),
    row.uri === undefined ? 'template' : '',
    plain(text(row.mimeType)),
    plain(text(row.title) || text(row.name)),
  ]);
  return table(['server', 'uri', 'mark', 'type', 'name'], lines, {
    width: stdout.isTTY === true ? stdout.columns : undefined,
  });
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function ended(content: string): string {
  return content === '' || content.endsWith('\n') ? content : `${content}\n`;
}
