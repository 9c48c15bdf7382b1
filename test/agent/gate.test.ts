/** The one gate: every route to a server passes it, and nothing leaves without its yes. */
import { Readable, Writable } from 'node:stream';
import { type Runtime, rawArguments, runBatch, type ServerView } from '@bulkhead/runtime';
import { describe, expect, test } from 'vitest';
import { DataFlow } from '../../packages/runtime/src/agent/data-flow.js';
import { Permissions } from '../../packages/runtime/src/agent/permissions.js';
import type { Gate, GateDecision, GateRequest } from '../../packages/runtime/src/agent/tool.js';
import { openTrust } from '../../packages/runtime/src/agent/trust.js';
import { useAgents } from '../support/agent-thread.js';
import { useCensus } from '../support/census.js';
import { readRecord, recorded } from '../support/record.js';
import { failureOf, useRuntime } from '../support/runtime.js';
import { type Script, scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus();
const path = useTempDir();
const start = useRuntime(path);
const attach = useAgents();

const offering = (script: Script = {}) =>
  scripted({
    record: path('record'),
    capabilities: { tools: {}, resources: { subscribe: true }, prompts: {}, completions: {} },
    rules: [
      { method: 'resources/read', reply: { result: { contents: [] } } },
      { method: 'resources/subscribe', reply: { result: {} } },
      { method: 'prompts/get', reply: { result: { messages: [] } } },
      { method: 'completion/complete', reply: { result: { completion: { values: [] } } } },
    ],
    ...script,
  });

const no: GateDecision = { allow: false, reason: 'not on Sundays' };
const yes: GateDecision = { allow: true };

/** What reached the server of its client's own will. */
const arrived = () =>
  readRecord(path('record')).methods.filter(
    (method) =>
      !['initialize', 'notifications/initialized', 'tools/list', 'server/discover', 'ping'].includes(method),
  );

async function withGate(check: Gate['check'], script: Script = {}) {
  const requests: GateRequest[] = [];
  const ends: [string, string][] = [];
  const gate: Gate = {
    check: (request) => {
      requests.push(request);
      return check(request);
    },
    ended: ({ identity }, outcome) => void ends.push([identity.tool, outcome]),
  };
  const runtime = await start({ s: offering(script) }, { gate });
  expect((await runtime.ready()).ok).toBe(true);
  return { runtime, view: runtime.server('s'), requests, ends };
}

async function batchOf(runtime: Runtime): Promise<string> {
  let text = '';
  const output = new Writable({
    write(chunk, _, done) {
      text += chunk;
      done();
    },
  });
  const line = JSON.stringify({ id: 1, server: 's', tool: 'echo', arguments: { text: 'a' } });
  await runBatch({ runtime, input: Readable.from([Buffer.from(`${line}\n`)]), output });
  return text;
}

type Route = [
  name: string,
  route: string,
  tool: string,
  go: (runtime: Runtime, view: ServerView) => Promise<unknown>,
];
const routes: Route[] = [
  ['callTool by full name', 'direct', 'echo', (runtime) => runtime.callTool('mcp__s__echo', { text: 'a' })],
  ['callTool of a server', 'direct', 'echo', (_, view) => view.callTool('echo', { text: 'a' })],
  ['raw arguments', 'direct', 'echo', (_, view) => view.callTool('echo', rawArguments('{"text":"a"}'))],
  [
    'callMany',
    'direct',
    'echo',
    async (runtime) => {
      for await (const outcome of runtime.callMany([{ server: 's', tool: 'echo', args: { text: 'a' } }])) {
        if ('error' in outcome) throw outcome.error;
      }
    },
  ],
  ['readResource', 'resource', 'resources/read', (_, view) => view.readResource('notes://1')],
  ['subscribe', 'resource', 'resources/subscribe', (_, view) => view.subscribe('notes://1')],
  ['getPrompt', 'prompt', 'prompts/get', (_, view) => view.getPrompt('greet', { name: 'a' })],
  [
    'complete',
    'prompt',
    'completion/complete',
    (_, view) =>
      view.complete({ ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'a', value: 'b' } }),
  ],
];

describe('every route', () => {
  test.each(routes)(
    '%s is stopped by a no, and nothing arrives at the server (B177)',
    async (_, route, tool, go) => {
      const { runtime, view, requests, ends } = await withGate(() => no);
      const failure = await failureOf(go(runtime, view));
      expect(failure).toMatchObject({
        code: 'DENIED',
        outcome: 'rejected',
        retryable: false,
        server: 's',
        tool,
        message: `s.${tool}: denied: not on Sundays`,
        data: { route, reason: 'not on Sundays' },
      });
      expect(requests).toMatchObject([{ route, identity: { kind: 'mcp', server: 's', tool } }]);
      expect(ends).toEqual([]);
      await runtime.status();
      expect(arrived()).toEqual([]);
    },
  );

  test.each(routes)('%s passes with a yes, and the gate hears how it ended', async (_, _route, tool, go) => {
    const { runtime, view, ends } = await withGate(() => yes);
    await go(runtime, view);
    expect(ends).toEqual([[tool, 'ok']]);
    expect(arrived()).toHaveLength(1);
  });

  test('a batch is stopped line by line, and says so in its output (B177)', async () => {
    const { runtime, requests } = await withGate(() => no);
    const line = JSON.parse(await batchOf(runtime)) as { outcome: string; error: { code: string } };
    expect(line).toMatchObject({ outcome: 'rejected', error: { code: 'DENIED' } });
    expect(requests).toMatchObject([{ route: 'batch', args: { text: 'a' } }]);
    expect(arrived()).toEqual([]);
  });

  test('an agent in another thread passes the gate of the owner (B177)', async () => {
    const decisions = [no, yes];
    const { runtime, requests } = await withGate(() => decisions.shift() ?? no);
    const agent = attach(runtime.attach());
    const failure = await failureOf(
      agent.run((attached) => attached.callTool('mcp__s__echo', { text: 'a' }).then(() => 0)),
    );
    expect(failure).toMatchObject({ code: 'DENIED', message: 's.echo: denied: not on Sundays' });
    expect(arrived()).toEqual([]);
    const text = await agent.run((attached) =>
      attached
        .callTool('mcp__s__echo', { text: 'b' }, { route: 'agent', callId: 'm1' })
        .then((result) => result.text()),
    );
    expect(text).toBe('b');
    expect(requests[1]).toMatchObject({ route: 'agent', callId: 'm1', args: { text: 'b' } });
    const read = await failureOf(agent.run((attached) => attached.server('s').readResource('notes://1')));
    expect(read.code).toBe('DENIED');
  });

  test('lists and log levels pass without it', async () => {
    const { view, requests } = await withGate(() => no);
    await view.listPrompts();
    await view.listResources();
    expect(requests).toEqual([]);
  });

  test('what was subscribed to is repeated to a new session without a second question', async () => {
    const { runtime, view, requests } = await withGate(() => yes);
    await view.subscribe('notes://1');
    await view.restart();
    await recorded(
      path('record'),
      ({ methods }) => methods.filter((method) => method === 'resources/subscribe').length === 2,
    );
    expect(requests).toHaveLength(1);
    await runtime.close();
  });
});

describe('the gate', () => {
  test('is told whose call it is, what the tool may do and its definition', async () => {
    const tools = [
      {
        name: 'delete_all',
        description: 'Deletes everything.',
        inputSchema: { type: 'object' as const },
        annotations: { readOnlyHint: true },
      },
    ];
    const { view, requests } = await withGate(() => no, { tools });
    await failureOf(view.callTool('delete_all', { sure: true }, { callId: 'model-1', route: 'agent' }));
    expect(requests[0]).toMatchObject({
      callId: 'model-1',
      route: 'agent',
      args: { sure: true },
      definition: { name: 'delete_all', description: 'Deletes everything.' },
      origin: { trusted: false, confidential: false, fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/) },
    });
    expect([...(requests[0]?.capabilities ?? [])].sort()).toEqual(['destructive', 'write']);
  });

  test('gets an id of its own for every call', async () => {
    const { view, requests } = await withGate(() => yes);
    await Promise.all([1, 2, 3].map(() => view.callTool('echo', {})));
    expect(new Set(requests.map(({ callId }) => callId)).size).toBe(3);
  });

  test('decides about what is sent: neither caller nor gate can change it afterwards', async () => {
    let allow: (decision: GateDecision) => void = () => {};
    const { view, requests } = await withGate(
      () =>
        new Promise((resolve) => {
          allow = resolve;
        }),
    );
    const args = { text: 'harmless' };
    const result = view.callTool('echo', args);
    await expect.poll(() => requests.length).toBe(1);
    args.text = 'changed by the caller';
    (requests[0]?.args as { text: string }).text = 'changed by the gate';
    allow(yes);
    expect((await result).text()).toBe('harmless');
  });

  test.each<[string, Gate['check'], RegExp]>([
    [
      'throws',
      () => {
        throw new Error('rules.json is gone');
      },
      /the gate failed: rules\.json is gone/,
    ],
    ['rejects', () => Promise.reject(new Error('no database')), /the gate failed: no database/],
    ['gives nothing', () => undefined as unknown as GateDecision, /no decision/],
    ['gives true', () => true as unknown as GateDecision, /no decision/],
    ['gives a word for yes', () => ({ allow: 'yes' }) as unknown as GateDecision, /no decision/],
  ])('that %s denies', async (_, check, said) => {
    const { view } = await withGate(check);
    const failure = await failureOf(view.callTool('echo', {}));
    expect(failure.code).toBe('DENIED');
    expect(failure.message).toMatch(said);
    expect(arrived()).toEqual([]);
  });

  test('may take its time: no limit of the call runs meanwhile', async () => {
    let allow: (decision: GateDecision) => void = () => {};
    const { view, requests } = await withGate(
      () =>
        new Promise((resolve) => {
          allow = resolve;
        }),
    );
    const result = view.callTool('echo', { text: 'a' }, { timeoutMs: 1_000, maxMs: 1_000 });
    await expect.poll(() => requests.length).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    allow(yes);
    expect((await result).text()).toBe('a');
  });

  test('that is still asking when the call is given up: cancelled at once, and the person is told', async () => {
    const { view, requests } = await withGate(() => new Promise(() => {}));
    const abort = new AbortController();
    const failure = failureOf(view.callTool('echo', {}, { signal: abort.signal }));
    await expect.poll(() => requests.length).toBe(1);
    abort.abort();
    expect(await failure).toMatchObject({ code: 'CANCELLED', outcome: 'cancelled' });
    expect(requests[0]?.signal?.aborted).toBe(true);
    expect(arrived()).toEqual([]);
  });

  test('that says yes to a call which was given up meanwhile sends nothing', async () => {
    let allow: (decision: GateDecision) => void = () => {};
    const { runtime, view, requests, ends } = await withGate(
      () =>
        new Promise((resolve) => {
          allow = resolve;
        }),
    );
    const abort = new AbortController();
    const failure = failureOf(view.callTool('echo', {}, { signal: abort.signal }));
    await expect.poll(() => requests.length).toBe(1);
    abort.abort();
    allow(yes);
    expect((await failure).code).toBe('CANCELLED');
    await runtime.status();
    expect(arrived()).toEqual([]);
    expect(ends).toEqual([]);
  });

  test('is not asked about a call that was given up before', async () => {
    const { view, requests } = await withGate(() => yes);
    const failure = await failureOf(view.callTool('echo', {}, { signal: AbortSignal.abort() }));
    expect(failure.code).toBe('CANCELLED');
    expect(requests).toEqual([]);
  });

  test('that is still asking when the runtime closes: the call ends as CLOSED', async () => {
    const { runtime, view, requests } = await withGate(() => new Promise(() => {}));
    const failure = failureOf(view.callTool('echo', {}));
    await expect.poll(() => requests.length).toBe(1);
    await runtime.close();
    expect((await failure).code).toBe('CLOSED');
    expect(requests[0]?.signal?.aborted).toBe(true);
  });

  test('holds one call back and no other', async () => {
    const { view } = await withGate(({ args }) => (args.text === 'wait' ? new Promise(() => {}) : yes));
    const abort = new AbortController();
    const held = failureOf(view.callTool('echo', { text: 'wait' }, { signal: abort.signal }));
    expect((await view.callTool('echo', { text: 'go' })).text()).toBe('go');
    abort.abort();
    await held;
  });

  test('hears of calls that fail too', async () => {
    const { view, ends } = await withGate(() => yes);
    await view.callTool('fail', {});
    await failureOf(view.callTool('hang', {}, { timeoutMs: 50 }));
    expect(ends).toEqual([
      ['fail', 'tool_error'],
      ['hang', 'timeout'],
    ]);
  });
});

describe('without a gate', () => {
  test('a call makes no promise more than its own', async () => {
    const runtime = await start({ s: offering() });
    await runtime.ready();
    const view = runtime.server('s');
    await view.callTool('echo', {});
    const { createHook } = await import('node:async_hooks');
    let promises = 0;
    const hook = createHook({ init: (_, type) => void (type === 'PROMISE' && promises++) }).enable();
    const call = view.callTool('echo', {});
    hook.disable();
    await call;
    // The call's own, and the one flush of the turn.
    expect(promises).toBeLessThanOrEqual(2);
  });
});

describe('gates of this package before a runtime', () => {
  test('permissions name server, tool and rule in the error', async () => {
    const gate = await Permissions.open({
      file: false,
      rules: [{ effect: 'deny', server: 's', tool: 'echo' }],
    });
    const runtime = await start({ s: offering() }, { gate });
    await runtime.ready();
    const failure = await failureOf(runtime.server('s').callTool('echo', {}));
    expect(failure.message).toBe(
      's.echo: denied: tool "echo" of server "s": the rule "deny server s tool echo" forbids it',
    );
  });

  test('a confidential server taints what comes after it', async () => {
    const gate = new DataFlow();
    const runtime = await start({ hr: { ...scripted({}), confidential: true }, web: scripted({}) }, { gate });
    await runtime.ready();
    const web = runtime.server('web');
    expect((await web.callTool('echo', { text: 'a' })).text()).toBe('a');
    await runtime.server('hr').callTool('echo', { text: 'salary' });
    const failure = await failureOf(web.callTool('echo', { text: 'salary' }));
    expect(failure.code).toBe('DENIED');
    expect(failure.message).toMatch(/"hr".*"web"/);
    gate.clear();
    expect((await web.callTool('echo', { text: 'a' })).text()).toBe('a');
  });
});

describe('openTrust', () => {
  test('is one gate: a person is asked about the call, then about where the data goes', async () => {
    const kinds: string[] = [];
    const trust = await openTrust({
      keep: false,
      rules: [{ effect: 'deny', server: 'hr', tool: 'fail' }],
      onAsk: ({ kind }) => {
        kinds.push(kind);
        return { allow: true };
      },
    });
    const runtime = await start(
      { hr: { ...scripted({}), confidential: true }, web: scripted({}) },
      { gate: trust.gate },
    );
    await runtime.ready();
    trust.watch(runtime);
    await runtime.server('hr').callTool('echo', { text: 'salary' });
    expect(trust.flow.sources).toEqual(['hr']);
    await runtime.server('web').callTool('echo', { text: 'salary' });
    expect(kinds).toEqual(['permission', 'permission', 'data-flow']);
    const denied = await failureOf(runtime.server('hr').callTool('fail', {}));
    expect(denied.message).toContain('the rule "deny server hr tool fail"');
    expect(kinds).toHaveLength(3);
  });

  test('asks about a changed tool between the two', async () => {
    const kinds: string[] = [];
    const trust = await openTrust({
      keep: false,
      onAsk: ({ kind }) => {
        kinds.push(kind);
        return { allow: true };
      },
    });
    const runtime = await start({ s: scripted({}) }, { gate: trust.gate });
    await runtime.ready();
    const fingerprint = runtime.server('s').trust?.fingerprint ?? '';
    await trust.pins.review('s', fingerprint, [{ name: 'echo', description: 'Once.', inputSchema: {} }]);
    await runtime.server('s').callTool('echo', { text: 'a' });
    expect(kinds).toEqual(['permission', 'changed']);
  });
});

describe('one retry after a lost server', () => {
  const tools = (annotations: Record<string, boolean>) => [
    { name: 'look', inputSchema: { type: 'object' as const }, annotations },
  ];
  /** The first launch dies with the call in flight, the second one answers. */
  const mortal = (annotations: Record<string, boolean>, more: Record<string, unknown> = {}) => ({
    ...scripted({
      tools: tools(annotations),
      launches: {
        file: path('launches'),
        scripts: [{ rules: [{ method: 'tools/call', reply: null, exit: { code: 1 } }] }, {}],
      },
    }),
    ...more,
  });

  test.each([
    ['readOnlyHint', { readOnlyHint: true }],
    ['idempotentHint', { idempotentHint: true }],
  ])('comes by itself for a tool of a trusted server with %s', async (_, annotations) => {
    const runtime = await start({ s: mortal(annotations, { trust: true }) });
    await runtime.ready();
    const result = await runtime.server('s').callTool('look', { a: 1 });
    expect(result).toMatchObject({ isError: false, attempts: 2 });
  });

  test.each<[string, Record<string, boolean>, Record<string, unknown>, { idempotent?: boolean }]>([
    ['the server is not trusted', { readOnlyHint: true }, {}, {}],
    ['the tool hints nothing', {}, { trust: true }, {}],
    ['the caller says no', { readOnlyHint: true }, { trust: true }, { idempotent: false }],
  ])('does not come when %s', async (_, annotations, more, options) => {
    const runtime = await start({ s: mortal(annotations, more) });
    await runtime.ready();
    const failure = await failureOf(runtime.server('s').callTool('look', { a: 1 }, options));
    expect(failure).toMatchObject({ code: 'OUTCOME_UNKNOWN', data: { attempts: 1 } });
  });
});
