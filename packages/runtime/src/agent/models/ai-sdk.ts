/**
 * A toolset as the tools of Vercel's AI SDK (`ai`, version 5 and later), for hosts that run its loop in place of ours.
 * Calls take the same way: hooks, gate, budget. Nothing of the SDK is imported.
 */
import type { RuntimeApi } from '../../api.js';
import type { BudgetOptions } from '../budget.js';
import { type AgentHooks, type CallRules, runCall } from '../loop-call.js';
import type { CallEvent } from '../loop-events.js';
import { loopDefaults } from '../loop-options.js';
import { type AiSdkToolSet, aiSdk, aiSdkTools } from '../providers/ai-sdk.js';
import type { ProviderTools } from '../providers/profile.js';
import type { SchemaNode } from '../providers/schema-rules.js';
import { ResultShaper } from '../result-shaper.js';
import type { Gate, Tool } from '../tool.js';

/** What surrounds each call; the names mean what they mean in {@link RunOptions}. */
export interface AiSdkExportOptions<Schema> {
  /** The SDK's function of that name. */
  jsonSchema: (schema: SchemaNode) => Schema;
  /** As in `runAgent()`. */
  gate?: Gate;
  hooks?: AgentHooks;
  budget?: BudgetOptions;
  outputDirectory?: string;
  runtime?: Pick<RuntimeApi, 'shape'>;
  toolTimeoutMs?: number;
  /** Told how each call begins and ends; what it throws is ignored. */
  onEvent?: (event: CallEvent) => void;
}

/** Tools for the AI SDK's own loop, with all that Bulkhead's loop would do around a call. */
export interface AiSdkExport<Schema> extends Pick<ProviderTools<unknown>, 'omitted' | 'notes'> {
  /** For `generateText({tools})` and its like. */
  readonly tools: AiSdkToolSet<Schema>;
}

/** The active tools as they stand; make it anew before each prompt, after `refreshIfDirty()`. */
export function toAiSdkTools<Schema>(
  toolset: { readonly activeTools: readonly Tool[]; readonly gated?: boolean } | readonly Tool[],
  options: AiSdkExportOptions<Schema>,
): AiSdkExport<Schema> {
  const { jsonSchema, gate, hooks, budget, outputDirectory, runtime, onEvent } = options;
  const tools = 'activeTools' in toolset ? toolset.activeTools : toolset;
  const rules: CallRules = {
    scope: { gate, hooks, spend() {} },
    mcpGated: 'gated' in toolset && toolset.gated === true,
    toolTimeoutMs: options.toolTimeoutMs ?? loopDefaults.toolTimeoutMs,
  };
  const exported = aiSdk.tools(tools.map((tool) => underRules(tool, rules, onEvent ?? (() => {}))));
  const shaper = new ResultShaper({
    media: aiSdk.media,
    ...(budget !== undefined && { budget }),
    ...(outputDirectory !== undefined && { directory: outputDirectory }),
    ...(runtime !== undefined && { runtime }),
  });
  const finish: ResultShaper['finish'] = (output, call) => shaper.finish(output, call);
  return {
    tools: aiSdkTools(exported, { jsonSchema, finish }),
    omitted: exported.omitted,
    notes: exported.notes,
  };
}

/** The tool with the whole way of a call before and behind it. */
function underRules(tool: Tool, rules: CallRules, tell: (event: CallEvent) => void): Tool {
  return {
    ...tool,
    async execute(args, { callId, signal }) {
      const call = { type: 'tool-call', callId, name: tool.name, argsText: JSON.stringify(args) } as const;
      const { output } = await runCall(call, tool, () => [tool.name], rules, signal, tell);
      return output;
    },
  };
}
