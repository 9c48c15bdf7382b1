import { expect, test } from 'vitest';
import { corpusServers, corpusTools, queries, unseenQueries } from './corpus.js';

test('the corpus holds at least 300 tools of 20 servers, each with its package, version and licence', () => {
  expect(corpusServers.length).toBeGreaterThanOrEqual(20);
  expect(corpusTools().length).toBeGreaterThanOrEqual(300);
  for (const { package: name, version, license } of corpusServers) {
    expect(name).toMatch(/^(@[\w-]+\/)?[\w-]+$/);
    expect(version).toMatch(/^\d+\.\d+\.\d+$/);
    expect(license).toMatch(/^(MIT|Apache-2\.0|SEE LICENSE IN LICENSE)$/);
  }
});

test('every tool has its schema, and no two of a server share a name', () => {
  for (const { server, tools } of corpusServers) {
    expect(new Set(tools.map(({ name }) => name)).size, server).toBe(tools.length);
    for (const { name, inputSchema } of tools) expect(inputSchema.type, `${server}.${name}`).toBe('object');
  }
});

test('there are 60 questions and 20 more, and every tool that answers one is in the corpus', () => {
  const known = new Set(
    corpusServers.flatMap(({ server, tools }) => tools.map(({ name }) => `${server}.${name}`)),
  );
  expect(new Set(queries.map(({ query }) => query)).size).toBe(60);
  const all = [...queries, ...unseenQueries];
  expect(new Set(all.map(({ query }) => query)).size).toBe(80);
  expect(all.flatMap(({ expect: tools }) => tools.filter((tool) => !known.has(tool)))).toEqual([]);
});
