/**
 * An agent as a tool of another one: the caller's model gives it a task, and gets its last words. It stands under the
 * caller's gate and hooks, shares the sessions of its servers, and ends when the call is cancelled.
 */
import { defineTool, errorOutput } from './local-tool.js';
import { runAgent } from './loop.js';
import type { AgentEvent } from './loop-events.js';
import type { RunOptions } from './loop-options.js';
import type { Capability, Tool } from './tool.js';

/** An agent that is a tool of another one: its model, its tools, and how much it may do. */
export interface SubAgentOptions
  extends Omit<RunOptions, 'messages' | 'prompt' | 'toolset' | 'signal' | 'onEvent'> {
  /** Name of the tool. */
  name: string;
  /** For the caller's model: what the agent is good for. */
  description: string;
  /** What the agent may use, asked for at each call: `() => toolset.fork(filter)`. */
  toolset: RunOptions['toolset'] | (() => RunOptions['toolset']);
  /**
   * What the gate is told of the tool itself. Default `read`: alone it does nothing, and each call that the agent makes
   * passes the gate by itself.
   */
  capabilities?: Iterable<Capability>;
  /** Events of the agent, with the id of the call that it answers. */
  onEvent?: (event: AgentEvent, callId: string) => void;
}

/** @throws {BulkheadError} `BAD_INPUT` for a name that providers refuse. */
export function subAgentTool(options: SubAgentOptions): Tool {
  const { name, description, toolset, capabilities = ['read'], onEvent, ...rest } = options;
  return defineTool<{ prompt: string }>({
    name,
    description,
    inputSchema: {
      type: 'object',
      properties: {
        prompt: {
          type: 'string',
          description: 'The whole task. The agent knows nothing of this conversation.',
          minLength: 1,
        },
      },
      required: ['prompt'],
      additionalProperties: false,
    },
    capabilities,
    async execute({ prompt }, { callId, signal, onProgress }) {
      const result = await runAgent({
        ...rest,
        toolset: typeof toolset === 'function' ? toolset() : toolset,
        prompt,
        signal,
        onEvent(event) {
          if (event.type === 'step') onProgress?.({ progress: event.step });
          onEvent?.(event, callId);
        },
      });
      const { text, stopReason, steps, error } = result;
      if (stopReason === 'end') return text === '' ? 'The agent is done and has nothing to say.' : text;
      const why = error === undefined ? stopReason : error.message;
      const last = text === '' ? '' : `\nIts last words were:\n${text}`;
      return errorOutput(`The agent ${name} ended before it was done, after ${steps} steps: ${why}.${last}`);
    },
  });
}
