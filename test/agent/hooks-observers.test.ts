/** Hooks that watch, and hooks at a session's start: nobody waits for the first, nothing stops for the second. */
import { existsSync } from 'node:fs';
import { BulkheadError } from '@bulkhead/runtime';
import { describe, expect, it } from 'vitest';
import type { PostToolUseInput } from '../../packages/runtime/src/agent/hooks/event.js';
import { useCensus } from '../support/census.js';
import { eventually } from '../support/eventually.js';
import { failureOf } from '../support/runtime.js';
import { useTempDir } from '../support/temp-dir.js';
import { callOf, command, ended, lines, useHooks } from './hooks-setting.js';

useCensus({ graceMs: 8_000 });
const directory = useTempDir();
const { problems, start, startWith } = useHooks(directory);

describe('after a call', () => {
  it('observers are told how it ended, and the caller does not wait for them', async () => {
    const hooks = await startWith({
      PostToolUse: [{ hooks: [command('record', directory('told')), command('exit', '3')] }],
    });
    hooks.postToolUse(callOf(), ended());
    expect(existsSync(directory('told'))).toBe(false);
    hooks.postToolUse(callOf(), { error: new BulkheadError('TIMEOUT', 'too late'), durationMs: 7 });
    expect(await hooks.close()).toEqual({ dropped: 0, unfinished: 0 });
    const results = lines(directory('told')).map(({ result }) => result);
    expect(results).toContainEqual({ outcome: 'ok', isError: false, durationMs: 12, text: 'done' });
    expect(results).toContainEqual({
      outcome: 'timeout',
      isError: true,
      durationMs: 7,
      code: 'TIMEOUT',
      text: 'too late',
    });
    // The neighbour failed both times, which cost nobody anything.
    expect(problems.map(({ message }) => message)).toEqual(
      Array(2).fill('it ended with exit code 3: broken'),
    );
  });

  it('a long text is cut, and functions get it only when they ask', async () => {
    const seen: PostToolUseInput[] = [];
    const observe = {
      event: 'PostToolUse',
      run: (input: PostToolUseInput) => void seen.push(input),
    } as const;
    const hooks = await start({
      functions: [
        { ...observe, name: 'plain' },
        { ...observe, name: 'reader', withText: true },
      ],
    });
    hooks.postToolUse(callOf(), ended('x'.repeat(100_000)));
    await hooks.close();
    expect(seen[0]?.result).toEqual({ outcome: 'ok', isError: false, durationMs: 12 });
    expect(seen[1]?.result).toMatchObject({ truncated: true, text: 'x'.repeat(65_536) });
  });

  it('one that hangs delays no other, and loses notices instead of memory', async () => {
    const told: string[] = [];
    const hooks = await start({
      queueMax: 2,
      functions: [
        { event: 'PostToolUse', name: 'stuck', timeoutMs: 60_000, run: () => new Promise<void>(() => {}) },
        { event: 'PostToolUse', name: 'quick', run: ({ callId }) => void told.push(callId) },
      ],
    });
    const sent = ['1', '2', '3', '4', '5', '6'];
    for (const callId of sent) {
      hooks.postToolUse({ ...callOf(), callId }, ended());
      await eventually(
        () => told.includes(callId),
        () => `the quick hook to hear of call ${callId}`,
      );
    }
    expect(told).toEqual(sent);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatchObject({ hook: 'stuck' });
    expect(problems[0]?.message).toContain('too slow');
    // One runs, two wait, three found no room.
    expect(await hooks.close({ deadlineMs: 50 })).toEqual({ dropped: 3, unfinished: 3 });
  });

  it('nothing runs once the hooks are closed, and no call goes on unasked', async () => {
    const told: string[] = [];
    const hooks = await start({
      functions: [
        { event: 'PreToolUse', name: 'guard', run: () => undefined },
        { event: 'PostToolUse', name: 'observer', run: ({ callId }) => void told.push(callId) },
      ],
    });
    await hooks.close();
    hooks.postToolUse(callOf(), ended());
    expect(await failureOf(hooks.preToolUse(callOf()))).toMatchObject({ code: 'CLOSED' });
    expect(told).toEqual([]);
  });
});

describe('at the start of a session', () => {
  it('hooks add context in their order, by JSON or as plain text; a failing one adds nothing', async () => {
    const hooks = await startWith(
      {
        SessionStart: [
          {
            hooks: [
              command('answer', '{"context": "On branch main."}'),
              command('exit', '1'),
              command('answer', 'Today is a holiday.'),
            ],
          },
        ],
      },
      { functions: [{ event: 'SessionStart', name: 'host', run: () => ({ context: 'Be brief.' }) }] },
    );
    expect(await hooks.sessionStart()).toEqual({
      context: 'On branch main.\n\nToday is a holiday.\n\nBe brief.',
    });
    expect(problems).toMatchObject([{ event: 'SessionStart', message: 'it ended with exit code 1: broken' }]);
  });

  it('without hooks there is no context', async () => {
    expect(await (await start()).sessionStart()).toEqual({ context: undefined });
  });
});
