/** What a run of the agent loop is given: the model, the tools, the conversation, and who has a say in its calls. */
import { BulkheadError } from '@bulkhead/workers';
import type { RuntimeApi } from '../api.js';
import type { BudgetOptions } from './budget.js';
import type { InstructionOptions } from './instructions.js';
import type { AgentHooks } from './loop-call.js';
import type { AgentEvent } from './loop-events.js';
import type { Message, Model } from './models/model.js';
import type { Gate, ResultPart, Tool } from './tool.js';

/** The tools of one step: nothing moves under the model's feet until they are released. */
export interface StepTools {
  readonly tools: readonly Tool[];
  /** Tools that the model knows by name only, until it looks for them. */
  readonly deferred?: readonly Tool[];
  /** Also a deferred tool that the model looked for. Undefined for a name that was not offered. */
  get(name: string): Tool | undefined;
  /** Ends the hold; idempotent. */
  release(): void;
}

/** What the loop needs of a toolset; `createToolset()` gives one. */
export interface LoopToolset {
  /** Takes what servers have changed; called before each prompt. */
  refreshIfDirty(): unknown;
  /** The tools of the next step, held still until they are released. */
  lease(): StepTools;
  /** Calls of its MCP tools pass a gate of their runtime. */
  readonly gated?: boolean;
}

/** One run of the loop: the model, what it may use, what was said, and the limits. */
export interface RunOptions {
  model: Model;
  /** Or plain tools, which never change. */
  toolset: LoopToolset | readonly Tool[];
  /** The host's own text, the same in every run of a session. Default empty. */
  system?: string;
  /** What came before; the result of the run before, for instance. Default none. */
  messages?: readonly Message[];
  /** What the user says now. Needed unless `messages` ends with something to answer. */
  prompt?: string | readonly ResultPart[];
  /**
   * Decides about each call of a local tool. Calls of MCP tools pass the gate of their runtime (`createRuntime({gate})`),
   * which knows more of them; where the toolset does not say that there is one, this gate is asked about them too.
   * Default: that of the run whose tool starts this one.
   */
  gate?: Gate;
  /** Default: those of the run whose tool starts this one. */
  hooks?: AgentHooks;
  /** Of tools' answers. */
  budget?: BudgetOptions;
  /** For whole texts and files of tools' answers. Default: a fresh private directory. */
  outputDirectory?: string;
  /** Brings notes of its servers into the prompt, and shapes large answers off this thread. */
  runtime?: Pick<RuntimeApi, 'servers' | 'shape'>;
  /** Sizes of the servers' notes. */
  instructions?: InstructionOptions;
  /** The host's own words that may change between steps: date, open files. Asked before each. */
  context?: () => string | undefined;
  /** Answers of the model, at least 1. Default 50. */
  maxSteps?: number;
  /** Tokens of one answer. Default: the model's. */
  maxTokens?: number;
  /** How long a call of a local tool may take, ms. Default 30 min. MCP tools have the limits of their server. */
  toolTimeoutMs?: number;
  /** Aborting ends the run at once: calls in flight are cancelled, and the conversation stays whole. */
  signal?: AbortSignal;
  /** Told each event at once; what it throws is ignored. */
  onEvent?: (event: AgentEvent) => void;
}

/** Limits where `RunOptions` says nothing: answers of the model, and ms of one local tool call. */
export const loopDefaults = { maxSteps: 50, toolTimeoutMs: 30 * 60_000 } as const;

/** @throws {BulkheadError} `BAD_INPUT` for options out of range, and when there is nothing to answer. */
export function checkOptions(options: RunOptions): void {
  const { messages = [], prompt, maxSteps = loopDefaults.maxSteps } = options;
  const { maxTokens, toolTimeoutMs = loopDefaults.toolTimeoutMs } = options;
  expectWhole('maxSteps', maxSteps);
  expectWhole('toolTimeoutMs', toolTimeoutMs);
  if (maxTokens !== undefined) expectWhole('maxTokens', maxTokens);
  if (messages.length === 0 && (prompt === undefined || prompt.length === 0)) {
    throw new BulkheadError(
      'BAD_INPUT',
      'there is nothing to answer: give runAgent() a `prompt` or `messages`',
    );
  }
}

function expectWhole(option: string, value: number): void {
  if (Number.isInteger(value) && value >= 1) return;
  throw new BulkheadError(
    'BAD_INPUT',
    `expected the run's option \`${option}\` to be a whole number of 1 or more, got ${value}`,
  );
}
