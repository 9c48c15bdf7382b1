/**
 * One call of a model, from its wish to its one output: hooks, the gate, the tool, hooks again. Whatever goes wrong
 * becomes an output that the model can read, with the true reason. Local and MCP tools take the same way; the gate of an
 * MCP tool is its runtime's.
 */
import { BulkheadError, type Outcome } from '@bulkhead/workers';
import { trustedRawArguments } from '../call.js';
import { closest } from '../config/keys.js';
import { head } from './fence.js';
import type { CallEnd } from './hooks/event.js';
import type { Hooks } from './hooks/hooks.js';
import { errorOutput } from './local-tool.js';
import { CallAbort, cancelled } from './loop-abort.js';
import type { CallEvent } from './loop-events.js';
import { type RunScope, withinScope } from './loop-scope.js';
import { argumentsOf, type ModelCall } from './models/model.js';
import type { Gate, GateRequest, Tool, ToolContext, ToolOutput } from './tool.js';

/** What a run needs of its hooks. */
export type AgentHooks = Pick<Hooks, 'sessionStart' | 'preToolUse' | 'postToolUse'>;

export interface CallRules {
  readonly scope: RunScope;
  /** Calls of MCP tools pass a gate of their runtime, so that the run's own is not asked again. */
  readonly mcpGated: boolean;
  /** Of one call of a local tool. */
  readonly toolTimeoutMs: number;
}

export interface EndedCall {
  readonly output: ToolOutput;
  readonly outcome: Outcome;
  readonly durationMs: number;
}

type Args = Readonly<Record<string, unknown>>;
type Tell = (event: CallEvent) => void;

/** Names that are shown to a model that called one which does not exist. */
const EXCERPT_CHARS = 200;

/**
 * Runs the call to its end, which comes at once when `signal` aborts, whatever the tool does then. Never rejects.
 * @param tool Undefined when there is none of that name; `names` are those that there are.
 */
export async function runCall(
  call: ModelCall,
  tool: Tool | undefined,
  names: () => readonly string[],
  rules: CallRules,
  signal: AbortSignal,
  tell: Tell,
): Promise<EndedCall> {
  const startedAt = performance.now();
  const own = new CallAbort(signal, call.name);
  // A tool that was given up may still report progress.
  let open = true;
  const tellOpen: Tell = (event) => {
    if (open) tell(event);
  };
  const args = argumentsOf(call);
  let seen = args ?? {};
  let end: CallEnd;
  try {
    if (tool === undefined) throw unknownTool(call.name, names());
    if (args === undefined) throw badArguments(call);
    const work = passAndRun(call, tool, args, rules, own, tellOpen, (changed) => {
      seen = changed;
    });
    const output = await own.race(work);
    end = { output, durationMs: performance.now() - startedAt };
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    end = { error, durationMs: performance.now() - startedAt };
    if (isRefusal(error) && tool?.identity.kind === 'mcp' && error.data.route !== undefined) {
      const reason = typeof error.data.reason === 'string' ? error.data.reason : error.message;
      tell({ type: 'permission', callId: call.callId, name: call.name, by: 'gate', allow: false, reason });
    }
  } finally {
    open = false;
    own.dispose();
  }
  if (tool !== undefined) rules.scope.hooks?.postToolUse({ callId: call.callId, tool, args: seen }, end);
  const { durationMs } = end;
  if ('output' in end) {
    return { output: end.output, outcome: end.output.isError ? 'tool_error' : 'ok', durationMs };
  }
  return { output: errorOutput(end.error.message), outcome: outcomeOf(end.error), durationMs };
}

async function passAndRun(
  call: ModelCall,
  tool: Tool,
  args: Args,
  rules: CallRules,
  own: CallAbort,
  tell: Tell,
  seen: (args: Args) => void,
): Promise<ToolOutput> {
  const { callId, name } = call;
  const { gate, hooks } = rules.scope;
  let current = args;
  if (hooks !== undefined) {
    const decision = await hooks.preToolUse({ callId, tool, args }, { signal: own.signal });
    if (decision.decision === 'block') {
      const { reason } = decision;
      tell({ type: 'permission', callId, name, by: 'hook', allow: false, reason });
      throw new BulkheadError('DENIED', `${name} was not run: ${reason}`, { tool: name });
    }
    if (decision.changedBy.length > 0) {
      current = decision.args;
      seen(current);
      tell({ type: 'arguments', callId, name, args: current, changedBy: decision.changedBy });
    }
  }
  const gated = gate !== undefined && (tool.identity.kind === 'local' || !rules.mcpGated);
  const request = gated ? gateRequest(callId, tool, current, own.signal) : undefined;
  if (gated && request !== undefined) await pass(gate, request, name, own.signal, tell);
  const context: ToolContext = {
    callId,
    signal: own.signal,
    onProgress: (progress) => tell({ type: 'progress', callId, name, ...progress }),
  };
  if (tool.identity.kind === 'local') own.limit(rules.toolTimeoutMs);
  const sent = current === args && tool.identity.kind === 'mcp' ? exact(call, args) : current;
  let outcome: Outcome = 'outcome_unknown';
  try {
    // The race is here as well: the gate is told how the call ended for its caller, not when the tool comes home.
    const output = await own.race(withinScope(rules.scope, () => tool.execute(sent, context)));
    outcome = output.isError ? 'tool_error' : 'ok';
    return output;
  } catch (error) {
    outcome = outcomeOf(error);
    throw error;
  } finally {
    if (request !== undefined) gate?.ended?.(request, outcome);
  }
}

/** @throws {BulkheadError} `DENIED` unless the gate clearly says yes. */
async function pass(
  gate: Gate,
  request: GateRequest,
  name: string,
  signal: AbortSignal,
  tell: Tell,
): Promise<void> {
  const decision = await decide(gate, request);
  // A person who was asked in vain has refused nothing.
  if (signal.aborted) throw cancelled(name, signal);
  const { callId } = request;
  if (decision?.allow === true) {
    tell({ type: 'permission', callId, name, by: 'gate', allow: true });
    return;
  }
  const reason = decision?.reason ?? 'the gate gave no decision';
  tell({ type: 'permission', callId, name, by: 'gate', allow: false, reason });
  throw new BulkheadError('DENIED', `${name} was not run: ${reason}`, { tool: name });
}

async function decide(gate: Gate, request: GateRequest) {
  try {
    return await gate.check(request);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { allow: false, reason: `the gate failed: ${why}` } as const;
  }
}

/** The gate sees a copy: what it is asked about is what is sent. */
function gateRequest(callId: string, tool: Tool, args: Args, signal: AbortSignal): GateRequest {
  const { identity, capabilities } = tool;
  return {
    ...tool.facts?.(),
    callId,
    route: 'agent',
    identity,
    capabilities,
    args: structuredClone(args),
    signal,
  };
}

/** Integers that a number cannot hold go to the server as the model wrote them, not as they were read here. */
function exact({ argsText }: ModelCall, args: Args): Args {
  return /\d{16}/.test(argsText) ? (trustedRawArguments(argsText) as unknown as Args) : args;
}

function unknownTool(name: string, names: readonly string[]): BulkheadError {
  const like = closest(name, names);
  const hint = like === undefined ? 'use one of the tools that you were given' : `did you mean "${like}"?`;
  return new BulkheadError('UNKNOWN_TOOL', `there is no tool "${head(name, EXCERPT_CHARS).text}"; ${hint}`, {
    tool: name,
  });
}

function badArguments({ name, argsText }: ModelCall): BulkheadError {
  const { text, left } = head(argsText.toWellFormed(), EXCERPT_CHARS);
  const excerpt = left === 0 ? text : `${text}…`;
  return new BulkheadError(
    'INVALID_ARGUMENTS',
    `${name} was not run: its arguments are not a JSON object (${whyNot(argsText)}). They were: ${excerpt}\nCall it again with a JSON object.`,
    { tool: name },
  );
}

function whyNot(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    return `they are ${value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`}`;
  } catch (error) {
    return head((error as Error).message, EXCERPT_CHARS).text;
  }
}

function isRefusal(error: Error): error is BulkheadError {
  return error instanceof BulkheadError && error.code === 'DENIED';
}

function outcomeOf(error: unknown): Outcome {
  return error instanceof BulkheadError ? error.outcome : 'tool_error';
}
