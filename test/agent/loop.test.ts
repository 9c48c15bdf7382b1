/** The agent loop with a scripted model, and real servers and tools: what runs beside what, and how calls and runs end. */
import { spawnSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BulkheadError } from '@bulkhead/runtime';
import { describe, expect, it } from 'vitest';
import type { PostToolUseInput } from '../../packages/runtime/src/agent/hooks/event.js';
import type { FunctionHook } from '../../packages/runtime/src/agent/hooks/function-hook.js';
import { createHooks } from '../../packages/runtime/src/agent/hooks/hooks.js';
import { defineTool } from '../../packages/runtime/src/agent/local-tool.js';
import { runAgent } from '../../packages/runtime/src/agent/loop.js';
import type { AgentEvent } from '../../packages/runtime/src/agent/loop-events.js';
import type { RunOptions } from '../../packages/runtime/src/agent/loop-options.js';
import type { Message } from '../../packages/runtime/src/agent/models/model.js';
import { type ScriptedTurn, scriptedModel } from '../../packages/runtime/src/agent/models/scripted.js';
import { subAgentTool } from '../../packages/runtime/src/agent/sub-agent.js';
import type { Gate, GateRequest, Tool } from '../../packages/runtime/src/agent/tool.js';
import { createToolset } from '../../packages/runtime/src/agent/toolset.js';
import { codeBlocks, readPage, root } from '../docs/markdown.js';
import { useCensus } from '../support/census.js';
import { recorded } from '../support/record.js';
import { useRuntime } from '../support/runtime.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus({ graceMs: 8_000 });
const directory = useTempDir();
const runtimeOf = useRuntime(directory);

const example = (name: string) => ({
  command: process.execPath,
  args: [fileURLToPath(new URL(`../../examples/${name}/server.mjs`, import.meta.url))],
});

/** A server that says back the very text of the arguments that it gets. */
const rawEcho = `
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) return;
    const serverInfo = { name: 'raw', version: '1' };
    const results = {
      initialize: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo },
      'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
      'tools/call': { content: [{ type: 'text', text: /"arguments":([{].*?[}])/.exec(line)?.[1] }] },
    };
    process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? {} }) + '\\n');
  });
`;

/** A local tool that says back what it got; others do what the test gives. */
const local = (name: string, execute?: Tool['execute'], more: Partial<Tool> = {}): Tool => ({
  name,
  description: name,
  inputSchema: { type: 'object' },
  identity: { kind: 'local', tool: name },
  capabilities: new Set(['write']),
  execute:
    execute ??
    (async (args) => ({ isError: false, content: [{ type: 'text', text: JSON.stringify(args) }] })),
  ...more,
});
const text = (words: string) => ({ isError: false, content: [{ type: 'text' as const, text: words }] });
const never = () => new Promise<never>(() => {});
const done: ScriptedTurn = { text: 'All done.' };

/** Runs to the end and gives the events beside the result. */
async function run(
  turns: readonly ScriptedTurn[],
  toolset: RunOptions['toolset'],
  more: Partial<RunOptions> = {},
) {
  const model = scriptedModel(turns);
  const events: AgentEvent[] = [];
  const { onEvent } = more;
  const result = await runAgent({
    model,
    toolset,
    prompt: 'Do it.',
    outputDirectory: directory('output'),
    ...more,
    onEvent(event) {
      events.push(event);
      onEvent?.(event);
    },
  });
  const ofType = <T extends AgentEvent['type']>(type: T) =>
    events.filter((event): event is Extract<AgentEvent, { type: T }> => event.type === type);
  return { model, events, ofType, result, answers: answersOf(result.messages) };
}

/** All answers to calls: id, whether it is an error, text. */
function answersOf(messages: readonly Message[]) {
  return messages.flatMap((message) =>
    message.role !== 'tool'
      ? []
      : message.results.map(({ callId, isError, parts }) => ({
          callId,
          isError,
          text: parts.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join(''),
        })),
  );
}

/** Every call has exactly one answer, right behind the message that made it, in the same order. */
function expectWhole(messages: readonly Message[]): void {
  for (const [index, message] of messages.entries()) {
    if (message.role !== 'assistant') continue;
    const calls = message.content.flatMap((part) => (part.type === 'tool-call' ? [part.callId] : []));
    const next = messages[index + 1];
    const answers = next?.role === 'tool' ? next.results.map(({ callId }) => callId) : [];
    expect(answers).toEqual(calls);
  }
  const ids = messages.flatMap((message) =>
    message.role === 'assistant'
      ? message.content.flatMap((part) => (part.type === 'tool-call' ? [part.callId] : []))
      : [],
  );
  expect(new Set(ids).size).toBe(ids.length);
}

describe('a run', () => {
  it('asks, calls, answers, and ends when the model has nothing more to do', async () => {
    const { result, events, model } = await run(
      [{ text: 'I look.', calls: [{ name: 'look', args: { at: 1 }, callId: 'a' }] }, done],
      [local('look')],
      { system: 'Be brief.' },
    );
    expect(result).toMatchObject({ stopReason: 'end', text: 'All done.', steps: 2 });
    expect(result.messages).toEqual([
      { role: 'user', content: 'Do it.' },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'I look.' },
          { type: 'tool-call', callId: 'a', name: 'look', argsText: '{"at":1}' },
        ],
      },
      {
        role: 'tool',
        results: [{ callId: 'a', name: 'look', isError: false, parts: [{ type: 'text', text: '{"at":1}' }] }],
      },
      { role: 'assistant', content: [{ type: 'text', text: 'All done.' }] },
    ]);
    expect(model.requests.map(({ system, messages }) => [system, messages.length])).toEqual([
      ['Be brief.', 1],
      ['Be brief.', 3],
    ]);
    expect(events.map(({ type }) => type)).toEqual(
      'step text text message tool-call tool-result message step text text message end'.split(' '),
    );
  });

  it('gives the same events to whoever iterates it, and its result to whoever awaits it', async () => {
    const told: AgentEvent[] = [];
    const agent = runAgent({
      model: scriptedModel([{ calls: [{ name: 'look' }] }, done]),
      toolset: [local('look')],
      prompt: 'Look.',
      onEvent: (event) => told.push(event),
    });
    const iterated: AgentEvent[] = [];
    for await (const event of agent) iterated.push(event);
    expect(iterated).toEqual(told);
    expect(iterated.at(-1)).toEqual({ type: 'end', result: await agent });
  });

  it('goes on with the conversation of the run before', async () => {
    const first = await run([done], []);
    const second = await run([{ text: 'Again.' }], [], {
      messages: first.result.messages,
      prompt: 'Once more.',
    });
    expect(second.model.requests[0]?.messages).toEqual([
      ...first.result.messages,
      { role: 'user', content: 'Once more.' },
    ]);
  });

  it('ends after as many steps as it may take, with an answer for every call', async () => {
    const again: ScriptedTurn = { calls: [{ name: 'look' }] };
    const { result } = await run([again, again, again], [local('look')], { maxSteps: 2 });
    expect(result).toMatchObject({ stopReason: 'max_steps', steps: 2 });
    expectWhole(result.messages);
  });

  it('ends with the reason when the model fails, and without the half of an answer', async () => {
    const failure = new Error('529 overloaded');
    const { result } = await run([{ text: 'I will', error: failure }], []);
    expect(result).toMatchObject({ stopReason: 'error', error: failure, text: '' });
    expect(result.messages).toEqual([{ role: 'user', content: 'Do it.' }]);
  });

  it('runs no call of an answer that was cut at its limit of tokens', async () => {
    const ran: string[] = [];
    const tool = local('write', async () => {
      ran.push('write');
      return text('written');
    });
    const { result, answers } = await run(
      [{ calls: [{ name: 'write', args: '' }], stop: 'max-tokens' }],
      [tool],
    );
    expect(result.stopReason).toBe('max_tokens');
    expect(ran).toEqual([]);
    expect(answers).toMatchObject([{ isError: true, text: expect.stringContaining('limit of tokens') }]);
  });

  it('asks again when the provider paused', async () => {
    const { result } = await run([{ text: 'One moment.', stop: 'pause' }, done], []);
    expect(result).toMatchObject({ stopReason: 'end', steps: 2 });
  });

  it('is not disturbed by a listener that throws', async () => {
    const { result } = await run([done], [], {
      onEvent: () => {
        throw new Error('no');
      },
    });
    expect(result.stopReason).toBe('end');
  });

  it('refuses options that cannot be meant', () => {
    const model = scriptedModel([]);
    const code = (options: Partial<RunOptions>) => {
      try {
        runAgent({ model, toolset: [], prompt: 'x', ...options });
      } catch (error) {
        return (error as BulkheadError).code;
      }
    };
    expect([code({ maxSteps: 0 }), code({ maxTokens: 0.5 }), code({ prompt: '' })]).toEqual([
      'BAD_INPUT',
      'BAD_INPUT',
      'BAD_INPUT',
    ]);
  });
});

describe('calls of one step', () => {
  it('run side by side: each answer is told as it comes, and stands in the order of the calls', async () => {
    let release = () => {};
    const fastDone = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow = local('slow', async () => {
      await fastDone;
      return text('slow');
    });
    const { answers, ofType } = await run(
      [{ calls: [{ name: 'slow' }, { name: 'fast' }] }, done],
      [slow, local('fast', async () => text('fast'))],
      { onEvent: (event) => event.type === 'tool-result' && event.name === 'fast' && release() },
    );
    expect(ofType('tool-result').map(({ name }) => name)).toEqual(['fast', 'slow']);
    expect(answers.map((answer) => answer.text)).toEqual(['slow', 'fast']);
  });

  it('return at once while one of a server hangs, whose call is cancelled on the wire with the run', async () => {
    const record = directory('record.jsonl');
    const runtime = await runtimeOf({
      echo: example('echo'),
      hang: example('hang'),
      watched: scripted({ record, rules: [{ method: 'tools/call', tool: 'hang', reply: null }] }),
    });
    await runtime.ready();
    const abort = new AbortController();
    let returned = 0;
    const { result, answers, ofType } = await run(
      [
        {
          calls: [
            { name: 'mcp__hang__wait' },
            { name: 'mcp__watched__hang' },
            { name: 'mcp__echo__echo', args: { text: 'one' } },
            { name: 'mcp__echo__echo', args: { text: 'two' } },
            { name: 'local' },
          ],
        },
      ],
      createToolset({ runtime, localTools: [local('local')] }),
      {
        signal: abort.signal,
        runtime,
        onEvent(event) {
          if (event.type !== 'tool-result' || ++returned !== 3) return;
          // Not before the call is there: what was never sent needs no cancellation.
          void recorded(record, ({ methods }) => methods.includes('tools/call')).then(() => abort.abort());
        },
      },
    );
    const ends = ofType('tool-result').map(({ name, outcome }) => `${name} ${outcome}`);
    expect(ends.slice(0, 3).sort()).toEqual(['local ok', 'mcp__echo__echo ok', 'mcp__echo__echo ok']);
    expect(ends.slice(3).sort()).toEqual(['mcp__hang__wait cancelled', 'mcp__watched__hang cancelled']);
    expect(answers.map(({ isError }) => isError)).toEqual([true, true, false, false, false]);
    expect(result.stopReason).toBe('aborted');
    expectWhole(result.messages);
    await recorded(record, ({ methods }) => methods.includes('notifications/cancelled'));
  });

  it('are as many as the model wants, without a warning about listeners', async () => {
    const warnings: string[] = [];
    const warn = ({ message }: Error) => warnings.push(message);
    process.on('warning', warn);
    const abort = new AbortController();
    const { result, answers } = await run(
      [{ calls: Array(40).fill({ name: 'deaf' }) }],
      [
        local('deaf', () => {
          setImmediate(() => abort.abort());
          return never();
        }),
      ],
      { signal: abort.signal },
    );
    process.off('warning', warn);
    expect(warnings).toEqual([]);
    expect(result.stopReason).toBe('aborted');
    expect(answers.filter(({ isError }) => isError)).toHaveLength(40);
  });

  it('have ids of their own, whatever the gateway calls them', async () => {
    const seen: string[] = [];
    const tool = local('look', async (_, { callId }) => {
      seen.push(callId);
      return text(callId);
    });
    const same = { name: 'look', callId: 'call_0' };
    const nameless = { name: 'look', callId: '' };
    const { result, answers } = await run(
      [{ calls: [same, same, nameless] }, { calls: [same] }, done],
      [tool],
    );
    expect(seen).toEqual(['call_0', 'call_0-2', 'call', 'call_0-3']);
    expect(answers.map(({ callId, text }) => callId === text)).toEqual([true, true, true, true]);
    expectWhole(result.messages);
  });
});

describe('a call that cannot be made', () => {
  it('of a name that providers refuse is kept under one that they take', async () => {
    const { result, answers } = await run([{ calls: [{ name: 'files.read it', callId: 'a b' }] }, done], []);
    expect(result.messages[1]).toMatchObject({ content: [{ callId: 'a_b', name: 'files_read_it' }] });
    expect(answers).toMatchObject([{ callId: 'a_b', isError: true }]);
  });

  const reasonOf = async (call: ScriptedTurn['calls'], tools: Tool[], more: Partial<RunOptions> = {}) => {
    const { answers, result, ofType } = await run([{ calls: call ?? [] }, done], tools, more);
    expect(result.stopReason).toBe('end');
    expectWhole(result.messages);
    expect(answers[0]?.isError).toBe(true);
    return [answers[0]?.text ?? '', ofType('tool-result')[0]?.outcome];
  };

  it('of an unknown tool says which one may be meant', async () => {
    expect(await reasonOf([{ name: 'loook' }], [local('look')])).toEqual([
      'there is no tool "loook"; did you mean "look"?',
      'rejected',
    ]);
  });

  it.each([
    ['half an object', '{"at": 1', 'JSON'],
    ['an array', '[1]', 'they are an array'],
    ['a text', '"at"', 'they are a string'],
  ])('with %s for arguments says so, with what they were', async (_, args, why) => {
    const [reason] = await reasonOf([{ name: 'look', args }], [local('look')]);
    expect(reason).toContain(why);
    expect(reason).toContain(`They were: ${args}`);
  });

  it('takes no text at all for an object without members', async () => {
    const { answers } = await run([{ calls: [{ name: 'look', args: '' }] }, done], [local('look')]);
    expect(answers).toMatchObject([{ isError: false, text: '{}' }]);
  });

  it('tells what a tool threw', async () => {
    const broken = local('broken', () => Promise.reject(new Error('the disk is full')));
    expect(await reasonOf([{ name: 'broken' }], [broken])).toEqual(['the disk is full', 'tool_error']);
  });

  it('is given up after its timeout, whatever the tool does', async () => {
    const [reason, outcome] = await reasonOf([{ name: 'deaf' }], [local('deaf', never)], {
      toolTimeoutMs: 20,
    });
    expect(outcome).toBe('timeout');
    expect(reason).toContain('no answer within 20 ms');
  });

  it('of a server that times out says so, and the run goes on', async () => {
    const runtime = await runtimeOf({ hang: { ...example('hang'), timeout: 50 } });
    await runtime.ready();
    const { answers, ofType, result } = await run(
      [{ calls: [{ name: 'mcp__hang__wait' }] }, done],
      createToolset({ runtime }),
    );
    expect(ofType('tool-result')[0]?.outcome).toBe('timeout');
    expect(answers[0]).toMatchObject({ isError: true, text: expect.stringContaining('hang.wait') });
    expect(result.stopReason).toBe('end');
  });
});

describe('a run that is aborted', () => {
  it('keeps what the model had said', async () => {
    const abort = new AbortController();
    const { result } = await run([{ text: 'one two three' }], [], {
      signal: abort.signal,
      onEvent: (event) => event.type === 'text' && event.text.startsWith('two') && abort.abort(),
    });
    expect(result.stopReason).toBe('aborted');
    expect(result.messages.at(-1)).toEqual({
      role: 'assistant',
      content: [{ type: 'text', text: 'one two' }],
    });
  });

  it('does not wait for a model or a tool that does not listen', async () => {
    const deafModel = scriptedModel(never);
    const early = new AbortController();
    const asked = runAgent({ model: deafModel, toolset: [], prompt: 'x', signal: early.signal });
    for await (const event of asked) if (event.type === 'step') early.abort();
    expect((await asked).stopReason).toBe('aborted');

    const late = new AbortController();
    const { result, answers } = await run(
      [{ calls: [{ name: 'deaf' }, { name: 'look' }] }],
      [local('deaf', never), local('look')],
      {
        signal: late.signal,
        onEvent: (event) => event.type === 'tool-result' && event.name === 'look' && late.abort(),
      },
    );
    expect(result.stopReason).toBe('aborted');
    expect(answers).toMatchObject([
      { isError: true, text: expect.stringContaining('cancelled') },
      { isError: false },
    ]);
    expectWhole(result.messages);
  });

  it('before it began asks nobody', async () => {
    const { result, model } = await run([done], [], { signal: AbortSignal.abort() });
    expect(result).toMatchObject({ stopReason: 'aborted', steps: 0 });
    expect(model.requests).toEqual([]);
  });
});

describe('a conversation that was cut off', () => {
  it('is mended: a call without an answer gets one that says so', async () => {
    const call = (callId: string) => ({ type: 'tool-call', callId, name: 'look', argsText: '{}' }) as const;
    const kept = {
      callId: 'b',
      name: 'look',
      isError: false,
      parts: [{ type: 'text', text: 'seen' }],
    } as const;
    const messages: Message[] = [
      { role: 'user', content: 'Look.' },
      { role: 'assistant', content: [call('a'), call('b')] },
      { role: 'tool', results: [kept, { ...kept, callId: 'of nobody' }] },
      { role: 'assistant', content: [call('c')] },
    ];
    const { result, answers } = await run([done], [], { messages });
    expectWhole(result.messages);
    expect(answers.map(({ callId, isError }) => [callId, isError])).toEqual([
      ['a', true],
      ['b', false],
      ['c', true],
    ]);
  });
});

describe('permission', () => {
  /** Says no to tools of this name, and keeps what it was asked. */
  function gateAgainst(denied: string) {
    const asked: GateRequest[] = [];
    const ended: string[] = [];
    const gate: Gate = {
      check(request) {
        asked.push(request);
        return request.identity.tool === denied
          ? { allow: false, reason: 'not on a Friday' }
          : { allow: true };
      },
      ended: ({ identity }, outcome) => ended.push(`${identity.tool} ${outcome}`),
    };
    return { gate, asked, ended };
  }

  it('denied is told to the model with its reason, and the tool does not run', async () => {
    const { gate, ended } = gateAgainst('push');
    const ran: string[] = [];
    const tool = (name: string) =>
      local(name, async () => {
        ran.push(name);
        return text(name);
      });
    const { answers, ofType } = await run(
      [
        {
          calls: [
            { name: 'push', callId: 'p' },
            { name: 'pull', callId: 'q' },
          ],
        },
        done,
      ],
      [tool('push'), tool('pull')],
      { gate },
    );
    expect(ran).toEqual(['pull']);
    expect(ended).toEqual(['pull ok']);
    expect(answers[0]).toMatchObject({ isError: true, text: 'push was not run: not on a Friday' });
    expect(ofType('permission')).toEqual([
      { type: 'permission', callId: 'p', name: 'push', by: 'gate', allow: false, reason: 'not on a Friday' },
      { type: 'permission', callId: 'q', name: 'pull', by: 'gate', allow: true },
    ]);
  });

  it('of MCP tools is their runtime’s: asked once, and its refusal is told as well', async () => {
    const { gate, asked } = gateAgainst('wait');
    const runtime = await runtimeOf({ echo: example('echo'), hang: example('hang') }, { gate });
    await runtime.ready();
    const toolset = createToolset({ runtime });
    const { answers, ofType } = await run(
      [
        {
          calls: [
            { name: 'mcp__hang__wait', callId: 'h' },
            { name: 'mcp__echo__echo', args: { text: 'hi' }, callId: 'e' },
          ],
        },
        done,
      ],
      toolset,
      { gate },
    );
    expect(asked.map(({ callId, route }) => `${callId} ${route}`).sort()).toEqual(['e agent', 'h agent']);
    expect(answers).toMatchObject([{ isError: true }, { isError: false, text: 'hi' }]);
    expect(ofType('permission')).toEqual([
      {
        type: 'permission',
        callId: 'h',
        name: 'mcp__hang__wait',
        by: 'gate',
        allow: false,
        reason: 'not on a Friday',
      },
    ]);
  });

  it('covers MCP tools by the run’s own gate where nobody says that their runtime has one', async () => {
    const { gate, asked } = gateAgainst('echo');
    const runtime = await runtimeOf({ echo: example('echo') });
    await runtime.ready();
    const { answers } = await run(
      [{ calls: [{ name: 'mcp__echo__echo', args: { text: 'hi' } }] }, done],
      createToolset({ runtime }),
      { gate },
    );
    expect(asked).toHaveLength(1);
    expect(answers[0]).toMatchObject({ isError: true, text: expect.stringContaining('not on a Friday') });
  });

  it('of a gate that throws is a no', async () => {
    const gate: Gate = {
      check() {
        throw new Error('out of order');
      },
    };
    const { answers } = await run([{ calls: [{ name: 'look' }] }, done], [local('look')], { gate });
    expect(answers[0]?.text).toContain('the gate failed: out of order');
  });

  it('asked of a person who does not answer ends with the run', async () => {
    const abort = new AbortController();
    const gate: Gate = {
      check() {
        abort.abort();
        return never();
      },
    };
    const { result, answers } = await run([{ calls: [{ name: 'look' }] }], [local('look')], {
      gate,
      signal: abort.signal,
    });
    expect(result.stopReason).toBe('aborted');
    expect(answers[0]?.text).toContain('cancelled');
  });
});

describe('hooks', () => {
  it('rewrite arguments before the gate sees them, block, and hear of every end', async () => {
    const ends: PostToolUseInput[] = [];
    const functions: FunctionHook[] = [
      { event: 'SessionStart', name: 'branch', run: () => ({ context: 'The branch is main.' }) },
      {
        event: 'PreToolUse',
        name: 'rewriter',
        run: ({ tool }) => (tool === 'look' ? { args: { at: 2 } } : { decision: 'block', reason: 'not now' }),
      },
      { event: 'PostToolUse', name: 'audit', withText: true, run: (input) => void ends.push(input) },
    ];
    const hooks = await createHooks({ functions });
    const judged: unknown[] = [];
    const gate: Gate = {
      check({ args }) {
        judged.push(args);
        return { allow: true };
      },
    };
    const { answers, ofType, model, result } = await run(
      [{ calls: [{ name: 'look', args: { at: 1 } }, { name: 'push' }, { name: 'look', args: 'x' }] }, done],
      [local('look'), local('push')],
      { hooks, gate },
    );
    await run([done], [], { hooks, messages: result.messages });
    await hooks.close();
    expect(judged).toEqual([{ at: 2 }]);
    expect(answers.map((answer) => answer.text)).toEqual([
      '{"at":2}',
      'push was not run: not now',
      expect.stringContaining('not a JSON object'),
    ]);
    expect(ofType('arguments')).toMatchObject([{ name: 'look', args: { at: 2 }, changedBy: ['rewriter'] }]);
    expect(ofType('permission')).toMatchObject([
      { name: 'push', by: 'hook', allow: false },
      { name: 'look' },
    ]);
    expect(model.requests.map(({ dynamic }) => dynamic)).toEqual([
      ['The branch is main.'],
      ['The branch is main.'],
    ]);
    const heard = ends.map(({ tool, args, result: { outcome, code } }) => [tool, args, outcome, code]);
    expect(heard).toHaveLength(3);
    expect(heard).toEqual(
      expect.arrayContaining([
        ['look', { at: 2 }, 'ok', undefined],
        ['push', {}, 'rejected', 'DENIED'],
        ['look', {}, 'rejected', 'INVALID_ARGUMENTS'],
      ]),
    );
  });
});

describe('tools of servers', () => {
  it('bring the notes of their servers behind the static text, and only their own', async () => {
    const runtime = await runtimeOf({
      notes: scripted({ instructions: 'Ask before you delete.' }),
      other: scripted({ instructions: 'Speak French.' }),
    });
    await runtime.ready();
    const toolset = createToolset({ runtime });
    const { model, ofType } = await run([done], toolset.fork({ filter: { allow: [{ server: 'notes' }] } }), {
      runtime,
      system: 'Be brief.',
      context: () => 'It is Monday.',
    });
    const [request] = model.requests;
    expect(request?.system).toBe('Be brief.');
    expect(request?.dynamic).toEqual([expect.stringContaining('Ask before you delete.'), 'It is Monday.']);
    expect(request?.dynamic[0]).not.toContain('French');
    expect(ofType('instructions')).toEqual([{ type: 'instructions', text: request?.dynamic[0] }]);
  });

  it('get integers above 2^53 with every digit that the model wrote', async () => {
    const runtime = await runtimeOf({ ids: { command: process.execPath, args: ['-e', rawEcho] } });
    await runtime.ready();
    // As published: arguments that are text are known to the runtime by their class.
    const built = (file: string) =>
      new URL(`../../packages/runtime/dist/agent/${file}.js`, import.meta.url).href;
    const { runAgent: runBuilt } = (await import(built('loop'))) as { runAgent: typeof runAgent };
    const toolsets = (await import(built('toolset'))) as { createToolset: typeof createToolset };
    const { messages } = await runBuilt({
      model: scriptedModel([
        { calls: [{ name: 'mcp__ids__echo', args: '{"id": 1915883588174806058, "n": 1.0}' }] },
        { calls: [{ name: 'mcp__ids__echo', args: '{"id": 7, "n": 1.0}' }] },
        done,
      ]),
      toolset: toolsets.createToolset({ runtime }),
      prompt: 'Look it up.',
    });
    expect(answersOf(messages).map((answer) => answer.text)).toEqual([
      '{"id": 1915883588174806058, "n": 1.0}',
      '{"id":7,"n":1}',
    ]);
  });

  it('have one budget, and name the file with what was left out', async () => {
    const runtime = await runtimeOf({ big: scripted({}) });
    await runtime.ready();
    const { answers, ofType } = await run(
      [{ calls: [{ name: 'mcp__big__big', args: { bytes: 200_000 } }] }, done],
      createToolset({ runtime }),
      { runtime, budget: { maxTokens: 1_000 } },
    );
    const [ended] = ofType('tool-result');
    expect(ended?.file).toContain(directory('output'));
    expect(answers[0]?.text).toContain(ended?.file);
    expect(answers[0]?.text.length).toBeLessThan(8_000);
  });

  it('that the model looks for can be called in the next step, and their catalogue stays as it was', async () => {
    const names = ['seven', 'eight'];
    const tools = names.map((name) => ({ name, description: name, inputSchema: { type: 'object' } }));
    const runtime = await runtimeOf({ many: scripted({ tools }) });
    await runtime.ready();
    const toolset = createToolset({ runtime, search: { mode: 'always' } });
    const find = (name: string) => ({ name: 'tool_search', args: { query: `select:mcp__many__${name}` } });
    const { answers, model } = await run(
      [
        { calls: [find('seven')] },
        { calls: [{ name: 'mcp__many__seven', args: { x: 1 } }] },
        { calls: [find('eight')] },
        done,
      ],
      toolset,
    );
    expect(model.requests.map((request) => request.tools.map(({ name }) => name))).toEqual([
      ['tool_search'],
      ['tool_search', 'mcp__many__seven'],
      ['tool_search', 'mcp__many__seven'],
      ['tool_search', 'mcp__many__seven', 'mcp__many__eight'],
    ]);
    expect(answers[1]).toMatchObject({ isError: false, text: '{"x":1}' });
    // A text that changed with each tool that is found would cost the cache behind it.
    const texts = model.requests.map(({ dynamic }) => dynamic.join('\n'));
    expect(texts[0]).toContain('mcp__many__eight');
    expect(new Set(texts).size).toBe(1);
  });
});

describe('a sub-agent', () => {
  it('is a tool: it stands under the caller’s gate and gives its last words', async () => {
    const asked: string[] = [];
    const gate: Gate = {
      check({ identity }) {
        asked.push(identity.tool);
        return identity.tool === 'push' ? { allow: false, reason: 'no pushing' } : { allow: true };
      },
    };
    const inner: string[] = [];
    const helper = subAgentTool({
      name: 'helper',
      description: 'Does small things.',
      model: scriptedModel([{ calls: [{ name: 'push' }] }, { text: 'I could not.' }]),
      toolset: () => [local('push')],
      onEvent: (event, callId) => inner.push(`${callId} ${event.type}`),
    });
    const { answers, ofType } = await run(
      [{ calls: [{ name: 'helper', args: { prompt: 'Push it.' }, callId: 'h' }] }, done],
      [helper],
      { gate },
    );
    expect(asked).toEqual(['helper', 'push']);
    expect(answers).toMatchObject([{ isError: false, text: 'I could not.' }]);
    expect(inner).toContain('h tool-result');
    expect(ofType('progress').map(({ callId, progress }) => [callId, progress])).toEqual([
      ['h', 1],
      ['h', 2],
    ]);
  });

  it('that does not come to an end is an error with its last words, and ends with its caller', async () => {
    const restless = subAgentTool({
      name: 'restless',
      description: 'Never done.',
      model: scriptedModel(() => ({ text: 'Still at it.', calls: [{ name: 'look' }] })),
      toolset: [local('look')],
      maxSteps: 2,
    });
    const { answers } = await run(
      [{ calls: [{ name: 'restless', args: { prompt: 'Go.' } }] }, done],
      [restless],
    );
    expect(answers[0]).toMatchObject({
      isError: true,
      text: expect.stringMatching(/max_steps.*Still at it/s),
    });

    const abort = new AbortController();
    let stopped: AbortSignal | undefined;
    const waiting = subAgentTool({
      name: 'waiting',
      description: 'Waits.',
      model: scriptedModel((_, __, signal) => {
        stopped = signal;
        abort.abort();
        return never();
      }),
      toolset: [],
    });
    const { result } = await run([{ calls: [{ name: 'waiting', args: { prompt: 'Go.' } }] }], [waiting], {
      signal: abort.signal,
    });
    expect(result.stopReason).toBe('aborted');
    expect(stopped?.aborted).toBe(true);
  });

  it('shares the sessions of its caller by a fork, and has no more than that', async () => {
    const runtime = await runtimeOf({ echo: example('echo'), hang: example('hang') });
    await runtime.ready();
    const toolset = createToolset({ runtime });
    const model = scriptedModel([
      { calls: [{ name: 'mcp__hang__wait' }, { name: 'mcp__echo__echo', args: { text: 'x' } }] },
      done,
    ]);
    const helper = subAgentTool({
      name: 'helper',
      description: 'Echoes.',
      model,
      toolset: () => toolset.fork({ filter: { allow: [{ server: 'echo' }] } }),
    });
    await run([{ calls: [{ name: 'helper', args: { prompt: 'Go.' } }] }, done], [helper]);
    expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(['mcp__echo__echo']);
    expect(answersOf(model.requests[1]?.messages ?? [])).toMatchObject([
      { isError: true, text: expect.stringContaining('no tool "mcp__hang__wait"') },
      { isError: false, text: 'x' },
    ]);
  });
});

describe('a local tool', () => {
  it('made with defineTool() says what is wrong with its arguments', async () => {
    const add = defineTool<{ a: number }>({
      name: 'add',
      description: 'Adds one.',
      inputSchema: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] },
      capabilities: ['read'],
      execute: ({ a }) => String(a + 1),
    });
    const { answers } = await run(
      [
        {
          calls: [
            { name: 'add', args: {} },
            { name: 'add', args: { a: 1 } },
          ],
        },
        done,
      ],
      [add],
    );
    expect(answers).toMatchObject([{ isError: true }, { isError: false, text: '2' }]);
  });
});

describe('the page about the loop', () => {
  const page = readPage('docs/agent/loop.md');
  const source = readPage('packages/runtime/src/agent/loop-events.ts');
  const names = [...source.matchAll(/type: '([\w-]+)'|^ {2}\| '([\w_]+)'/gm)].map(
    ([, type, reason]) => type ?? reason,
  );

  it.each([...new Set(names)])('speaks of %s', (name) => {
    expect(page).toMatch(new RegExp(`^\\| .*\`${name}\``, 'm'));
  });

  it('shows programs that have the types that the runtime says', () => {
    const [program = '', subAgent = ''] = codeBlocks(page, 'ts');
    const more = `import { subAgentTool } from '@bulkhead/runtime/agent';
      const [toolset, model] = [createToolset({ runtime }), anthropicModel({ model: 'x' })];
      ${subAgent}
      void [messages, stopReason, researcher];`;
    symlinkSync(join(root, 'node_modules'), directory('node_modules'));
    writeFileSync(directory('package.json'), '{"type":"module"}');
    writeFileSync(directory('page.ts'), `${program}\n${more}`);
    const compilerOptions = { noEmit: true, composite: false, declaration: false, declarationMap: false };
    const config = { extends: join(root, 'tsconfig.base.json'), compilerOptions, files: ['page.ts'] };
    writeFileSync(directory('tsconfig.json'), JSON.stringify(config));
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const { stdout } = spawnSync(process.execPath, [tsc, '-p', directory()], { encoding: 'utf8' });
    expect(stdout).toBe('');
  });
});
