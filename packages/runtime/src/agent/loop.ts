/**
 * The agent loop: the model is asked, its calls run side by side, their answers go back to it, until it is done. One run
 * owns its conversation; servers, tools, hooks and permissions are those that it is given.
 */
import { catalogText } from './instructions.js';
import { readAnswer, Unfinished } from './loop-answer.js';
import { type CallRules, runCall } from './loop-call.js';
import type { AgentEvent, RunResult, StopReason } from './loop-events.js';
import { CallIds, callsOf, mended, textOf, unanswered } from './loop-history.js';
import {
  checkOptions,
  type LoopToolset,
  loopDefaults,
  type RunOptions,
  type StepTools,
} from './loop-options.js';
import { serverNotes, sessionContext } from './loop-prompt.js';
import { AgentRun } from './loop-run.js';
import { outerScope, type RunScope } from './loop-scope.js';
import {
  type AssistantPart,
  addUsage,
  argumentsOf,
  type Message,
  type ModelCall,
  type ModelStop,
  NO_USAGE,
} from './models/model.js';
import type { ModelResult } from './providers/profile.js';
import { ResultShaper, type ShapedOutput } from './result-shaper.js';
import type { Tool } from './tool.js';

/**
 * Starts a run. Await it for its result, iterate it for its events.
 * @throws {BulkheadError} `BAD_INPUT` at once, for options out of range and for nothing to answer. The run itself never
 *   rejects: see `stopReason`.
 */
export function runAgent(options: RunOptions): AgentRun {
  checkOptions(options);
  const loop = new Loop(options);
  return new AgentRun((emit) => loop.run(emit), options.onEvent);
}

class Loop {
  readonly #options: RunOptions;
  readonly #shaper: ResultShaper;
  readonly #signal: AbortSignal;
  readonly #scope: RunScope;
  readonly #rules: CallRules;
  readonly #toolset: LoopToolset;
  readonly #messages: Message[];
  readonly #ids: CallIds;
  #emit: (event: AgentEvent) => void = () => {};
  #usage = NO_USAGE;
  #steps = 0;
  #text = '';
  #notes = '';
  #deferring = false;
  #omitted = '[]';

  constructor(options: RunOptions) {
    const { model, toolset, budget, outputDirectory, runtime, messages = [], prompt } = options;
    this.#options = options;
    this.#signal = options.signal ?? new AbortController().signal;
    this.#toolset = 'lease' in toolset ? toolset : fixed(toolset);
    this.#shaper = new ResultShaper({
      media: model.media,
      ...(budget !== undefined && { budget }),
      ...(outputDirectory !== undefined && { directory: outputDirectory }),
      ...(runtime !== undefined && { runtime }),
    });
    const outer = outerScope();
    this.#scope = {
      gate: options.gate ?? outer?.gate,
      hooks: options.hooks ?? outer?.hooks,
      spend: (usage) => {
        this.#usage = addUsage(this.#usage, usage);
        outer?.spend(usage);
      },
    };
    this.#rules = {
      scope: this.#scope,
      mcpGated: this.#toolset.gated === true,
      toolTimeoutMs: options.toolTimeoutMs ?? loopDefaults.toolTimeoutMs,
    };
    this.#messages = mended(messages);
    if (prompt !== undefined && prompt.length > 0) this.#messages.push({ role: 'user', content: prompt });
    this.#ids = new CallIds(this.#messages);
  }

  async run(emit: (event: AgentEvent) => void): Promise<RunResult> {
    this.#emit = emit;
    let stopReason: StopReason;
    let error: Error | undefined;
    try {
      stopReason = await this.#steady();
    } catch (thrown) {
      const cause = thrown instanceof Unfinished ? thrown.cause : thrown;
      stopReason = this.#signal.aborted ? 'aborted' : 'error';
      // A person who interrupts has read it; a model that failed is asked the same again.
      if (this.#signal.aborted && thrown instanceof Unfinished) this.#said(thrown.said);
      if (stopReason === 'error') error = cause instanceof Error ? cause : new Error(String(cause));
    }
    return {
      messages: this.#messages,
      text: this.#text,
      steps: this.#steps,
      stopReason,
      ...(error !== undefined && { error }),
      usage: this.#usage,
    };
  }

  async #steady(): Promise<StopReason> {
    const { maxSteps = loopDefaults.maxSteps } = this.#options;
    const started = await sessionContext(this.#scope.hooks, this.#signal);
    for (;;) {
      if (this.#signal.aborted) return 'aborted';
      if (this.#steps === maxSteps) return 'max_steps';
      await this.#toolset.refreshIfDirty();
      const lease = this.#toolset.lease();
      try {
        const reason = await this.#step(lease, started);
        if (reason !== undefined) return reason;
      } finally {
        lease.release();
      }
    }
  }

  /** Undefined when the model is to be asked again. */
  async #step(lease: StepTools, started: string | undefined): Promise<StopReason | undefined> {
    const { model, system = '', maxTokens } = this.#options;
    this.#emit({ type: 'step', step: ++this.#steps });
    const dynamic = this.#dynamic(lease, started);
    const request = { system, dynamic, tools: lease.tools, messages: [...this.#messages], maxTokens };
    const { content, stop, usage } = await readAnswer(model, request, this.#signal, (event) => {
      if (event.type !== 'omitted' || this.#isNews(event.tools)) this.#emit(event);
    });
    this.#scope.spend(usage);
    const calls = callsOf(this.#said(content));
    const reason = stopped[stop];
    if (calls.length > 0) {
      // A call of an answer that was cut may be cut itself, and look whole.
      const results = reason === undefined ? await this.#run(calls, lease) : this.#refuse(calls, stop);
      this.#push({ role: 'tool', results });
      return this.#signal.aborted ? 'aborted' : reason;
    }
    return reason ?? (stop === 'pause' ? undefined : 'end');
  }

  #dynamic({ tools, deferred = [] }: StepTools, started: string | undefined): string[] {
    const { runtime, instructions, context } = this.#options;
    const all = [...tools, ...deferred];
    const notes = runtime === undefined ? undefined : serverNotes(runtime.servers(), all, instructions);
    // Loaded ones are named as well: a text that changed with each tool that is found would cost the cache behind it.
    this.#deferring ||= deferred.length > 0;
    const catalogue = this.#deferring ? catalogText(all) : undefined;
    const foreign = [started, notes, catalogue].filter(isText).join('\n\n');
    if (foreign !== this.#notes) {
      this.#notes = foreign;
      this.#emit({ type: 'instructions', text: foreign });
    }
    return [foreign, context?.()].filter(isText);
  }

  /** Keeps what the model said; gives it as it is kept. */
  #said(content: readonly AssistantPart[]): readonly AssistantPart[] {
    const own = this.#ids.kept(content);
    this.#text = textOf(own);
    // Providers refuse a message that holds nothing.
    if (own.length > 0) this.#push({ role: 'assistant', content: own });
    return own;
  }

  #push(message: Message): void {
    this.#messages.push(message);
    this.#emit({ type: 'message', message });
  }

  /** Side by side; the answers stand in the order of the calls, their events come as each of them ends. */
  #run(calls: readonly ModelCall[], lease: StepTools): Promise<ModelResult[]> {
    return Promise.all(calls.map((call) => this.#call(call, lease)));
  }

  async #call(call: ModelCall, lease: StepTools): Promise<ModelResult> {
    const { callId, name } = call;
    this.#emit({ type: 'tool-call', callId, name, args: argumentsOf(call) });
    const names = () => lease.tools.map((tool) => tool.name);
    const { output, outcome, durationMs } = await runCall(
      call,
      lease.get(name),
      names,
      this.#rules,
      this.#signal,
      this.#emit,
    );
    const { file, ...result } = await this.#shaped(output, call);
    const { isError, parts } = result;
    this.#emit({
      type: 'tool-result',
      callId,
      name,
      isError,
      outcome,
      parts,
      durationMs,
      ...(file !== undefined && { file }),
    });
    return result;
  }

  async #shaped(output: Parameters<ResultShaper['finish']>[0], call: ModelCall): Promise<ShapedOutput> {
    const { callId, name } = call;
    try {
      return await this.#shaper.finish(output, { callId, name, signal: this.#signal });
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return unanswered(call, `${name} has answered, and its answer could not be prepared: ${why}`);
    }
  }

  #refuse(calls: readonly ModelCall[], stop: ModelStop): ModelResult[] {
    const why =
      stop === 'refusal'
        ? 'the answer was stopped by the provider'
        : 'the answer was cut at its limit of tokens';
    return calls.map((call) => unanswered(call, `${call.name} was not run: ${why}.`));
  }

  #isNews(omitted: readonly unknown[]): boolean {
    const text = JSON.stringify(omitted);
    if (text === this.#omitted) return false;
    this.#omitted = text;
    return true;
  }
}

/** How a run ends with an answer that stopped so; undefined: that depends on its calls. */
const stopped: Readonly<Record<ModelStop, StopReason | undefined>> = {
  end: undefined,
  'tool-calls': undefined,
  pause: undefined,
  'max-tokens': 'max_tokens',
  'context-full': 'context_full',
  refusal: 'refusal',
};

function fixed(tools: readonly Tool[]): LoopToolset {
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  const lease: StepTools = { tools, get: (name) => byName.get(name), release() {} };
  return { refreshIfDirty() {}, lease: () => lease };
}

const isText = (text: string | undefined): text is string => text !== undefined && text !== '';
