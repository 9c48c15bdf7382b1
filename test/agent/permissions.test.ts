/** Modes, rules, remembered answers and questions: who may make which call. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Rule } from '../../packages/runtime/src/agent/permission-rules.js';
import {
  type PermissionMode,
  type PermissionOptions,
  Permissions,
} from '../../packages/runtime/src/agent/permissions.js';
import type { Answer, Question } from '../../packages/runtime/src/agent/question.js';
import type { GateRequest } from '../../packages/runtime/src/agent/tool.js';
import { useTempDir } from '../support/temp-dir.js';
import { callOf, definitionOf, localCall, origin, resourceRead } from './request.js';

const path = useTempDir();

/** A gate whose person gives these answers in turn, and the questions that were asked. */
async function gate(options: PermissionOptions = {}, answers: Answer[] = []) {
  const asked: Question[] = [];
  const permissions = await Permissions.open({
    file: path('permissions.json'),
    onAsk: (question) => {
      asked.push(question);
      return answers.shift() ?? { allow: false };
    },
    ...options,
  });
  const allows = async (request: GateRequest) => (await permissions.check(request)).allow;
  return { permissions, asked, allows };
}

const read = () => callOf('s', 'get', ['read']);
const claimsToRead = () => callOf('s', 'get', ['read', 'unknown']);
const readsTheNet = () => callOf('s', 'get', ['read', 'network']);
const write = () => callOf('s', 'put', ['write']);
const destroy = () => callOf('s', 'del', ['write', 'destructive']);
const unknown = () => callOf('s', 'x', ['unknown']);
const localRead = () => localCall('cat', ['read']);
const localWrite = () => localCall('save', ['write']);

describe('a mode', () => {
  const calls = { read, claimsToRead, readsTheNet, write, destroy, unknown, localRead, localWrite };
  const expected: Record<PermissionMode, Record<keyof typeof calls, 'pass' | 'ask' | 'deny'>> = {
    default: {
      read: 'ask',
      claimsToRead: 'ask',
      readsTheNet: 'ask',
      write: 'ask',
      destroy: 'ask',
      unknown: 'ask',
      localRead: 'pass',
      localWrite: 'ask',
    },
    acceptReads: {
      read: 'pass',
      claimsToRead: 'ask',
      readsTheNet: 'ask',
      write: 'ask',
      destroy: 'ask',
      unknown: 'ask',
      localRead: 'pass',
      localWrite: 'ask',
    },
    plan: {
      read: 'pass',
      claimsToRead: 'deny',
      readsTheNet: 'ask',
      write: 'deny',
      destroy: 'deny',
      unknown: 'deny',
      localRead: 'pass',
      localWrite: 'deny',
    },
    bypass: {
      read: 'pass',
      claimsToRead: 'pass',
      readsTheNet: 'pass',
      write: 'pass',
      destroy: 'pass',
      unknown: 'pass',
      localRead: 'pass',
      localWrite: 'pass',
    },
  };

  test.each(Object.entries(expected))('"%s" decides where no rule does', async (mode, table) => {
    const { asked, permissions } = await gate({ mode: mode as PermissionMode });
    const found = new Map<string, string>();
    for (const [name, make] of Object.entries(calls)) {
      asked.length = 0;
      const decision = await permissions.check(make());
      found.set(name, decision.allow ? 'pass' : asked.length > 0 ? 'ask' : 'deny');
    }
    expect(Object.fromEntries(found)).toEqual(table);
  });

  test('"plan" takes no allow rule and no remembered yes for a write', async () => {
    const { permissions, allows } = await gate({ rules: [{ effect: 'allow', server: 's' }] }, []);
    expect(await allows(write())).toBe(true);
    permissions.mode = 'plan';
    expect(await permissions.check(write())).toMatchObject({
      allow: false,
      reason: expect.stringMatching(/tool "put" of server "s".*"plan".*write/),
    });
  });

  test('"bypass" stops at a deny rule and at nothing else', async () => {
    const rules: Rule[] = [
      { effect: 'ask', server: 's' },
      { effect: 'deny', server: 's', tool: 'del' },
    ];
    const { allows, asked } = await gate({ mode: 'bypass', rules });
    expect(await allows(write())).toBe(true);
    expect(await allows(destroy())).toBe(false);
    expect(asked).toEqual([]);
  });
});

describe('a rule', () => {
  test('deny beats ask beats allow, however specific the other is', async () => {
    const rules: Rule[] = [
      { effect: 'allow', server: 's', tool: 'del' },
      { effect: 'allow', server: 's' },
      { effect: 'ask', server: 's', capability: 'network' },
      { effect: 'deny', capability: 'destructive' },
    ];
    const { allows, asked, permissions } = await gate({ rules });
    expect(await allows(write())).toBe(true);
    expect(await allows(readsTheNet())).toBe(false);
    expect(asked).toHaveLength(1);
    const denied = await permissions.check(destroy());
    expect(denied).toMatchObject({
      allow: false,
      reason: expect.stringContaining('deny capability destructive'),
    });
    expect(asked).toHaveLength(1);
  });

  test('inside an effect the more specific one is named', async () => {
    const rules: Rule[] = [
      { effect: 'deny', server: 's' },
      { effect: 'deny', server: 's', tool: 'put' },
    ];
    const { permissions } = await gate({ rules });
    expect(await permissions.check(write())).toMatchObject({
      reason: 'tool "put" of server "s": the rule "deny server s tool put" forbids it',
    });
  });

  test('is about the raw name: a tool that shows the same name to a model has no part in it (B099)', async () => {
    const { allows } = await gate({ rules: [{ effect: 'allow', server: 'demo', tool: 'demo_read' }] });
    expect(await allows(callOf('demo', 'demo_read'))).toBe(true);
    for (const [server, tool] of [
      ['demo', 'demo/read'],
      ['demo', 'demo.read'],
      ['demo', 'DEMO_READ'],
      ['demo_demo', 'read'],
      ['other', 'demo_read'],
    ] as const) {
      expect(await allows(callOf(server, tool)), `${server} ${tool}`).toBe(false);
    }
    expect(await allows(localCall('demo_read', ['write']))).toBe(false);
  });

  test('about a tool is not about a resource or prompt of the same name', async () => {
    const { allows } = await gate({ rules: [{ effect: 'allow', server: 's', tool: 'resources/read' }] });
    expect(await allows(callOf('s', 'resources/read'))).toBe(true);
    expect(await allows(resourceRead('s', 'resources/read'))).toBe(false);
  });

  test('about one resource is about that one', async () => {
    const { allows } = await gate({ rules: [{ effect: 'allow', server: 's', resource: 'notes://list' }] });
    expect(await allows(resourceRead('s', 'notes://list'))).toBe(true);
    expect(await allows(resourceRead('s', 'notes://secret'))).toBe(false);
  });

  test('that allows a capability allows a tool only when all of its capabilities are allowed', async () => {
    const rules: Rule[] = [{ effect: 'allow', capability: 'read' }];
    const { allows, permissions } = await gate({ rules });
    expect(await allows(read())).toBe(true);
    expect(await allows(claimsToRead())).toBe(false);
    expect(await allows(readsTheNet())).toBe(false);
    permissions.setRules([...rules, { effect: 'allow', server: 's', capability: 'network' }]);
    expect(await allows(readsTheNet())).toBe(true);
    expect(await allows(callOf('other', 'get', ['read', 'network']))).toBe(false);
  });

  test.each<[string, Rule]>([
    ['a tool without a server (B175)', { effect: 'allow', tool: 'get' }],
    ['a resource without a server', { effect: 'allow', resource: 'x:y' }],
    ['a server and local tools', { effect: 'deny', server: 's', local: true }],
    ['a tool and a prompt', { effect: 'deny', server: 's', tool: 'a', prompt: 'b' }],
    ['no effect', { server: 's' } as unknown as Rule],
  ])('that names %s is refused', async (_, rule) => {
    await expect(Permissions.open({ rules: [rule], file: false })).rejects.toMatchObject({
      code: 'BAD_INPUT',
    });
  });
});

describe('a question', () => {
  test('names server, tool and why, and carries the arguments', async () => {
    const { asked, permissions } = await gate();
    await permissions.check(callOf('s', 'put', ['write'], { callId: 'model-7', args: { a: 1 } }));
    expect(asked[0]).toMatchObject({
      kind: 'permission',
      callId: 'model-7',
      identity: { kind: 'mcp', server: 's', tool: 'put' },
      args: { a: 1 },
      reason: 'tool "put" of server "s" (write): mode "default" asks about it',
    });
  });

  test('of two calls in flight has two answers, also when the first one holds for the session', async () => {
    const open: ((answer: Answer) => void)[] = [];
    const { allows } = await gate({ onAsk: () => new Promise<Answer>((resolve) => open.push(resolve)) });
    const first = allows(write());
    const second = allows(write());
    await expect.poll(() => open.length).toBe(2);
    open[0]?.({ allow: true, remember: 'session' });
    expect(await first).toBe(true);
    open[1]?.({ allow: false });
    expect(await second).toBe(false);
    expect(await allows(write())).toBe(true);
    expect(open).toHaveLength(2);
  });

  test('that nobody can be asked is a no with the next step', async () => {
    const permissions = await Permissions.open({ file: false });
    expect(await permissions.check(write())).toMatchObject({
      allow: false,
      reason: expect.stringMatching(/nobody can be asked; give onAsk, or a rule/),
    });
  });

  test.each([
    ['nothing', undefined],
    ['true', true],
    ['allow: "yes"', { allow: 'yes' }],
    ['allow: 1', { allow: 1 }],
  ])('answered by %s is a no', async (_, answer) => {
    const { allows } = await gate({ onAsk: () => answer as unknown as Answer });
    expect(await allows(write())).toBe(false);
  });

  test('whose asking fails is a no that says so', async () => {
    const { permissions } = await gate({
      onAsk: () => {
        throw new Error('the terminal is gone');
      },
    });
    expect(await permissions.check(write())).toMatchObject({
      allow: false,
      reason: expect.stringContaining('the terminal is gone'),
    });
  });

  test('ends as a no when its call is given up, and a late yes changes nothing', async () => {
    const abort = new AbortController();
    let answer: (value: Answer) => void = () => {};
    const { allows, permissions } = await gate({
      onAsk: () =>
        new Promise<Answer>((resolve) => {
          answer = resolve;
        }),
    });
    const checked = permissions.check(callOf('s', 'put', ['write'], { signal: abort.signal }));
    abort.abort();
    expect(await checked).toMatchObject({ allow: false, reason: expect.stringContaining('given up') });
    answer({ allow: true, remember: 'always' });
    const again = allows(write());
    answer({ allow: false });
    expect(await again).toBe(false);
  });

  test('tells a refusal in the words of the person', async () => {
    const { permissions } = await gate({}, [{ allow: false, reason: 'use the staging server' }]);
    expect(await permissions.check(write())).toEqual({ allow: false, reason: 'use the staging server' });
  });
});

describe('a remembered answer', () => {
  test('for the session ends with it', async () => {
    const { allows, permissions, asked } = await gate({}, [{ allow: true, remember: 'session' }]);
    expect(await allows(write())).toBe(true);
    expect(await allows(write())).toBe(true);
    expect(asked).toHaveLength(1);
    permissions.endSession();
    expect(await allows(write())).toBe(false);
    expect((await gate()).permissions).toBeDefined();
    expect(await (await gate()).allows(write())).toBe(false);
  });

  test('for good holds in the next program, in a file for its owner alone', async () => {
    const { allows } = await gate({}, [
      { allow: true, remember: 'always' },
      { allow: false, remember: 'always' },
    ]);
    expect(await allows(write())).toBe(true);
    expect(await allows(destroy())).toBe(false);
    expect(statSync(path('permissions.json')).mode & 0o777).toBe(0o600);
    const later = await gate({ onAsk: undefined as never });
    expect(await later.allows(write())).toBe(true);
    expect(await later.permissions.check(destroy())).toMatchObject({
      reason: 'tool "del" of server "s": a person refused it for later calls too',
    });
  });

  test('is about one tool of one server', async () => {
    const { allows } = await gate({}, [{ allow: true, remember: 'always' }]);
    expect(await allows(write())).toBe(true);
    expect(await allows(callOf('t', 'put', ['write']))).toBe(false);
    expect(await allows(callOf('s', 'other', ['write']))).toBe(false);
    expect(await allows(localCall('put', ['write']))).toBe(false);
    expect(await allows(resourceRead('s', 'put'))).toBe(false);
  });

  test('of yes ends when the definition or the launch changes (B174)', async () => {
    const { allows } = await gate({}, [{ allow: true, remember: 'always' }]);
    expect(await allows(write())).toBe(true);
    expect(await allows({ ...write(), definition: definitionOf('put', 'Something else') })).toBe(false);
    expect(await allows({ ...write(), origin: { ...origin, fingerprint: 'e'.repeat(64) } })).toBe(false);
    expect(await allows({ ...write(), definition: undefined })).toBe(false);
    expect(await allows(write())).toBe(true);
  });

  test('of yes answers an ask rule, never a deny rule', async () => {
    const { allows, permissions } = await gate({ rules: [{ effect: 'ask', server: 's' }] }, [
      { allow: true, remember: 'session' },
    ]);
    expect(await allows(write())).toBe(true);
    expect(await allows(write())).toBe(true);
    permissions.setRules([{ effect: 'deny', server: 's' }]);
    expect(await allows(write())).toBe(false);
  });

  test.each([
    ['no JSON', '{"version":1,'],
    ['an unknown version', '{"version":2,"servers":{}}'],
    ['a list', '[]'],
  ])('file that is %s counts for nothing, is told of, and is kept aside', async (_, text) => {
    writeFileSync(path('permissions.json'), text);
    const warnings: string[] = [];
    const { allows } = await gate({ onWarning: (message) => warnings.push(message) }, [
      { allow: true, remember: 'always' },
    ]);
    expect(warnings.join()).toContain('nothing in it counts');
    expect(await allows(write())).toBe(true);
    expect(readFileSync(path('permissions.json.bad'), 'utf8')).toBe(text);
    expect(JSON.parse(readFileSync(path('permissions.json'), 'utf8'))).toMatchObject({ version: 1 });
  });

  test.each([
    ['without the launch', { servers: { s: { tool: { put: { allow: true } } } } }],
    ['without the server', { servers: { ['f'.repeat(64)]: { tool: { put: { allow: true } } } } }],
    ['with a text for yes', { servers: { s: { ['f'.repeat(64)]: { tool: { put: { allow: 'true' } } } } } }],
    ['without the definition', { servers: { s: { ['f'.repeat(64)]: { tool: { put: { allow: true } } } } } }],
    ['as a list', { servers: [{ allow: true }] }],
  ])('record %s allows nothing (B175)', async (_, members) => {
    writeFileSync(path('permissions.json'), JSON.stringify({ version: 1, ...members }));
    expect(await (await gate()).allows(write())).toBe(false);
  });

  test('leaves what it does not know in the file', async () => {
    writeFileSync(path('permissions.json'), JSON.stringify({ version: 1, notes: { by: 'hand' } }));
    const { allows } = await gate({}, [{ allow: true, remember: 'always' }]);
    await allows(write());
    expect(JSON.parse(readFileSync(path('permissions.json'), 'utf8'))).toMatchObject({
      notes: { by: 'hand' },
    });
  });

  test('works for names that are members of every object', async () => {
    const { allows } = await gate({}, [{ allow: true, remember: 'always' }]);
    expect(await allows(callOf('__proto__', 'constructor'))).toBe(true);
    const later = await gate();
    expect(await later.allows(callOf('__proto__', 'constructor'))).toBe(true);
    expect(await later.allows(callOf('__proto__', 'toString'))).toBe(false);
  });
});
