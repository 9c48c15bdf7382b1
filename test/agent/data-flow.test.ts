/** Where results of confidential servers may go. */
import { describe, expect, test } from 'vitest';
import { DataFlow } from '../../packages/runtime/src/agent/data-flow.js';
import { allGates } from '../../packages/runtime/src/agent/gates.js';
import type { Answer, Question } from '../../packages/runtime/src/agent/question.js';
import type { Outcome } from '../../packages/runtime/src/api.js';
import { callOf, localCall, origin, resourceRead } from './request.js';

const confidential = { ...origin, confidential: true };
const secret = (server = 'hr') => callOf(server, 'salaries', ['read'], { origin: confidential });

function flow(...answers: Answer[]) {
  const asked: Question[] = [];
  const gate = new DataFlow({
    onAsk: (question) => {
      asked.push(question);
      return answers.shift() ?? { allow: false };
    },
  });
  return { gate, asked };
}

/** A flow in which the confidential server has answered. */
function tainted(...answers: Answer[]) {
  const made = flow(...answers);
  made.gate.ended(secret(), 'ok');
  return made;
}

describe('before a confidential server has answered', () => {
  test('nothing is asked', async () => {
    const { gate, asked } = flow();
    expect(await gate.check(secret())).toEqual({ allow: true });
    expect(await gate.check(callOf('mail', 'send'))).toEqual({ allow: true });
    expect(asked).toEqual([]);
  });

  test.each<[Outcome, boolean]>([
    ['ok', true],
    ['tool_error', true],
    ['protocol_error', true],
    ['timeout', true],
    ['outcome_unknown', true],
    ['rejected', false],
    ['connection_lost', false],
  ])('a call that ends as %s taints: %s', (outcome, taints) => {
    const { gate } = flow();
    gate.ended(secret(), outcome);
    expect(gate.sources).toEqual(taints ? ['hr'] : []);
  });

  test('an answer of another server taints nothing', () => {
    const { gate } = flow();
    gate.ended(callOf('mail', 'list'), 'ok');
    expect(gate.sources).toEqual([]);
  });
});

describe('afterwards', () => {
  test('arguments to another server need consent, and the question names both', async () => {
    const { gate, asked } = tainted({ allow: true });
    expect(await gate.check(callOf('mail', 'send'))).toEqual({ allow: true });
    expect(asked[0]).toMatchObject({
      kind: 'data-flow',
      reason:
        'results of the confidential server "hr" may leave it in the arguments to tool "send" of server "mail"',
    });
  });

  test('without consent the call is denied with both names', async () => {
    const alone = new DataFlow();
    alone.ended(secret(), 'ok');
    const decision = await alone.check(callOf('mail', 'send'));
    expect(decision).toMatchObject({ allow: false, reason: expect.stringMatching(/"hr".*"mail"/) });
  });

  test('a resource of another server is asked about like a tool', async () => {
    const { gate, asked } = tainted();
    expect((await gate.check(resourceRead('web', 'http://x/?q=1'))).allow).toBe(false);
    expect(asked).toHaveLength(1);
  });

  test('consent is for one call unless it says for the session, and then for that server only', async () => {
    const { gate, asked } = tainted({ allow: true }, { allow: true, remember: 'session' });
    await gate.check(callOf('mail', 'send'));
    await gate.check(callOf('mail', 'send'));
    expect(await gate.check(callOf('mail', 'send'))).toEqual({ allow: true });
    expect(asked).toHaveLength(2);
    expect((await gate.check(callOf('web', 'get'))).allow).toBe(false);
    gate.ended(secret('legal'), 'ok');
    expect((await gate.check(callOf('mail', 'send'))).allow).toBe(false);
    expect(asked.at(-1)?.reason).toContain('"legal"');
    expect(asked.at(-1)?.reason).not.toContain('"hr"');
  });

  test('the server itself gets its own words back, unless the tool sends them on', async () => {
    const { gate, asked } = tainted();
    expect((await gate.check(callOf('hr', 'filter', ['read', 'unknown']))).allow).toBe(true);
    expect(asked).toEqual([]);
    expect((await gate.check(callOf('hr', 'send_mail', ['network', 'write']))).allow).toBe(false);
  });

  test('local tools are asked about when they reach the network or nobody knows what they do', async () => {
    const { gate } = tainted();
    expect((await gate.check(localCall('edit', ['write']))).allow).toBe(true);
    expect((await gate.check(localCall('read', ['read']))).allow).toBe(true);
    expect((await gate.check(localCall('fetch', ['read', 'network']))).allow).toBe(false);
    expect((await gate.check(localCall('what', ['unknown']))).allow).toBe(false);
  });

  test('a call without arguments carries nothing', async () => {
    const { gate, asked } = tainted();
    expect((await gate.check(callOf('mail', 'list', ['unknown'], { args: {} }))).allow).toBe(true);
    expect(asked).toEqual([]);
  });

  test('a new conversation is clean', async () => {
    const { gate } = tainted();
    gate.clear();
    expect((await gate.check(callOf('mail', 'send'))).allow).toBe(true);
  });
});

describe('several gates', () => {
  test('are asked in order until one says no, and all hear how a call ended', async () => {
    const seen: string[] = [];
    const named = (name: string, allow: boolean) => ({
      check: () => {
        seen.push(name);
        return allow ? ({ allow: true } as const) : ({ allow: false, reason: name } as const);
      },
      ended: () => void seen.push(`${name} ended`),
    });
    const gate = allGates(named('a', true), named('b', false), named('c', true));
    expect(await gate.check(callOf('s', 't'))).toEqual({ allow: false, reason: 'b' });
    gate.ended?.(callOf('s', 't'), 'ok');
    expect(seen).toEqual(['a', 'b', 'a ended', 'b ended', 'c ended']);
  });
});
