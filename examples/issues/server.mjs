#!/usr/bin/env node
/**
 * An issue tracker over stdio: `node server.mjs [file.json]`. Two tools read, one writes, and each says so in its
 * annotations: a host can let the readers pass and ask before the writer. Without a file everything is forgotten at the
 * end.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';
import { FIRST_ISSUES } from './first-issues.mjs';

const file = process.argv[2];
const issues = new Map();

function load() {
  const stored =
    file !== undefined && existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : FIRST_ISSUES;
  for (const issue of stored) issues.set(issue.id, { ...issue, comments: [...issue.comments] });
}

/** Whole or not at all: a crash in the middle leaves the file of before. */
function store() {
  if (file === undefined) return;
  const next = `${file}.${process.pid}.next`;
  writeFileSync(next, `${JSON.stringify([...issues.values()], null, 2)}\n`);
  renameSync(next, file);
}

const text = (value) => ({ content: [{ type: 'text', text: JSON.stringify(value, null, 2) }] });
const failed = (message) => ({ content: [{ type: 'text', text: message }], isError: true });
const unknown = (id) =>
  failed(
    `There is no issue ${id}. Known: ${[...issues.keys()].join(', ')}. Call list_issues to see their titles.`,
  );

const server = new McpServer(
  { name: 'issues', version: '1.0.0' },
  {
    instructions:
      'Issue numbers come from list_issues. Read an issue with get_issue before you comment on it.',
  },
);

server.registerTool(
  'list_issues',
  {
    title: 'List issues',
    description: 'Lists issues with number, title, state and labels, newest first.',
    inputSchema: {
      state: z.enum(['open', 'closed', 'all']).default('open').describe('Which issues. Default: open.'),
      label: z.string().optional().describe('Only issues with this label.'),
    },
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  },
  ({ state, label }) =>
    text(
      [...issues.values()]
        .filter((issue) => state === 'all' || issue.state === state)
        .filter((issue) => label === undefined || issue.labels.includes(label))
        .sort((a, b) => b.id - a.id)
        .map(({ comments, body: _, ...shown }) => ({ ...shown, comments: comments.length })),
    ),
);

server.registerTool(
  'get_issue',
  {
    title: 'Read an issue',
    description: 'Gives one issue with its text and all its comments.',
    inputSchema: { id: z.number().int().positive().describe('Number of the issue.') },
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  },
  ({ id }) => {
    const issue = issues.get(id);
    return issue === undefined ? unknown(id) : text(issue);
  },
);

server.registerTool(
  'add_comment',
  {
    title: 'Comment on an issue',
    description: 'Adds a comment to an issue. Everybody who follows the issue is told.',
    inputSchema: {
      id: z.number().int().positive().describe('Number of the issue.'),
      body: z.string().trim().min(1).max(10_000).describe('Text of the comment, Markdown.'),
    },
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  },
  ({ id, body }) => {
    const issue = issues.get(id);
    if (issue === undefined) return unknown(id);
    issue.comments.push({ author: 'agent', body });
    store();
    return text({ id, comment: issue.comments.length });
  },
);

try {
  load();
} catch (error) {
  console.error(
    `issues: ${file} cannot be read as a list of issues: ${error.message}. Mend it or name another file.`,
  );
  process.exit(1);
}
await server.connect(new StdioServerTransport());
