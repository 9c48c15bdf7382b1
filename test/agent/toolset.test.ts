import type { Runtime } from '@bulkhead/runtime';
import { expect, test } from 'vitest';
import { defineTool } from '../../packages/runtime/src/agent/local-tool.js';
import type { Tool } from '../../packages/runtime/src/agent/tool.js';
import { createToolset } from '../../packages/runtime/src/agent/toolset.js';
import { useCensus } from '../support/census.js';
import { recorded } from '../support/record.js';
import { failureOf, useRuntime } from '../support/runtime.js';
import { type Json, type Rule, type Script, scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';
import { originOf, requestText } from './corpus.js';

useCensus();
const directory = useTempDir();
const start = useRuntime(directory);

const emit = { name: 'emit', description: 'Sends a notification.', inputSchema: { type: 'object' } };
const named = (name: string, more: Record<string, Json> = {}): Json => ({
  name,
  description: `Does ${name}.`,
  inputSchema: { type: 'object' },
  ...more,
});

/** Lists other tools each time it is asked: the n-th list, and the last one from then on. */
function changing(lists: Json[][], more: Script = {}) {
  const rules: Rule[] = lists.slice(1).map((tools, at) => ({
    method: 'tools/list',
    // A list that is not the last holds for one answer.
    ...(at === lists.length - 2 ? {} : { times: 1 }),
    reply: { result: { tools: [emit, ...tools] } },
  }));
  return scripted({
    ...more,
    tools: [emit, ...(lists[0] ?? [])],
    rules: [{ method: 'tools/list', times: 1 }, ...rules],
  });
}

/** Lets a server tell of its next list, and waits until the runtime has it. */
async function change(runtime: Runtime, server: string): Promise<void> {
  const told = new Promise<void>((resolve) => {
    const look = (event: { server: string }) => {
      if (event.server !== server) return;
      runtime.off('tools', look);
      resolve();
    };
    runtime.on('tools', look);
  });
  await runtime.server(server).callTool('emit', { method: 'notifications/tools/list_changed' });
  await told;
}

const note = defineTool({
  name: 'note',
  description: 'Keeps a note.',
  inputSchema: {},
  capabilities: ['write'],
  execute: () => 'kept',
});
const clock = defineTool({
  name: 'clock',
  description: 'Tells the time.',
  inputSchema: { type: 'object' },
  capabilities: ['read'],
  execute: () => 'noon',
});
const namesOf = (tools: readonly Tool[]) => tools.map(({ name }) => name);
const originsOf = (tools: readonly Tool[]) => tools.map(originOf);
const context = () => ({ callId: 'call-1', signal: new AbortController().signal });

test('local tools come first in their order, then those of servers by server and name', async () => {
  const runtime = await start({
    zoo: scripted({ tools: [named('b'), named('a')] }),
    abc: scripted({ tools: [named('z', { inputSchema: {} })] }),
  });
  await runtime.ready();
  const { allTools, activeTools } = createToolset({ runtime, localTools: [note, clock] });
  expect(originsOf(allTools)).toEqual(['note', 'clock', 'abc.z', 'zoo.a', 'zoo.b']);
  expect(namesOf(allTools)[3]).toBe('mcp__zoo__a');
  expect(activeTools).toEqual(allTools);
  // Providers refuse an empty schema.
  expect(allTools.map(({ inputSchema }) => inputSchema)).toEqual(allTools.map(() => ({ type: 'object' })));
  const described = createToolset({ runtime, describeServer: true }).allTools;
  expect(described[0]?.description).toBe('[abc] Does z.');
});

test('a mirror stays a mirror', async () => {
  const runtime = await start({ one: changing([[named('a')], [named('a'), named('b')]]) });
  await runtime.ready();
  const toolset = createToolset({ runtime, localTools: [note] });
  await change(runtime, 'one');
  expect(originsOf(toolset.activeTools)).toEqual(['note', 'one.a', 'one.emit']);
  expect(toolset.refreshIfDirty()).toEqual({ added: ['mcp__one__b'], removed: [], changed: [] });
  expect(originsOf(toolset.activeTools)).toEqual(['note', 'one.a', 'one.b', 'one.emit']);
  expect(toolset.activeTools).toEqual(toolset.allTools);
});

test('a filtered set swaps its tools of servers in place', async () => {
  const runtime = await start({
    one: changing([
      [named('keep'), named('go'), named('denied')],
      [named('keep'), named('new'), named('denied')],
    ]),
    other: scripted({ tools: [named('x')] }),
  });
  await runtime.ready();
  const toolset = createToolset({
    runtime,
    localTools: [note, clock],
    filter: {
      allow: [{ server: 'one' }, { kind: 'local', tool: 'clock' }],
      deny: [{ tool: 'denied' }, { server: 'one', tool: 'emit' }],
    },
  });
  const kept = toolset.activeTools[2];
  expect(originsOf(toolset.activeTools)).toEqual(['clock', 'one.go', 'one.keep']);
  await change(runtime, 'one');
  toolset.refreshIfDirty();
  expect(originsOf(toolset.activeTools)).toEqual(['clock', 'one.keep', 'one.new']);
  expect(toolset.activeTools[1]).toBe(kept);
});

test('names that were chosen stay chosen: one that vanishes goes and comes back, new ones stay out', async () => {
  const runtime = await start({
    one: changing([
      [named('a'), named('b')],
      [named('a'), named('c')],
      [named('a'), named('b'), named('c')],
    ]),
  });
  await runtime.ready();
  const toolset = createToolset({ runtime, localTools: [note] });
  toolset.setActive(['mcp__one__b', 'note', 'mcp__one__a']);
  expect(originsOf(toolset.activeTools)).toEqual(['note', 'one.a', 'one.b']);
  await change(runtime, 'one');
  toolset.refreshIfDirty();
  expect(originsOf(toolset.activeTools)).toEqual(['note', 'one.a']);
  await change(runtime, 'one');
  toolset.refreshIfDirty();
  expect(originsOf(toolset.activeTools)).toEqual(['note', 'one.a', 'one.b']);
});

test('a set without tools of servers is left alone', async () => {
  const runtime = await start({ one: changing([[named('a')], [named('a'), named('b')]]) });
  await runtime.ready();
  const toolset = createToolset({ runtime, localTools: [note, clock] });
  toolset.setActive(['clock']);
  const before = toolset.activeTools;
  await change(runtime, 'one');
  expect(toolset.refreshIfDirty()).toBeUndefined();
  expect(toolset.activeTools).toBe(before);
  expect(originsOf(toolset.allTools)).toContain('one.b');
});

test('a name that is not in the set is refused, and the choice before stays', async () => {
  const toolset = createToolset({ localTools: [note, clock] });
  toolset.setActive(['note']);
  expect(() => toolset.setActive(['clock', 'gone'])).toThrow('the toolset has no tool "gone"');
  expect(namesOf(toolset.activeTools)).toEqual(['note']);
  toolset.setActive('all');
  expect(namesOf(toolset.activeTools)).toEqual(['note', 'clock']);
});

test('a server that lists the same again changes nothing, not even one object', async () => {
  const tools = [named('a'), named('b')];
  const record = directory('one.jsonl');
  const runtime = await start({
    one: changing([tools, [...tools].reverse(), [...tools, named('c')]], { record }),
    two: scripted({ tools: [named('x')] }),
  });
  await runtime.ready();
  const toolset = createToolset({ runtime, localTools: [note] });
  const before = toolset.activeTools;
  // The second list is the first in another order, so only the third is an event.
  await runtime.server('one').callTool('emit', { method: 'notifications/tools/list_changed' });
  await recorded(record, ({ methods }) => methods.filter((method) => method === 'tools/list').length === 2);
  expect(toolset.refreshIfDirty()).toBeUndefined();
  expect(toolset.activeTools).toBe(before);
  await change(runtime, 'one');
  toolset.refreshIfDirty();
  // Tools that did not change are the same objects although the runtime's catalog was made anew.
  expect(toolset.activeTools.filter((tool) => before.includes(tool))).toHaveLength(before.length);
});

test('callers at the same time see one change', async () => {
  const runtime = await start({ one: changing([[named('a')], [named('b')]]) });
  await runtime.ready();
  const toolset = createToolset({ runtime });
  await change(runtime, 'one');
  const changes = await Promise.all([1, 2, 3].map(async () => toolset.refreshIfDirty()));
  expect(changes).toEqual([
    { added: ['mcp__one__b'], removed: ['mcp__one__a'], changed: [] },
    undefined,
    undefined,
  ]);
});

test('two toolsets of one runtime do not take the news from each other', async () => {
  const runtime = await start({
    one: changing([[named('a')], [named('a', { description: 'Other words.' })]]),
  });
  await runtime.ready();
  const [first, second] = [createToolset({ runtime }), createToolset({ runtime })];
  await change(runtime, 'one');
  const news = { added: [], removed: [], changed: ['mcp__one__a'] };
  expect(first.refreshIfDirty()).toEqual(news);
  expect(second.refreshIfDirty()).toEqual(news);
});

test('filters go by capability: allow takes only what does nothing else, deny whatever does it as well', async () => {
  const runtime = await start({
    one: {
      ...scripted({
        tools: [
          named('get_it', { annotations: { readOnlyHint: true } }),
          named('delete_it', { annotations: { destructiveHint: true } }),
        ],
      }),
      trust: true,
    },
  });
  await runtime.ready();
  const toolset = createToolset({ runtime, localTools: [note, clock] });
  toolset.setActive({ allow: [{ capabilities: ['read'] }] });
  expect(originsOf(toolset.activeTools)).toEqual(['clock', 'one.get_it']);
  toolset.setActive({ deny: [{ capabilities: ['destructive'] }] });
  expect(originsOf(toolset.activeTools)).toEqual(['note', 'clock', 'one.get_it']);
});

test('a local tool with the name of another tool is refused, and both are named', async () => {
  const runtime = await start({ one: scripted({ tools: [named('a')] }) });
  await runtime.ready();
  const taken: Tool = { ...note, name: 'mcp__one__a' };
  const toolset = (...localTools: Tool[]) => createToolset({ runtime, localTools, search: {} });
  expect(() => toolset(taken)).toThrow('local tool "mcp__one__a" has the name of tool "a" of server "one"');
  expect(() => toolset({ ...note, name: 'mcp__later__a' })).toThrow('which a tool of a server could get');
  expect(() => toolset(note, note)).toThrow('local tool "note" is given twice');
  expect(() => toolset({ ...note, name: 'tool_search' })).toThrow('the tool that searches for tools');
});

test('a fork shares the sessions, has no more than its parent, and moves only when it is told to', async () => {
  const runtime = await start({
    one: changing([
      [named('a'), named('b')],
      [named('a'), named('b'), named('c')],
    ]),
    two: scripted({ tools: [named('x')] }),
  });
  await runtime.ready();
  const parent = createToolset({ runtime, localTools: [note, clock] });
  parent.setActive({ deny: [{ server: 'two' }, { tool: 'emit' }] });
  const child = parent.fork({ filter: { allow: [{ server: 'one' }, { server: 'two' }, { tool: 'clock' }] } });
  expect(originsOf(child.allTools)).toEqual(['clock', 'one.a', 'one.b']);
  child.setActive(['mcp__one__a', 'clock']);
  expect(() => child.setActive(['mcp__two__x'])).toThrow('the toolset has no tool "mcp__two__x"');

  await change(runtime, 'one');
  expect(child.refreshIfDirty()).toBeUndefined();
  parent.refreshIfDirty();
  expect(originsOf(child.allTools)).toEqual(['clock', 'one.a', 'one.b']);
  child.refreshIfDirty();
  expect(originsOf(child.allTools)).toEqual(['clock', 'one.a', 'one.b', 'one.c']);
  expect(originsOf(child.activeTools)).toEqual(['clock', 'one.a']);
  expect(originsOf(parent.activeTools)).toEqual(['note', 'clock', 'one.a', 'one.b', 'one.c']);

  parent.setActive(['note']);
  child.refreshIfDirty();
  expect(child.allTools).toEqual([]);
});

test('a turn keeps its tools while the servers change; a tool that is gone ends with the error of the runtime', async () => {
  const runtime = await start({ one: changing([[named('a')], [named('b')]]) });
  await runtime.ready();
  const toolset = createToolset({ runtime });
  const lease = toolset.lease();
  const bytes = requestText(lease.tools);
  await change(runtime, 'one');
  toolset.refreshIfDirty();
  expect(originsOf(toolset.activeTools)).toEqual(['one.b', 'one.emit']);
  expect(requestText(lease.tools)).toBe(bytes);
  expect(lease.get('mcp__one__b')).toBeUndefined();
  const gone = lease.get('mcp__one__a');
  const error = await failureOf(gone?.execute({}, context()) ?? Promise.resolve());
  expect(error.code).toBe('UNKNOWN_TOOL');
  expect(error.message).toContain('server "one" has no tool "a"');

  expect(toolset.leases).toBe(1);
  lease.release();
  lease.release();
  expect(toolset.leases).toBe(0);
  expect(lease.get('mcp__one__a')).toBeUndefined();
  expect(lease.tools).toEqual([]);
});

test('a call goes to the raw name with progress, and an abort reaches the runtime', async () => {
  const runtime = await start({ one: scripted({}) });
  await runtime.ready();
  const toolset = createToolset({ runtime });
  const tool = (name: string) => toolset.allTools.find(({ identity }) => identity.tool === name) as Tool;
  const seen: number[] = [];
  const output = await tool('progress').execute(
    { everyMs: 5, forMs: 20 },
    { ...context(), onProgress: ({ progress }) => seen.push(progress) },
  );
  expect(output.isError).toBe(false);
  expect(output.result?.text()).toBe('done after 20 ms');
  expect(seen.length).toBeGreaterThan(0);
  const failed = await tool('fail').execute({ text: 'no' }, context());
  expect(failed.isError).toBe(true);

  const abort = new AbortController();
  const hanging = tool('hang').execute({}, { callId: 'call-2', signal: abort.signal });
  abort.abort();
  expect((await failureOf(hanging)).code).toBe('CANCELLED');
});

test("the gate is told the model's own id of a call, and that it came from an agent", async () => {
  const asked: unknown[] = [];
  const runtime = await start(
    { one: scripted({}) },
    {
      gate: {
        check: ({ callId, route, identity }) => {
          asked.push({ callId, route, identity });
          return { allow: true };
        },
      },
    },
  );
  await runtime.ready();
  const echo = createToolset({ runtime }).allTools.find(({ identity }) => identity.tool === 'echo');
  await echo?.execute({ text: 'a' }, { ...context(), callId: 'toolu_7' });
  const identity = { kind: 'mcp', server: 'one', tool: 'echo' };
  expect(asked).toEqual([{ callId: 'toolu_7', route: 'agent', identity }]);
});
