/** Tool lists and schemas as servers really send them: one bad tool costs itself, never the list. */
import { describe, expect, it } from 'vitest';
import { useCensus } from '../support/census.js';
import { eventually } from '../support/eventually.js';
import { readRecord } from '../support/record.js';
import { useRuntime } from '../support/runtime.js';
import { type Json, type Script, scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus();
const directory = useTempDir();
const start = useRuntime(directory);
const object = { type: 'object' };

/** A runtime over one server that lists these tools. */
async function listing(tools: Json[], script: Script = {}) {
  const runtime = await start({ s: scripted({ tools, ...script }) });
  await runtime.ready();
  const [status] = (await runtime.status()).servers;
  if (status === undefined) throw new Error('no status');
  return { runtime, status, names: runtime.tools().map(({ name }) => name) };
}

const page = (tools: Json[], nextCursor: Json | undefined): { result: Json } => ({
  result: { tools, ...(nextCursor === undefined ? {} : { nextCursor }) },
});
const tool = (name: string): Json => ({ name, inputSchema: object });

describe('the walk over the pages', () => {
  it('ends when a cursor comes again, with what was read and a warning (B065)', async () => {
    const rules = [{ method: 'tools/list', reply: page([tool('a'), tool('b')], 'again') }];
    const { names, status } = await listing([], { rules });
    expect(names).toEqual(['a', 'b']);
    expect(status.warnings.join()).toContain('came twice');
  });

  it('ends when two cursors alternate (B065)', async () => {
    const rules = [
      { method: 'tools/list', where: { cursor: 'B' }, reply: page([tool('b')], 'A') },
      { method: 'tools/list', where: { cursor: 'A' }, reply: page([tool('a')], 'B') },
      { method: 'tools/list', reply: page([tool('first')], 'A') },
    ];
    expect((await listing([], { rules })).names).toEqual(['a', 'b', 'first']);
  });

  it('ends when the cursors never end (B065)', async () => {
    const reply = {
      bytes: ['{"jsonrpc":"2.0","id":$id,"result":{"tools":[{"name":"t$n"}],"nextCursor":"$n"}}\n'],
    };
    const { names, status } = await listing([], { rules: [{ method: 'tools/list', reply }] });
    expect(names.length).toBe(200);
    expect(status.warnings.join()).toContain('stopped after 200 pages');
  });

  it('follows an empty cursor once: it may be valid (B066)', async () => {
    const valid = [
      { method: 'tools/list', where: { cursor: '' }, reply: page([tool('second')], undefined) },
      { method: 'tools/list', reply: page([tool('first')], '') },
    ];
    expect((await listing([], { rules: valid })).names).toEqual(['first', 'second']);
    const older = [{ method: 'tools/list', reply: page([tool('only')], '') }];
    expect((await listing([], { rules: older })).names).toEqual(['only']);
  });

  it('takes null for the end, and for no tools at all (B067)', async () => {
    expect(
      (await listing([], { rules: [{ method: 'tools/list', reply: page([tool('a')], null) }] })).names,
    ).toEqual(['a']);
    const none = [{ method: 'tools/list', reply: { result: { tools: null } } }];
    expect((await listing([], { rules: none })).status).toMatchObject({ state: 'ready', tools: 0 });
  });
});

describe('a changed list', () => {
  it('is read again although the server never declared that it changes (B070)', async () => {
    const change = { json: { jsonrpc: '2.0' as const, method: 'notifications/tools/list_changed' } };
    const rules = [
      { method: 'tools/list', nth: 1, reply: page([tool('echo')], undefined) },
      { method: 'tools/list', reply: page([tool('echo'), tool('new')], undefined) },
      { method: 'tools/call', after: [change] },
    ];
    const runtime = await start({ s: scripted({ rules, capabilities: { tools: {} } }) });
    await runtime.ready();
    await runtime.callTool('mcp__s__echo', { text: 'x' });
    await eventually(
      () => runtime.tools().some(({ name }) => name === 'new'),
      () => 'the new tool',
    );
  });

  it('that each answer announces again is not read in a loop (B069)', async () => {
    const record = directory('record.jsonl');
    const change = { json: { jsonrpc: '2.0' as const, method: 'notifications/tools/list_changed' } };
    const rules = [{ method: 'tools/list', after: [change] }];
    const runtime = await start({ s: scripted({ record, rules }) });
    await runtime.ready();
    const lists = () => readRecord(record).methods.filter((method) => method === 'tools/list').length;
    // Waits grow 250, 500, 1 000 ms …: the fourth list comes after 1.75 s at the earliest.
    const startedAt = performance.now();
    await eventually(
      () => lists() >= 4,
      () => 'a fourth list',
    );
    expect(performance.now() - startedAt).toBeGreaterThan(1_500);
  });
});

describe('a schema', () => {
  it.each([
    [
      'required among the properties',
      { type: 'object', properties: { coin: { type: 'string' }, required: ['coin'] } },
      '/properties/required',
    ],
    ['an empty enum', { type: 'object', properties: { a: { enum: [] } } }, '/properties/a/enum'],
    ['required as a text', { type: 'object', required: 'x' }, '/required'],
    [
      'a pattern that is none',
      { type: 'object', properties: { a: { pattern: '(' } } },
      '/properties/a/pattern',
    ],
    ['null for properties', { type: 'object', properties: null }, '/properties'],
  ])('with %s costs its tool, by name and place (B077)', async (_, inputSchema, place) => {
    const { names, status } = await listing([tool('good'), { name: 'bad', inputSchema } as Json]);
    expect(names).toEqual(['good']);
    expect(status.quarantinedTools).toEqual([{ name: 'bad', reason: expect.stringContaining(place) }]);
  });

  it('with booleans at any position is sound (B075)', async () => {
    const inputSchema = {
      type: 'object',
      properties: { payload: true, list: { type: 'array', items: true }, never: false },
      additionalProperties: false,
      anyOf: [true, {}],
    };
    expect((await listing([{ name: 'free', inputSchema }])).names).toEqual(['free']);
  });

  it('that refers to itself passes through whole (B078, B081)', async () => {
    const tree = {
      type: 'object',
      $defs: {
        node: {
          type: 'object',
          properties: { children: { type: 'array', items: { $ref: '#/$defs/node' } } },
        },
      },
      properties: { root: { $ref: '#/$defs/node' }, again: { $ref: '#/properties/root' } },
    };
    const { runtime } = await listing([{ name: 'tree', inputSchema: tree }]);
    expect(runtime.tools()[0]?.inputSchema).toEqual(tree);
  });

  it('nested 20 000 levels deep costs its tool and nothing else (B079)', async () => {
    const depth = 20_000;
    const deep = `${'{"properties":{"a":'.repeat(depth)}true${'}}'.repeat(depth)}`;
    const tools = `[{"name":"good","inputSchema":{"type":"object"}},{"name":"deep","inputSchema":${deep}}]`;
    // Too long for an argument: the script comes from a file.
    const { writeFileSync } = await import('node:fs');
    const script = directory('deep.json');
    const bytes = [`{"jsonrpc":"2.0","id":$id,"result":{"tools":${tools}}}\n`];
    writeFileSync(script, JSON.stringify({ rules: [{ method: 'tools/list', reply: { bytes } }] }));
    const entry = scripted({});
    const runtime = await start({ s: { ...entry, args: [entry.args[0] as string, script] } });
    await runtime.ready();
    expect(runtime.tools().map(({ name }) => name)).toEqual(['good']);
    const [status] = (await runtime.status()).servers;
    expect(status?.quarantinedTools).toEqual([{ name: 'deep', reason: 'it nests deeper than 200 levels' }]);
  });

  it.each([
    'http://json-schema.org/draft-04/schema#',
    'http://json-schema.org/draft-06/schema',
    'http://json-schema.org/draft-07/schema#',
    'https://json-schema.org/draft/2019-09/schema',
    'https://json-schema.org/draft/2020-12/schema',
  ])('of dialect %s is checked (B073)', async ($schema) => {
    const outputSchema = { $schema, type: 'object', properties: { n: { type: 'number' } } };
    const reply = { result: { content: [], structuredContent: { n: 'x' } } };
    const { runtime } = await listing([{ name: 't', inputSchema: object, outputSchema }], {
      rules: [{ method: 'tools/call', reply }],
    });
    expect((await runtime.callTool('mcp__s__t')).warnings[0]).toContain('does not keep its outputSchema');
  });

  it('of an unknown dialect, or with a dangling reference, is not checked, and that is said (B071, B073)', async () => {
    const tools: Json[] = [
      {
        name: 'odd',
        inputSchema: object,
        outputSchema: { $schema: 'https://example.test/nonsense', type: 'object' },
      },
      {
        name: 'dangling',
        inputSchema: object,
        outputSchema: { type: 'object', properties: { a: { $ref: '#/$defs/missing' } } },
      },
      tool('plain'),
    ];
    const reply = { result: { content: [], structuredContent: { a: 1 } } };
    const { runtime, names } = await listing(tools, { rules: [{ method: 'tools/call', reply }] });
    expect(names).toEqual(['dangling', 'odd', 'plain']);
    for (const name of ['odd', 'dangling']) {
      const result = await runtime.callTool(`mcp__s__${name}`);
      expect([result.outcome, result.warnings[0]]).toEqual([
        'ok',
        expect.stringContaining('was not checked'),
      ]);
    }
  });

  it('with an unknown format is silent about it (B074)', async () => {
    const outputSchema = { type: 'object', properties: { n: { type: 'integer', format: 'uint' } } };
    const reply = { result: { content: [], structuredContent: { n: 1 } } };
    const { runtime } = await listing([{ name: 't', inputSchema: object, outputSchema }], {
      rules: [{ method: 'tools/call', reply }],
    });
    expect((await runtime.callTool('mcp__s__t')).warnings).toEqual([]);
  });

  it('without additionalProperties lets undeclared arguments through (B081)', async () => {
    const { runtime } = await listing([{ name: 'map', inputSchema: object }]);
    const result = await runtime.callTool('mcp__s__map', { undeclared: 1 });
    expect(JSON.parse(result.text())).toEqual({ undeclared: 1 });
  });
});

describe('two servers', () => {
  it('with a tool of the same name offer both (B082)', async () => {
    const tools = [tool('create_pr')];
    const runtime = await start({ a: scripted({ tools }), b: scripted({ tools }) });
    await runtime.ready();
    expect(runtime.tools().map(({ fullName }) => fullName)).toEqual([
      'mcp__a__create_pr',
      'mcp__b__create_pr',
    ]);
  });
});

describe('the catalog', () => {
  it('is a revision with a hash that the same servers give again, and is given out once per change', async () => {
    const change = { json: { jsonrpc: '2.0' as const, method: 'notifications/tools/list_changed' } };
    const rules = [
      { method: 'tools/list', nth: 1, reply: page([tool('echo'), tool('old')], undefined) },
      {
        method: 'tools/list',
        nth: 1,
        reply: page([{ name: 'echo', description: 'x', inputSchema: object }, tool('new')], undefined),
      },
      { method: 'tools/list', reply: page([tool('old'), tool('echo')], undefined) },
      { method: 'tools/call', after: [change] },
    ];
    const runtime = await start({ s: scripted({ rules }) });
    await runtime.ready();
    const first = runtime.refreshIfDirty();
    expect(first?.tools.map(({ name }) => name)).toEqual(['echo', 'old']);
    expect(runtime.refreshIfDirty()).toBeUndefined();

    const changed = new Promise((resolve) => runtime.on('tools', resolve));
    await runtime.callTool('mcp__s__echo', { text: 'x' });
    expect(await changed).toMatchObject({ server: 's', added: ['new'], removed: ['old'], changed: ['echo'] });
    const second = runtime.refreshIfDirty();
    expect(second?.hash).not.toBe(first?.hash);
    expect(second?.revision).toBeGreaterThan(first?.revision ?? 0);
    expect(first?.tools.map(({ name }) => name)).toEqual(['echo', 'old']);

    const back = new Promise((resolve) => runtime.on('tools', resolve));
    await runtime.callTool('mcp__s__echo', { text: 'x' });
    await back;
    expect(runtime.catalog().hash).toBe(first?.hash);
  });
});
