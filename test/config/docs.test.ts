/** The page about configuration says what the code does: fields, defaults, environment, and the problems it prints. */
import { readFile } from 'node:fs/promises';
import { serverDefaults } from '@bulkhead/workers';
import { describe, expect, it } from 'vitest';
import { allowedVariables } from '../../packages/runtime/src/config/environment.js';
import { entryKeys, optionRanges } from '../../packages/runtime/src/config/fields.js';
import { formatProblem } from '../../packages/runtime/src/config/types.js';
import { configDirectory } from './directory.js';

const page = await readFile(new URL('../../docs/config.md', import.meta.url), 'utf8');
const rows = page.split('\n').filter((line) => line.startsWith('| `'));

describe('docs/config.md', () => {
  it('names every field of an entry', () => {
    expect(entryKeys.filter((key) => !page.includes(`\`${key}\``))).toEqual([]);
  });

  it.each(Object.entries(serverDefaults))('gives the default of %s as %d', (key, value) => {
    const row = rows.find((line) => line.startsWith(`| \`${key}\``));
    expect(row?.split('|')[3]).toMatch(new RegExp(`^ ${value}\\b`));
  });

  it('gives the ranges that are not plain durations', () => {
    const { window, queueMax, maxMessageBytes, logMaxBytes } = optionRanges;
    for (const { min, max } of [window, queueMax, maxMessageBytes]) expect(page).toContain(`${min} … ${max}`);
    expect(page).toContain(`from ${logMaxBytes.min}`);
  });

  it('names every variable that passes to servers', () => {
    const upper = [...allowedVariables.posix.names, ...allowedVariables.windows.names].map((name) =>
      name.toUpperCase(),
    );
    expect(upper.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });

  it('shows problems word for word', async () => {
    const bad = [
      `{"mcpServers": {\n\n"tickets": {"url": "https://t.example/mcp", "headers": {
"Authorization": "Bearer \${TICKETS_TOKEN}"}}}}`,
      '{"mcpServers": {\n\n"wiki": {"serverUrl": "https://w.example"}}}',
      '{"mcpServers": {\n\n"db": {"command": "node db.js"}}}',
      '{"mcpServers": {\n\n"slow": {"command": "node", "timeout": 60}}}',
      '{"mcpServers": {\n"a": {"command": "node"},\n"b": {"command": "node"}}}',
      '{"mcpServers": {\n"a": {\n"command": "node"\n"args": []}}}',
    ];
    const shown: string[] = [];
    for (const content of bad) {
      const directory = await configDirectory({ project: content });
      const { problems, rejected } = await directory.load();
      const problem = rejected[0]?.problem ?? problems[0];
      if (problem !== undefined) shown.push(formatProblem({ ...problem, file: '/app/.mcp.json' }));
    }
    const block = /## Problems.*?```\n(.*?)```/s.exec(page)?.[1] ?? '';
    expect(block.trim().split('\n')).toEqual(shown);
  });
});
