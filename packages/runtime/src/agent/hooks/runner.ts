/**
 * One hook as the rest sees it, whatever it is made of: whom it fits, and a run that always settles in time with a
 * verdict. Timeouts and aborts are handled here once for commands, HTTP and functions.
 */
import { answerOfValue, failed, type HookVerdict } from './answer.js';
import { type CommandSetting, runCommand } from './command.js';
import type { HookEvent, HookInput } from './event.js';
import type { FunctionHook } from './function-hook.js';
import type { HookConnections } from './http.js';
import { compileMatch, type Fits } from './matcher.js';
import type { HookRule } from './rule.js';
import { hookDefaults } from './schema.js';

export interface Runner {
  readonly event: HookEvent;
  /** How messages name it. */
  readonly place: string;
  readonly fits: Fits;
  readonly timeoutMs: number;
  readonly onError: 'block' | 'allow';
  /** It wants the text of results. */
  readonly withText: boolean;
  /** Runs that may overlap; functions get calls one by one, in order. */
  readonly overlap: number;
  run(payload: string, signal: AbortSignal): Promise<HookVerdict>;
  /** The hook's own end, after its last run. */
  readonly close?: () => Promise<void>;
}

export interface RunnerContext extends Omit<CommandSetting, 'event'> {
  connections: HookConnections;
  report: (place: string, event: HookEvent, message: string) => void;
}

const COMMAND_OVERLAP = 2;
const HTTP_OVERLAP = 4;

export async function ruleRunner(rule: HookRule, context: RunnerContext): Promise<Runner> {
  const { event, place, timeoutMs, onError, action } = rule;
  const command = action.type === 'command';
  return {
    event,
    place,
    timeoutMs,
    onError,
    fits: await compileMatch(rule.match),
    withText: true,
    overlap: command ? COMMAND_OVERLAP : HTTP_OVERLAP,
    run: (payload, signal) =>
      action.type === 'command'
        ? runCommand(action, payload, { ...context, event }, signal)
        : context.connections.post(action, event, payload, signal),
  };
}

export async function functionRunner(hook: FunctionHook, context: RunnerContext): Promise<Runner> {
  const { event, name: place } = hook;
  if (hook.event === 'PostToolUse') hook.attach?.((message) => context.report(place, event, message));
  return {
    event,
    place,
    fits: await compileMatch((hook.event === 'SessionStart' ? undefined : hook.match) ?? {}),
    timeoutMs: hook.timeoutMs ?? hookDefaults.timeoutMs,
    onError: (hook.event === 'PreToolUse' ? hook.onError : undefined) ?? 'block',
    withText: hook.event === 'PostToolUse' && hook.withText === true,
    overlap: 1,
    run: async (payload, signal) => {
      // A copy of its own: what one hook does to its input is no other hook's business.
      const run = hook.run as (input: HookInput, signal: AbortSignal) => unknown;
      return answerOfValue(event, await run.call(hook, JSON.parse(payload) as HookInput, signal));
    },
    ...(hook.event === 'PostToolUse' && hook.close !== undefined ? { close: () => closeOf(hook) } : {}),
  };
}

async function closeOf(hook: { close?(): Promise<void> }): Promise<void> {
  await hook.close?.();
}

/** One run. Never rejects, and never takes longer than the hook's timeout or until one of `stops` aborts. */
export async function runBounded(
  runner: Runner,
  payload: string,
  stops: readonly (AbortSignal | undefined)[],
): Promise<HookVerdict> {
  const own = new AbortController();
  const stop = (what: string) => own.abort(new Error(what));
  const stopped = new Promise<HookVerdict>((resolve) => {
    own.signal.addEventListener('abort', () => resolve(failed(`it ${messageOf(own.signal.reason)}`)));
  });
  const timer = setTimeout(
    () => stop(`took longer than ${runner.timeoutMs} ms and was stopped`),
    runner.timeoutMs,
  );
  const cancel = () => stop('was stopped because nobody waits for it any more');
  for (const signal of stops) {
    if (signal?.aborted) cancel();
    else signal?.addEventListener('abort', cancel, { once: true });
  }
  try {
    const run = own.signal.aborted ? stopped : runner.run(payload, own.signal);
    return await Promise.race([run, stopped]);
  } catch (error) {
    return failed(`it failed: ${messageOf(error)}`);
  } finally {
    clearTimeout(timer);
    for (const signal of stops) signal?.removeEventListener('abort', cancel);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
