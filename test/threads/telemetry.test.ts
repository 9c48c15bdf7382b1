/** Traces and metrics as an OpenTelemetry SDK in the agent's process sees them, with real servers behind the calls. */
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { context, metrics, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Histogram } from '@opentelemetry/sdk-metrics';
import { AlwaysOffSampler, type ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runAgent } from '../../packages/runtime/src/agent/loop.js';
import { scriptedModel } from '../../packages/runtime/src/agent/models/scripted.js';
import { createToolset } from '../../packages/runtime/src/agent/toolset.js';
import { useCensus } from '../support/census.js';
import { eventually } from '../support/eventually.js';
import { useHttp } from '../support/http-script.js';
import { readRecord, recorded } from '../support/record.js';
import { failureOf, reaches, useRuntime } from '../support/runtime.js';
import { scripted } from '../support/script.js';
import { Metrics, Spans, useContexts } from '../support/telemetry.js';
import { useTempDir } from '../support/temp-dir.js';

useContexts();
useCensus();
const directory = useTempDir();
const http = useHttp();
const start = useRuntime(directory);

const TRACED = { command: process.execPath, args: [fixture('traced-server.mjs')] };
const modern = (record: string) => ({
  command: process.execPath,
  args: [fixture('modern-server.mjs'), JSON.stringify({ record })],
  protocol: '2026-07-28',
});

function fixture(name: string): string {
  return fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));
}

let spans: Spans;
let meters: Metrics;
beforeEach(() => {
  spans = new Spans();
  meters = new Metrics();
});
afterEach(() => meters.close());

const traced = () => ({ telemetry: { tracerProvider: spans.provider, meterProvider: false } as const });
const measured = () => ({ telemetry: { tracerProvider: false, meterProvider: meters.provider } as const });

const parentOf = (span: ReadableSpan | undefined) => span?.parentSpanContext?.spanId;
const idOf = (span: ReadableSpan | Span | undefined) => span?.spanContext().spanId;
const traceparentOf = (span: ReadableSpan | undefined) =>
  `00-${span?.spanContext().traceId}-${idOf(span)}-01`;
const errorOf = (span: ReadableSpan | undefined) => span?.attributes['error.type'];

/** Runs `work` within a span, as an agent's own code would. */
async function within<T>(work: () => Promise<T>): Promise<{ value: T; span: Span }> {
  const span = spans.provider.getTracer('agent').startSpan('agent');
  try {
    return { value: await context.with(trace.setSpan(context.active(), span), work), span };
  } finally {
    span.end();
  }
}

describe('the span of a call', () => {
  it('stands between the agent and the server: three spans in a line, in two processes', async () => {
    const runtime = await start({ s: TRACED }, traced());
    await runtime.ready();
    const { value, span: agent } = await within(() =>
      runtime.callTool('mcp__s__work', { secret: 'hunter2' }),
    );
    const [call] = spans.named('tools/call work');
    expect(parentOf(call)).toBe(idOf(agent));
    expect(value.structuredContent).toEqual({
      traceId: agent.spanContext().traceId,
      spanId: expect.not.stringMatching(idOf(call) ?? ''),
      parentSpanId: idOf(call),
    });
    expect(call).toMatchObject({ kind: SpanKind.CLIENT, status: { code: SpanStatusCode.UNSET } });
    expect(call?.attributes).toEqual({
      'mcp.method.name': 'tools/call',
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'work',
      'mcp.protocol.version': '2025-11-25',
      'network.transport': 'pipe',
      'bulkhead.server': 's',
    });
  });

  it('is a child of what is active in the agent loop when a model asks for the tool', async () => {
    const runtime = await start({ s: TRACED }, traced());
    await runtime.ready();
    const call = { callId: 'c1', name: 'mcp__s__work', argsText: '{}' };
    const { span: agent } = await within(async () =>
      runAgent({
        model: scriptedModel([{ calls: [call] }, { text: 'done' }]),
        toolset: createToolset({ runtime }),
        prompt: 'Do it.',
        outputDirectory: directory('output'),
      }),
    );
    expect(spans.named('tools/call work').map(parentOf)).toEqual([idOf(agent)]);
  });

  it('is the parent that a server of the stateless era is told', async () => {
    const record = directory('record.jsonl');
    const runtime = await start({ s: modern(record) }, traced());
    await runtime.ready();
    await runtime.callTool('mcp__s__echo', { text: 'x' });
    const [call] = spans.named('tools/call echo');
    const seen = await recordedIn(record, 'tools/call');
    expect(seen._meta).toMatchObject({
      traceparent: traceparentOf(call),
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    });
    expect(call?.attributes['mcp.protocol.version']).toBe('2026-07-28');
  });

  it('is the parent that a server over HTTP is told', async () => {
    const server = await http();
    const runtime = await start({ s: { type: 'http', url: server.url } }, traced());
    await runtime.ready();
    await runtime.callTool('mcp__s__echo', { text: 'x' });
    const [call] = spans.named('tools/call echo');
    const seen = server.requests.find(({ message }) => message?.method === 'tools/call')?.message;
    expect(seen?.params?._meta).toMatchObject({ traceparent: traceparentOf(call) });
    expect(call?.attributes['network.transport']).toBe('tcp');
  });

  it('has the caller whom `meta` names as its parent, and passes on what else stands there', async () => {
    const record = directory('record.jsonl');
    const runtime = await start({ s: scripted({ record }) }, traced());
    await runtime.ready();
    const meta = {
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      tracestate: 'vendor=1',
      'example.com/key': 'é"7',
      progressToken: 'mine',
    };
    await runtime.callTool('mcp__s__echo', { text: 'x' }, { meta });
    const [call] = spans.named('tools/call echo');
    expect(call?.parentSpanContext).toMatchObject({
      traceId: '0af7651916cd43dd8448eb211c80319c',
      spanId: 'b7ad6b7169203331',
      isRemote: true,
    });
    expect(metaOf(record)).toEqual({
      progressToken: expect.any(Number),
      traceparent: traceparentOf(call),
      tracestate: 'vendor=1',
      'example.com/key': 'é"7',
    });
  });

  it.each([
    'zz',
    '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more',
    '00-00000000000000000000000000000000-b7ad6b7169203331-01',
    'ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  ])('begins a trace of its own when `meta` holds no parent: %s', async (traceparent) => {
    const runtime = await start({ s: scripted({}) }, traced());
    await runtime.ready();
    await runtime.callTool('mcp__s__echo', { text: 'x' }, { meta: { traceparent } });
    expect(parentOf(spans.named('tools/call echo')[0])).toBeUndefined();
  });

  it('stays among us with `propagate: false`, and a sampler that says no still reaches the server', async () => {
    const record = directory('record.jsonl');
    const silent = directory('silent.jsonl');
    const off = new Spans(new AlwaysOffSampler());
    const told = await start(
      { s: scripted({ record }) },
      { telemetry: { tracerProvider: off.provider, meterProvider: false } },
    );
    const untold = await start(
      { s: scripted({ record: silent }) },
      { telemetry: { tracerProvider: spans.provider, propagate: false } },
    );
    for (const runtime of [told, untold]) {
      await runtime.ready();
      await runtime.callTool('mcp__s__echo', { text: 'x' });
    }
    expect(metaOf(record).traceparent).toMatch(/^00-[\da-f]{32}-[\da-f]{16}-00$/);
    expect(off.ended).toEqual([]);
    expect(Object.keys(metaOf(silent))).toEqual(['progressToken']);
    expect(spans.named('tools/call echo').length).toBe(1);
  });

  it('is left out for calls without a parent by `ratio: 0`, and kept for those within a span', async () => {
    const record = directory('record.jsonl');
    const runtime = await start(
      { s: scripted({ record }) },
      { telemetry: { tracerProvider: spans.provider, ratio: 0 } },
    );
    await runtime.ready();
    await runtime.callTool('mcp__s__echo', { text: 'x' });
    expect(spans.named('tools/call echo')).toEqual([]);
    expect(Object.keys(metaOf(record))).toEqual(['progressToken']);
    const { span: agent } = await within(() => runtime.callTool('mcp__s__echo', { text: 'y' }));
    expect(spans.named('tools/call echo').map(parentOf)).toEqual([idOf(agent)]);
  });

  it('is left out for most of very many calls without a parent, and kept for all within a span', async () => {
    const runtime = await start(
      { s: scripted({}) },
      { telemetry: { tracerProvider: spans.provider, spansPerSecond: 5 } },
    );
    await runtime.ready();
    const many = () =>
      Promise.all(Array.from({ length: 60 }, () => runtime.callTool('mcp__s__echo', { text: 'x' })));
    await many();
    const alone = spans.named('tools/call echo').length;
    expect(alone).toBeGreaterThanOrEqual(5);
    expect(alone).toBeLessThan(40);
    const { span: agent } = await within(many);
    expect(spans.named('tools/call echo').filter((span) => parentOf(span) === idOf(agent))).toHaveLength(60);
  });

  it('is there for other requests too, without what their URI may hide', async () => {
    const record = directory('record.jsonl');
    const rules = [{ method: 'resources/read', reply: { result: { contents: [] } } }];
    const capabilities = { tools: {}, resources: {} };
    const runtime = await start({ s: scripted({ record, rules, capabilities }) }, traced());
    await runtime.ready();
    await runtime.server('s').readResource('https://ann:pw@example.com/a?key=secret#x');
    const [read] = spans.named('resources/read');
    expect(read?.attributes).toMatchObject({
      'mcp.method.name': 'resources/read',
      'mcp.resource.uri': 'https://example.com/a',
    });
    const params = readRecord(record).messages.find(({ method }) => method === 'resources/read')?.params;
    expect(params).toMatchObject({
      uri: 'https://ann:pw@example.com/a?key=secret#x',
      _meta: { traceparent: traceparentOf(read) },
    });
  });
});

describe('how a call ends is how its span ends', () => {
  const ends: [string, string, (runtime: Awaited<ReturnType<typeof start>>) => Promise<unknown>][] = [
    ['tool_error', 'fail', (runtime) => runtime.callTool('mcp__s__fail', { text: 'secret' })],
    ['timeout', 'hang', (runtime) => failureOf(runtime.callTool('mcp__s__hang', {}, { timeoutMs: 50 }))],
    [
      'cancelled',
      'hang',
      (runtime) => failureOf(runtime.callTool('mcp__s__hang', {}, { signal: AbortSignal.timeout(50) })),
    ],
    ['outcome_unknown', 'exit', (runtime) => failureOf(runtime.callTool('mcp__s__exit', { code: 3 }))],
    ['-32001', 'echo', (runtime) => failureOf(runtime.callTool('mcp__s__echo', { text: 'secret' }))],
  ];

  it.each(ends)('%s (%s)', async (type, tool, call) => {
    const error = { code: -32001, message: 'the secret is not here' };
    const rules = [{ method: 'tools/call', tool: 'echo', reply: { error } }];
    const runtime = await start({ s: scripted({ rules }) }, traced());
    await runtime.ready();
    await call(runtime);
    const [span] = spans.named(`tools/call ${tool}`);
    expect(errorOf(span)).toBe(type);
    expect(span?.status.code).toBe(SpanStatusCode.ERROR);
    expect(JSON.stringify([span?.attributes, span?.status])).not.toContain('secret');
    if (type === '-32001') expect(span?.attributes['rpc.response.status_code']).toBe(type);
    await runtime.close();
    expect(spans.ended.length).toBe(spans.started);
  });

  it('a mailbox that is full, a server that rests, a gate that says no: refused, and seen', async () => {
    const runtime = await start(
      { s: { ...scripted({}), window: 1, queueMax: 1 }, off: { ...scripted({}), disabled: true } },
      {
        ...traced(),
        gate: { check: ({ identity }) => ({ allow: identity.tool !== 'cwd', reason: 'not here' }) },
      },
    );
    await runtime.ready({ servers: ['s'] });
    const calls = Array.from({ length: 3 }, () =>
      failureOf(runtime.callTool('mcp__s__hang', {}, { timeoutMs: 300 })),
    );
    await Promise.all(calls);
    await failureOf(runtime.server('off').callTool('echo', {}));
    await failureOf(runtime.callTool('mcp__s__cwd'));
    expect(spans.named('tools/call hang').map(errorOf)).toEqual(['mailbox_full', 'timeout', 'timeout']);
    expect(spans.named('tools/call echo').map(errorOf)).toEqual(['not_ready']);
    expect(spans.named('tools/call cwd').map(errorOf)).toEqual(['denied']);
  });

  it('a call that runs again after a crash is one span that says so', async () => {
    const crash = { method: 'tools/call', reply: null, exit: { code: 1 } };
    const launches = { file: directory('launches'), scripts: [{ rules: [crash] }] };
    const runtime = await start({ s: scripted({ launches }) }, traced());
    await runtime.ready();
    await runtime.callTool('mcp__s__echo', { text: 'x' }, { idempotent: true });
    const calls = spans.named('tools/call echo');
    expect(calls.map(({ attributes }) => attributes['bulkhead.attempts'])).toEqual([2]);
    expect(calls[0]?.status.code).toBe(SpanStatusCode.UNSET);
  });

  it('a provider that throws costs its telemetry, not the call', async () => {
    const broken = {
      startSpan(): never {
        throw new Error('no spans today');
      },
    };
    const tracerProvider = { getTracer: () => broken } as never;
    const runtime = await start({ s: scripted({}) }, { telemetry: { tracerProvider, meterProvider: false } });
    await runtime.ready();
    expect((await runtime.callTool('mcp__s__echo', { text: 'x' })).text()).toBe('x');
  });
});

describe('the life of a server', () => {
  it('is a trace for each generation: the start within it, and why it ended', async () => {
    const runtime = await start({ s: scripted({}) }, traced());
    await runtime.ready();
    await failureOf(runtime.callTool('mcp__s__exit', { code: 3 }));
    await eventually(
      () => spans.named('start s').length === 2,
      () => 'the second start',
    );
    await runtime.close();
    const [first, second] = spans.named('server s');
    const [firstStart, secondStart] = spans.named('start s');
    expect([parentOf(first), parentOf(second)]).toEqual([undefined, undefined]);
    expect([parentOf(firstStart), parentOf(secondStart)]).toEqual([idOf(first), idOf(second)]);
    expect(firstStart?.status.code).toBe(SpanStatusCode.UNSET);
    expect(first).toMatchObject({ status: { code: SpanStatusCode.ERROR, message: 'exit' } });
    expect(first?.events.map(({ name }) => name)).toEqual(['starting', 'connecting', 'ready', 'ended']);
    expect(first?.events.at(-1)?.attributes).toMatchObject({
      'bulkhead.reason': 'exit',
      'process.exit.code': 3,
    });
    expect(second?.status.code).toBe(SpanStatusCode.UNSET);
    expect(spans.ended.length).toBe(spans.started);
  });

  it('that never gets to be ready says so in its start', async () => {
    const runtime = await start({ s: { command: directory('not-there') } }, traced());
    await reaches(runtime, 's', 'quarantined');
    const [begun] = spans.named('start s');
    expect(begun?.status.code).toBe(SpanStatusCode.ERROR);
    expect(errorOf(begun)).toBe('spawn');
    await runtime.close();
    expect(spans.ended.length).toBe(spans.started);
  });
});

describe('metrics', () => {
  it('count calls by outcome and measure how long they took, by tool and kind of error', async () => {
    const runtime = await start({ s: scripted({}) }, measured());
    await runtime.ready();
    for (const text of ['a', 'b', 'c']) await runtime.callTool('mcp__s__echo', { text });
    await runtime.callTool('mcp__s__fail', { text: 'no' });
    await failureOf(runtime.callTool('mcp__s__hang', {}, { timeoutMs: 30 }));
    const server = { 'bulkhead.server': 's' };
    expect(await meters.value('bulkhead.calls', { ...server, 'bulkhead.outcome': 'ok' })).toBe(3);
    expect(await meters.value('bulkhead.calls', { ...server, 'bulkhead.outcome': 'timeout' })).toBe(1);
    const duration = (attributes: Record<string, string>) =>
      meters.value('mcp.client.operation.duration', attributes) as Promise<Histogram | undefined>;
    expect(await duration({ 'gen_ai.tool.name': 'echo' })).toMatchObject({ count: 3 });
    expect(await duration({ 'gen_ai.tool.name': 'fail', 'error.type': 'tool_error' })).toMatchObject({
      count: 1,
    });
    expect((await duration({ 'error.type': 'timeout' }))?.min).toBeGreaterThanOrEqual(0.029);
    expect((await duration({ 'error.type': 'timeout' }))?.max).toBeLessThan(30);
  });

  it('tell of queue, state, breaker, memory, restarts, sessions and the loop', async () => {
    const runtime = await start({ s: { ...scripted({}), window: 1 } }, measured());
    await runtime.ready();
    const server = { 'bulkhead.server': 's' };
    const abort = new AbortController();
    const hanging = Array.from({ length: 3 }, () =>
      failureOf(runtime.callTool('mcp__s__hang', {}, { signal: abort.signal })),
    );
    expect(await meters.value('bulkhead.calls.in_flight', server)).toBe(1);
    expect(await meters.value('bulkhead.calls.queued', server)).toBe(2);
    expect(await meters.value('bulkhead.breaker.open', server)).toBe(0);
    expect(await meters.value('bulkhead.server.state', { ...server, 'bulkhead.state': 'ready' })).toBe(1);
    expect(await meters.value('bulkhead.server.memory', server)).toBeGreaterThan(1_000_000);
    const io = (direction: string) =>
      meters.value('bulkhead.server.io', { ...server, 'network.io.direction': direction });
    expect(await io('receive')).toBeGreaterThan(500);
    expect(await io('transmit')).toBeGreaterThan(100);
    expect(await meters.value('bulkhead.server.loop.delay', server)).toBeGreaterThanOrEqual(0);
    expect(await meters.value('process.memory.usage', {})).toBeGreaterThan(10_000_000);
    expect(await meters.value('nodejs.eventloop.utilization', {})).toBeGreaterThan(0);
    abort.abort();
    await Promise.all(hanging);
    await runtime.server('s').restart();
    await reaches(runtime, 's', 'ready');
    expect(await meters.value('bulkhead.server.starts', server)).toBe(2);
    expect(await meters.value('bulkhead.server.restarts', server)).toBe(1);
    const lost = reaches(runtime, 's', 'backoff');
    await failureOf(runtime.callTool('mcp__s__exit', { code: 3 }));
    await lost;
    const sessions = await meters.points('mcp.client.session.duration');
    expect(sessions.map(({ attributes }) => attributes['error.type'])).toEqual([undefined, 'exit']);
  });

  it('of what is gone are told once more as 0, and then no longer', async () => {
    const runtime = await start({ s: scripted({}), t: scripted({}) }, measured());
    await runtime.ready();
    const ready = (server: string) =>
      meters.value('bulkhead.server.state', { 'bulkhead.server': server, 'bulkhead.state': 'ready' });
    expect([await ready('s'), await ready('t')]).toEqual([1, 1]);
    await runtime.reconfigure({ servers: { s: scripted({}) } });
    expect([await ready('s'), await ready('t')]).toEqual([1, 0]);
    const hanging = failureOf(runtime.callTool('mcp__s__hang'));
    expect(await meters.value('bulkhead.calls.in_flight', { 'bulkhead.server': 's' })).toBe(1);
    await runtime.close();
    await hanging;
    expect(await meters.value('bulkhead.calls.in_flight', { 'bulkhead.server': 's' })).toBe(0);
    expect([await ready('s'), await ready('t')]).toEqual([0, 0]);
  });
});

describe('without being told', () => {
  afterEach(() => {
    trace.disable();
    metrics.disable();
  });

  it('telemetry is on for providers that were registered before', async () => {
    const record = directory('record.jsonl');
    trace.setGlobalTracerProvider(spans.provider);
    metrics.setGlobalMeterProvider(meters.provider);
    const runtime = await start({ s: scripted({ record }) });
    await runtime.ready();
    await runtime.callTool('mcp__s__echo', { text: 'x' });
    expect(spans.named('tools/call echo').length).toBe(1);
    expect(await meters.value('bulkhead.calls', { 'bulkhead.outcome': 'ok' })).toBe(1);
    expect(metaOf(record).traceparent).toBeDefined();
  });

  it.each([
    ['nothing is registered', undefined],
    ['it is switched off', false as const],
  ])('there is none when %s', async (_, telemetry) => {
    if (telemetry === false) {
      trace.setGlobalTracerProvider(spans.provider);
      metrics.setGlobalMeterProvider(meters.provider);
    }
    const record = directory('record.jsonl');
    const runtime = await start({ s: scripted({ record }) }, telemetry === undefined ? {} : { telemetry });
    await runtime.ready();
    await runtime.callTool('mcp__s__echo', { text: 'x' });
    await runtime.close();
    expect(spans.started).toBe(0);
    expect(await meters.points('bulkhead.calls')).toEqual([]);
    expect(Object.keys(metaOf(record))).toEqual(['progressToken']);
  });

  it.each([
    [{ tracerProvider: 'otlp' }, /telemetry\.tracerProvider to be an OpenTelemetry provider/],
    [{ ratio: 2 }, /telemetry\.ratio to be a number from 0 to 1, got 2/],
  ])('what is no setting is refused: %j', async (telemetry, message) => {
    await expect(start({ s: scripted({}) }, { telemetry: telemetry as never })).rejects.toThrow(message);
  });
});

it('an attached thread traces its own calls with the provider that is registered there', async () => {
  const runtime = await start({ s: TRACED }, traced());
  await runtime.ready();
  const handle = runtime.attach();
  const workerData = { handle, tool: 'mcp__s__work' };
  const agent = new Worker(fixture('traced-agent.mjs'), { workerData, transferList: handle.transfer });
  const [seen] = await once(agent, 'message');
  await agent.terminate();
  // Lives of servers are told of by the owner alone, calls by the thread that makes them.
  expect(seen).toEqual([
    { name: 'tools/call work', traceId: expect.any(String), spanId: expect.any(String) },
  ]);
  expect(spans.named('tools/call work')).toEqual([]);
});

/** `_meta` of the first call that a scripted server got. */
function metaOf(record: string): Record<string, unknown> {
  const call = readRecord(record).messages.find(({ method }) => method === 'tools/call');
  return (call?.params?._meta ?? {}) as Record<string, unknown>;
}

/** Params of the first message of that method that the modern fixture got. */
async function recordedIn(record: string, method: string): Promise<{ _meta?: unknown }> {
  const seen = await recorded(record, ({ messages }) =>
    messages.some((message) => (message as { in?: { method?: string } }).in?.method === method),
  );
  const messages = seen.messages as unknown as { in: { method: string; params: { _meta?: unknown } } }[];
  return messages.find((message) => message.in.method === method)?.in.params ?? {};
}
