import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { catalogText } from '../../packages/runtime/src/agent/instructions.js';
import { defineTool } from '../../packages/runtime/src/agent/local-tool.js';
import { ToolIndex } from '../../packages/runtime/src/agent/search/tool-index.js';
import { words } from '../../packages/runtime/src/agent/search/words.js';
import type { Tool, ToolOutput } from '../../packages/runtime/src/agent/tool.js';
import { createToolset } from '../../packages/runtime/src/agent/toolset.js';
import { useCensus } from '../support/census.js';
import { recorded } from '../support/record.js';
import { useRuntime } from '../support/runtime.js';
import { type Json, type Script, scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';
import { corpusServers, corpusTools, originOf, queries, requestText, unseenQueries } from './corpus.js';

useCensus();
const directory = useTempDir();
const start = useRuntime(directory);

const context = () => ({ callId: 'call-1', signal: new AbortController().signal });
const textOf = ({ content }: ToolOutput) => (content ?? []).map(({ text }) => text).join('\n');
const namesOf = (tools: readonly Tool[]) => tools.map(({ name }) => name);
const bytes = (text: string) => Buffer.byteLength(text);

const note = defineTool({
  name: 'note',
  description: 'Keeps a note.',
  inputSchema: {},
  capabilities: ['write'],
  execute: () => 'kept',
});

/** A small set over one server that lists these tools. */
async function smallSet(search: Parameters<typeof createToolset>[0]['search'] = { mode: 'always' }) {
  const tools = ['create_issue', 'list_issues', 'merge_branch', 'send_mail'].map((name) => ({
    name,
    description: `To ${name.replace('_', ' a ')}.`,
    inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
  }));
  const runtime = await start({ hub: scripted({ tools }) });
  await runtime.ready();
  return createToolset({ runtime, localTools: [note], ...(search && { search }) });
}

const finderOf = (tools: readonly Tool[]) => tools.find(({ name }) => name === 'tool_search') as Tool;
const seek = (tools: readonly Tool[], query: string, more: Record<string, unknown> = {}) =>
  finderOf(tools).execute({ query, ...more }, context());

test.each([
  { title: '60 questions', asked: queries, least: { at5: 0.8, at10: 0.86, reciprocal: 0.68 } },
  {
    title: '20 questions that nothing was tuned with',
    asked: unseenQueries,
    least: { at5: 0.7, at10: 0.8, reciprocal: 0.6 },
  },
])(
  '$title over the corpus: recall at 5 and 10, and the mean reciprocal rank',
  async ({ title, asked, least }) => {
    const tools = corpusTools();
    const index = new ToolIndex();
    const ranks: number[] = [];
    for (const { query, expect: wanted } of asked) {
      const found = await index.find(tools, query, 20);
      ranks.push(found.findIndex((tool) => wanted.includes(originOf(tool))) + 1);
    }
    const within = (limit: number) => ranks.filter((rank) => rank > 0 && rank <= limit).length / ranks.length;
    const reciprocal = ranks.reduce((sum, rank) => sum + (rank > 0 ? 1 / rank : 0), 0) / ranks.length;
    console.log(
      `tool search, ${tools.length} tools, ${title}: recall@5 ${within(5).toFixed(3)}, ` +
        `recall@10 ${within(10).toFixed(3)}, MRR ${reciprocal.toFixed(3)}`,
    );
    expect(within(5)).toBeGreaterThanOrEqual(least.at5);
    expect(within(10)).toBeGreaterThanOrEqual(least.at10);
    expect(reciprocal).toBeGreaterThanOrEqual(least.reciprocal);
  },
);

test('the index is built in small steps, so the loop goes on meanwhile', async () => {
  const tools = corpusTools();
  let turns = 0;
  let going = true;
  const turn = () => {
    turns++;
    if (going) setImmediate(turn);
  };
  setImmediate(turn);
  await new ToolIndex().find(tools, 'anything', 1);
  going = false;
  // In one go there would be one turn at the most.
  expect(turns).toBeGreaterThan(tools.length / 20);
});

test('a later list costs only what differs from it, and what is gone is not found', async () => {
  const tools = corpusTools();
  const index = new ToolIndex();
  await index.find(tools, 'x', 1);
  expect(index.readTools).toBe(tools.length);
  const [gone, changed, ...rest] = tools as [Tool, Tool, ...Tool[]];
  const renewed = { ...changed, description: 'Counts the quokkas of the island.' };
  const next = [renewed, ...rest];
  expect(namesOf(await index.find(next, 'quokkas', 3))).toEqual([changed.name]);
  expect(index.readTools).toBe(tools.length + 1);
  expect(namesOf(await index.find(next, gone.name, 20))).not.toContain(gone.name);
  // Two questions about different lists at the same time do not mix.
  const [old, now] = await Promise.all([index.find(tools, 'quokkas', 3), index.find(next, 'quokkas', 3)]);
  expect(namesOf(old)).not.toContain(changed.name);
  expect(namesOf(now)).toEqual([changed.name]);
});

test('names are read as words', () => {
  expect(words('createPullRequest_files')).toEqual(words('create pull request files'));
  expect(words('parseJSONBody')).toEqual(words('parse json body'));
  expect(words('API-post-page')).toEqual(words('api posting pages'));
});

test('a schema that nests without end is read to a limit', async () => {
  const deep: Record<string, unknown> = { type: 'object' };
  deep.properties = { again: deep };
  const [tool] = corpusTools() as [Tool, ...Tool[]];
  const found = await new ToolIndex().find([{ ...tool, inputSchema: deep }], 'again', 5);
  expect(namesOf(found)).toEqual([tool.name]);
});

test('what is found comes to the end, in the order of finding, and stays', async () => {
  const toolset = await smallSet();
  const prefix = requestText(toolset.activeTools);
  expect(namesOf(toolset.activeTools)).toEqual(['note', 'tool_search']);
  expect(namesOf(toolset.deferredTools)).toHaveLength(4);
  expect(catalogText(toolset.deferredTools)).toContain('- mcp__hub__send_mail: To send a mail.');

  const output = await seek(toolset.activeTools, 'mailing', { max_results: 1 });
  expect(textOf(output)).toBe('Loaded, call them by these names:\n- mcp__hub__send_mail: To send a mail.');
  await seek(toolset.activeTools, 'open a ticket', { max_results: 1 });
  const found = ['mcp__hub__send_mail', 'mcp__hub__create_issue'];
  expect(namesOf(toolset.activeTools)).toEqual(['note', 'tool_search', ...found]);
  expect(requestText(toolset.activeTools).startsWith(prefix.slice(0, -1))).toBe(true);
  expect(namesOf(toolset.deferredTools)).toEqual(['mcp__hub__list_issues', 'mcp__hub__merge_branch']);
  expect(textOf(await seek(toolset.activeTools, 'mail', { max_results: 1 }))).toContain(
    '(was loaded before)',
  );
});

test('what a turn finds can be called in its next step, and a later turn starts with it', async () => {
  const toolset = await smallSet();
  const lease = toolset.lease();
  const before = lease.tools;
  await seek(lease.tools, 'merge');
  expect(lease.tools.slice(0, before.length)).toEqual(before);
  expect(namesOf(lease.tools)).toContain('mcp__hub__merge_branch');
  const output = await lease.get('mcp__hub__merge_branch')?.execute({ text: 'x' }, context());
  expect(output?.result?.text()).toBe('{"text":"x"}');
  lease.release();
  expect(namesOf(toolset.lease().tools)).toEqual(namesOf(toolset.activeTools));
  expect(namesOf(toolset.activeTools)).toContain('mcp__hub__merge_branch');
});

test('a tool that is called without having been found is loaded by that', async () => {
  const lease = (await smallSet()).lease();
  expect(lease.get('mcp__hub__send_mail')?.identity).toMatchObject({ tool: 'send_mail' });
  expect(namesOf(lease.tools)).toEqual(['note', 'tool_search', 'mcp__hub__send_mail']);
  expect(namesOf(lease.deferred)).not.toContain('mcp__hub__send_mail');
});

test('exact names load exactly these; a wrong one is answered with the nearest', async () => {
  const toolset = await smallSet();
  const output = await seek(
    toolset.activeTools,
    'select: mcp__hub__list_issues, mcp__hub__send_mail,mcp__hub__merge_branches',
  );
  expect(namesOf(toolset.activeTools).slice(2)).toEqual(['mcp__hub__list_issues', 'mcp__hub__send_mail']);
  expect(textOf(output)).toContain(
    'There is no tool "mcp__hub__merge_branches". Did you mean "mcp__hub__merge_branch"?',
  );
  const nothing = await seek(toolset.activeTools, 'select:none');
  expect(nothing.isError).toBe(true);
});

test('a question that nothing answers says which servers there are', async () => {
  const toolset = await smallSet();
  const output = await seek(toolset.activeTools, 'xyzzy');
  expect(textOf(output)).toContain('No tool fits "xyzzy". Connected servers: hub.');
  expect((await seek(toolset.activeTools, 'a', { max_results: 1_000 })).isError).toBe(true);
});

test('tools that are always loaded stand before what is found', async () => {
  const toolset = await smallSet({ mode: 'always', alwaysLoad: [{ server: 'hub', tool: 'merge_branch' }] });
  await seek(toolset.activeTools, 'create issue', { max_results: 1 });
  expect(namesOf(toolset.activeTools)).toEqual([
    'note',
    'tool_search',
    'mcp__hub__merge_branch',
    'mcp__hub__create_issue',
  ]);
});

test('nothing is held back while the definitions fit the budget', async () => {
  const fits = await smallSet({ contextTokens: 100_000 });
  expect(namesOf(fits.activeTools)).toEqual(namesOf(fits.allTools));
  const tight = await smallSet({ contextTokens: 1_000 });
  expect(namesOf(tight.activeTools)).toEqual(['note', 'tool_search']);
  // A choice that would fit does not switch it back: that would break the prefix.
  tight.setActive(['note', 'mcp__hub__send_mail']);
  expect(namesOf(tight.activeTools)).toEqual(['note', 'tool_search']);
  expect(namesOf(tight.deferredTools)).toEqual(['mcp__hub__send_mail']);
});

test('a fork searches what it has, and finds for itself', async () => {
  const parent = await smallSet();
  const child = parent.fork({ filter: { deny: [{ tool: 'send_mail' }] } });
  await seek(child.activeTools, 'mail', { max_results: 20 });
  await seek(child.activeTools, 'select:mcp__hub__send_mail,mcp__hub__create_issue');
  expect(namesOf(child.activeTools)).toContain('mcp__hub__create_issue');
  expect(namesOf(child.activeTools)).not.toContain('mcp__hub__send_mail');
  expect(namesOf(parent.activeTools)).toEqual(['note', 'tool_search']);
});

/** 20 servers of the corpus with at least 300 tools; the first can be told to announce its list. */
function twentyServers(record: string) {
  const emit = { name: 'emit', description: 'Sends a notification.', inputSchema: { type: 'object' } };
  const chosen = corpusServers
    .filter(
      ({ server }) => !['postgres', 'sequential-thinking', 'exa', 'figma', 'brave-search'].includes(server),
    )
    .slice(0, 20);
  const entries = chosen.map(({ server, tools }, at) => {
    const listed = (at === 0 ? [emit, ...tools] : tools) as Json[];
    const script: Script = { tools: listed };
    if (at === 0) {
      script.record = record;
      script.rules = [
        { method: 'tools/list', times: 1 },
        { method: 'tools/list', reply: { result: { tools: [...listed].reverse() } } },
      ];
    }
    // Too long for an argument.
    const path = directory(`${server}.json`);
    writeFileSync(path, JSON.stringify(script));
    const entry = scripted({});
    return [server, { ...entry, args: [entry.args[0] as string, path] }] as const;
  });
  return { entries, first: chosen[0]?.server as string };
}

test('300 tools on 20 servers: equal bytes in two runs and after an irrelevant change; deferral saves 90 %', async () => {
  const record = directory('first.jsonl');
  const { entries, first } = twentyServers(record);
  expect(entries).toHaveLength(20);
  const runOnce = async (servers: typeof entries) => {
    const runtime = await start(Object.fromEntries(servers));
    expect((await runtime.ready()).failed).toEqual([]);
    return { runtime, toolset: createToolset({ runtime, search: { contextTokens: 200_000 } }) };
  };
  const one = await runOnce(entries);
  const two = await runOnce([...entries].reverse());
  const whole = requestText(one.toolset.allTools);
  expect(one.toolset.allTools.length).toBeGreaterThanOrEqual(300);
  expect(requestText(two.toolset.allTools)).toBe(whole);

  // The first server announces a change and lists the same in another order.
  const lists = (methods: string[]) => methods.filter((method) => method === 'tools/list').length;
  // Both runs wrote into the record.
  const before = lists((await recorded(record, ({ methods }) => lists(methods) >= 2)).methods);
  await one.runtime.server(first).callTool('emit', { method: 'notifications/tools/list_changed' });
  await recorded(record, ({ methods }) => lists(methods) > before);
  await one.runtime.server(first).callTool('emit', { method: 'notifications/nothing' });
  expect(one.toolset.refreshIfDirty()).toBeUndefined();
  expect(requestText(createToolset({ runtime: one.runtime }).allTools)).toBe(whole);

  const deferred = requestText(one.toolset.activeTools);
  const listing = catalogText(one.toolset.deferredTools) ?? '';
  const saved = (text: string) => `${(100 * (1 - bytes(text) / bytes(whole))).toFixed(1)} %`;
  console.log(
    `${one.toolset.allTools.length} tools on 20 servers: ${bytes(whole)} bytes of tools; deferred ${bytes(deferred)} ` +
      `(${saved(deferred)} less), with the list of names ${bytes(deferred + listing)} (${saved(deferred + listing)} less)`,
  );
  expect(bytes(deferred + listing)).toBeLessThanOrEqual(bytes(whole) / 10);
});
