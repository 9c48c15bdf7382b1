/**
 * The hooks of one session, and when each runs: SessionStart at once in parallel, PreToolUse one after the other on
 * what the one before left, PostToolUse behind the caller's back. One hook's failure is never another's.
 */
import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { BulkheadError } from '@bulkhead/workers';
import { hostVariables } from '../../config/environment.js';
import { OUTPUT_MAX_BYTES } from './answer.js';
import type { CallEnd, HookEvent, HookedCall } from './event.js';
import { HookConnections } from './http.js';
import { callInput, payloadOf, resultInput } from './input.js';
import { Lane } from './lane.js';
import type { HooksOptions, HooksReport, PreToolUseDecision } from './options.js';
import { functionRunner, type Runner, type RunnerContext, ruleRunner, runBounded } from './runner.js';

interface Observer {
  runner: Runner;
  lane: Lane;
}

/** @throws {TypeError} a function's `match` is no usable pattern. */
export async function createHooks(options: HooksOptions = {}): Promise<Hooks> {
  const cleanups = new Set<Promise<void>>();
  const context: RunnerContext = {
    session: options.session ?? randomUUID(),
    cwd: resolve(options.cwd ?? process.cwd()),
    host: hostVariables(options.env ?? process.env),
    connections: new HookConnections(),
    track: (cleanup) => {
      const tracked = cleanup.finally(() => cleanups.delete(tracked));
      cleanups.add(tracked);
    },
    report: (hook, event, message) => options.onProblem?.({ hook, event, message }),
  };
  const runners: Runner[] = [];
  for (const rule of options.rules ?? []) runners.push(await ruleRunner(rule, context));
  for (const hook of options.functions ?? []) runners.push(await functionRunner(hook, context));
  return new Hooks(runners, context, cleanups, options);
}

/** All hooks of one session, from files and from code. Made by `createHooks()`. */
export class Hooks {
  readonly session: string;
  readonly #context: RunnerContext;
  readonly #cleanups: ReadonlySet<Promise<void>>;
  readonly #runners: readonly Runner[];
  readonly #guards: readonly Runner[];
  readonly #observers: readonly Observer[];
  readonly #closing = new AbortController();
  #closed: Promise<HooksReport> | undefined;

  /** @internal Use {@link createHooks}. */
  constructor(
    runners: readonly Runner[],
    context: RunnerContext,
    cleanups: ReadonlySet<Promise<void>>,
    { queueMax = 256, queueMaxBytes = 16 * 1024 * 1024 }: HooksOptions,
  ) {
    this.session = context.session;
    this.#context = context;
    this.#cleanups = cleanups;
    this.#runners = runners;
    this.#guards = runners.filter(({ event }) => event === 'PreToolUse');
    this.#observers = runners
      .filter(({ event }) => event === 'PostToolUse')
      .map((runner) => ({ runner, lane: new Lane(runner.overlap, { queueMax, queueMaxBytes }) }));
  }

  /**
   * Runs the SessionStart hooks, and gives what they add to the model's context, in their order. A hook that fails
   * adds nothing.
   */
  async sessionStart(options: { signal?: AbortSignal } = {}): Promise<{ context: string | undefined }> {
    const { session, cwd } = this.#context;
    const payload = JSON.stringify({ event: 'SessionStart', session, cwd });
    const starts = this.#runners.filter(({ event }) => event === 'SessionStart');
    const texts = await Promise.all(
      starts.map(async (runner) => {
        const verdict = await runBounded(runner, payload, [options.signal, this.#closing.signal]);
        if (verdict.kind === 'answer') return verdict.answer.context ?? '';
        this.#report(runner, verdict.message);
        return '';
      }),
    );
    const context = texts
      .map((text) => text.trim().slice(0, OUTPUT_MAX_BYTES).toWellFormed())
      .filter((text) => text !== '')
      .join('\n\n');
    return { context: context === '' ? undefined : context };
  }

  /**
   * Asks the PreToolUse hooks that fit. Call it before the permission gate and give the gate the arguments that come
   * back: an `allow` of a hook is no permission.
   * @throws {BulkheadError} `CANCELLED` when `signal` aborts, `CLOSED` after `close()`.
   */
  async preToolUse(call: HookedCall, options: { signal?: AbortSignal } = {}): Promise<PreToolUseDecision> {
    const { signal } = options;
    const changedBy: string[] = [];
    let args = call.args;
    for (const runner of this.#guards) {
      if (!runner.fits(call)) continue;
      this.#refuseWhenOver(call, signal);
      const payload = payloadOf({ ...callInput('PreToolUse', this.#context, call), args });
      if (payload === undefined) {
        const reason = `The arguments of ${call.tool.name} are no JSON, so the hook ${runner.place} cannot judge them`;
        return { decision: 'block', reason, hook: runner.place };
      }
      const verdict = await runBounded(runner, payload, [signal, this.#closing.signal]);
      this.#refuseWhenOver(call, signal);
      if (verdict.kind === 'failed') {
        this.#report(runner, verdict.message);
        if (runner.onError === 'allow') continue;
        const reason = `${call.tool.name} was not run: the hook ${runner.place} has to agree and could not be asked (${verdict.message}). A person has to mend the hook`;
        return { decision: 'block', reason, hook: runner.place };
      }
      const { decision, reason, args: replaced } = verdict.answer;
      if (decision === 'block') {
        return { decision, reason: reason || `Blocked by the hook ${runner.place}`, hook: runner.place };
      }
      if (replaced === undefined) continue;
      args = replaced;
      changedBy.push(runner.place);
    }
    return { decision: 'allow', args, changedBy };
  }

  /**
   * Tells the PostToolUse hooks that fit, and returns at once. For every end of a call, refusals included (a
   * `BulkheadError` `DENIED`): an audit that only sees what was allowed is none.
   */
  postToolUse(call: HookedCall, end: CallEnd): void {
    if (this.#closed !== undefined) return;
    const fitting = this.#observers.filter(({ runner }) => runner.fits(call));
    const payloads = new Map<boolean, string | undefined>();
    for (const { runner, lane } of fitting) {
      const { withText } = runner;
      if (!payloads.has(withText)) {
        const input = {
          ...callInput('PostToolUse', this.#context, call),
          result: resultInput(end, withText),
        };
        payloads.set(withText, payloadOf(input));
      }
      const payload = payloads.get(withText);
      if (payload === undefined) {
        this.#report(runner, `it was not told about call ${call.callId}, whose arguments are no JSON`);
        continue;
      }
      const offered = lane.offer(payload.length, async () => {
        if (this.#closing.signal.aborted) return;
        const verdict = await runBounded(runner, payload, [this.#closing.signal]);
        if (verdict.kind === 'failed') this.#report(runner, verdict.message);
      });
      if (offered === 'jam') {
        const hint = 'make it faster, or raise `queueMax`';
        this.#report(runner, `it is too slow: calls are not told to it until there is room again; ${hint}`);
      }
    }
  }

  /**
   * Lets observers finish for at most `deadlineMs` (default 5 000), then stops them, and waits until every process of
   * a hook is gone (a few seconds more at worst). Idempotent; never rejects.
   */
  close(options: { deadlineMs?: number } = {}): Promise<HooksReport> {
    this.#closed ??= this.#close(options.deadlineMs ?? 5_000);
    return this.#closed;
  }

  async #close(deadlineMs: number): Promise<HooksReport> {
    const until = performance.now() + deadlineMs;
    const lanes = this.#observers.map(({ lane }) => lane);
    await within(Promise.all(lanes.map((lane) => lane.idle())), deadlineMs);
    const unfinished = lanes.reduce((sum, { open }) => sum + open, 0);
    this.#closing.abort();
    await Promise.all(lanes.map((lane) => lane.idle()));
    const ends = this.#runners.map(async (runner) => {
      try {
        await runner.close?.();
      } catch (error) {
        this.#report(runner, `its end failed: ${error instanceof Error ? error.message : String(error)}`);
      }
    });
    await within(Promise.all(ends), Math.max(100, until - performance.now()));
    while (this.#cleanups.size > 0) await Promise.all(this.#cleanups);
    await this.#context.connections.close();
    return { dropped: lanes.reduce((sum, { dropped }) => sum + dropped, 0), unfinished };
  }

  #refuseWhenOver({ tool }: HookedCall, signal: AbortSignal | undefined): void {
    const over = signal?.aborted
      ? 'CANCELLED'
      : this.#closing.signal.aborted || this.#closed
        ? 'CLOSED'
        : undefined;
    if (over === undefined) return;
    const why = over === 'CANCELLED' ? 'the call was cancelled' : 'the hooks of this session are closed';
    throw new BulkheadError(over, `${tool.name} was not run: ${why} before its hooks had agreed`);
  }

  #report({ event, place }: { event: HookEvent; place: string }, message: string): void {
    try {
      this.#context.report(place, event, message);
    } catch {
      // The host's own listener: its trouble must not become a hook's.
    }
  }
}

async function within(work: Promise<unknown>, ms: number): Promise<void> {
  const early = new AbortController();
  const { signal } = early;
  await Promise.race([work, wait(ms, undefined, { signal }).catch(() => {})]);
  early.abort();
}
