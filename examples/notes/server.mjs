#!/usr/bin/env node
/**
 * Notes over stdio: `node server.mjs [directory]`. Three tools and one resource, `notes://list`, whose readers are told
 * when a note is added. Without a directory the notes live as long as the server.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { SubscribeRequestSchema, UnsubscribeRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

const LIST = 'notes://list';
/** A name is a file's name: nothing in it can lead out of the directory. */
const NAME = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'lower-case letters, digits and hyphens, at most 64')
  .describe('Name of the note: lower-case letters, digits and hyphens.');

const directory = process.argv[2];
const notes = new Map();

if (directory !== undefined) {
  mkdirSync(directory, { recursive: true });
  for (const file of readdirSync(directory).sort()) {
    if (file.endsWith('.md')) notes.set(file.slice(0, -3), readFileSync(join(directory, file), 'utf8'));
  }
}

function keep(name, body) {
  notes.set(name, body);
  if (directory === undefined) return;
  const next = join(directory, `${name}.next`);
  writeFileSync(next, body);
  renameSync(next, join(directory, `${name}.md`));
}

const names = () => [...notes.keys()].sort();
const text = (value) => ({ content: [{ type: 'text', text: value }] });

const server = new McpServer(
  { name: 'notes', version: '1.0.0' },
  {
    capabilities: { resources: { subscribe: true } },
    instructions: 'Notes are short Markdown texts. Look at the list before you add one that may exist.',
  },
);

let subscribed = false;
server.server.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
  if (params.uri === LIST) subscribed = true;
  return {};
});
server.server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => {
  if (params.uri === LIST) subscribed = false;
  return {};
});

server.registerTool(
  'add_note',
  {
    title: 'Add a note',
    description: 'Writes a note. One of the same name is replaced.',
    inputSchema: { name: NAME, body: z.string().max(100_000).describe('Text of the note, Markdown.') },
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  },
  async ({ name, body }) => {
    const replaced = notes.has(name);
    keep(name, body);
    if (subscribed) await server.server.sendResourceUpdated({ uri: LIST });
    return text(`${replaced ? 'Replaced' : 'Added'} the note ${name}.`);
  },
);

server.registerTool(
  'get_note',
  {
    title: 'Read a note',
    description: 'Gives the text of one note.',
    inputSchema: { name: NAME },
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  },
  ({ name }) => {
    const body = notes.get(name);
    if (body !== undefined) return text(body);
    return { ...text(`There is no note ${name}. Known: ${names().join(', ') || 'none'}.`), isError: true };
  },
);

server.registerTool(
  'list_notes',
  {
    title: 'List notes',
    description: 'Gives the names of all notes, one a line.',
    inputSchema: {},
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  },
  () => text(names().join('\n')),
);

server.registerResource(
  'list',
  LIST,
  { title: 'All notes', description: 'Names of all notes, one a line.', mimeType: 'text/plain' },
  (uri) => ({ contents: [{ uri: uri.href, mimeType: 'text/plain', text: names().join('\n') }] }),
);

await server.connect(new StdioServerTransport());
