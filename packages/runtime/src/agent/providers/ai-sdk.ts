/**
 * Vercel's AI SDK (5 and later), which speaks to any provider: so schemas keep to what all of them take, and its provider packages do
 * the rest. The tools run through our own `execute`; the SDK's own `jsonSchema()` is passed in, so that nothing of it is
 * imported here.
 *
 * | limit | from |
 * |---|---|
 * | schema | the strictest of Anthropic's and OpenAI's rules; its Google package converts by itself |
 * | tool results `text`, `error-text`, `content` with `media` | reference "ModelMessage", `ToolResultOutput` |
 */
import type { ToolOutput } from '../tool.js';
import { anthropic } from './anthropic.js';
import { openAiMedia, openAiRules } from './openai-rules.js';
import {
  errorText,
  fitTools,
  type ModelResult,
  NO_OUTPUT,
  type ProviderProfile,
  type ProviderTools,
  takes,
} from './profile.js';
import type { SchemaNode, SchemaRules } from './schema-rules.js';

/** A tool as the AI SDK takes it, before its `jsonSchema()`. */
export interface AiSdkDefinition {
  name: string;
  description?: string;
  /** Plain JSON Schema: what the SDK's `jsonSchema()` takes. */
  inputSchema: SchemaNode;
}

/** The `output` of a tool result of the AI SDK. */
export type AiSdkOutput =
  | { type: 'text'; value: string }
  | { type: 'error-text'; value: string }
  | {
      type: 'content';
      value: ({ type: 'text'; text: string } | { type: 'media'; data: string; mediaType: string })[];
    };

/** The message that answers all calls of one turn. */
export interface AiSdkToolMessage {
  role: 'tool';
  content: { type: 'tool-result'; toolCallId: string; toolName: string; output: AiSdkOutput }[];
}

const rules: SchemaRules = {
  ...openAiRules,
  provider: 'the AI SDK',
  propertyName: anthropic.rules.propertyName,
};
const limits = anthropic.limits;

/** The AI SDK's format. Tools that run by themselves come from `toAiSdkTools()`. */
export const aiSdk: ProviderProfile<AiSdkDefinition, AiSdkToolMessage> = {
  provider: 'ai-sdk',
  rules,
  limits,
  media: openAiMedia,
  tools: (tools) =>
    fitTools(tools, rules, limits, ({ name, description, schema }) => ({
      name,
      ...(description !== '' && { description }),
      inputSchema: schema,
    })),
  toolResults: (results) =>
    results.length === 0
      ? []
      : [
          {
            role: 'tool',
            content: results.map((result) => ({
              type: 'tool-result',
              toolCallId: result.callId,
              toolName: result.name,
              output: aiSdkOutput(result),
            })),
          },
        ],
};

/** What the SDK's `toModelOutput` gives. */
export function aiSdkOutput({ parts, isError }: Pick<ModelResult, 'parts' | 'isError'>): AiSdkOutput {
  const value = parts.map((part) => {
    if (part.type === 'text') return { type: 'text', text: part.text } as const;
    if (takes(part, openAiMedia))
      return { type: 'media', data: part.data, mediaType: part.mediaType } as const;
    return {
      type: 'text',
      text: `[${part.type} of type ${part.mediaType}: this model cannot be shown it]`,
    } as const;
  });
  if (value.some((part) => part.type === 'media')) {
    const error = { type: 'text', text: 'The tool reported an error:' } as const;
    return { type: 'content', value: isError ? [error, ...value] : value };
  }
  const text = value.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
  if (isError) return { type: 'error-text', value: text === '' ? errorText('') : text };
  return { type: 'text', value: text === '' ? NO_OUTPUT : text };
}

/** What the SDK's `tools` option takes: `Schema` is what its `jsonSchema()` gives. */
export type AiSdkToolSet<Schema> = Record<
  string,
  {
    description?: string;
    inputSchema: Schema;
    /** Called by the SDK. Whatever went wrong is an output that says so. */
    execute(input: unknown, options: { toolCallId: string; abortSignal?: AbortSignal }): Promise<AiSdkOutput>;
    /** What the model gets to read of it. */
    toModelOutput(result: unknown): AiSdkOutput;
  }
>;

/**
 * The tools as the SDK's own loop runs them.
 * @param options `jsonSchema`: the SDK's function of that name. `finish`: makes parts of a tool's output (see
 *   `ResultShaper`), once; what it gives is what the model sees.
 */
export function aiSdkTools<Schema>(
  exported: ProviderTools<AiSdkDefinition>,
  options: {
    jsonSchema: (schema: SchemaNode) => Schema;
    finish: (
      output: ToolOutput,
      call: { callId: string; name: string; signal: AbortSignal },
    ) => Promise<ModelResult>;
  },
): AiSdkToolSet<Schema> {
  const entries = exported.definitions.flatMap(({ name, description, inputSchema }) => {
    const tool = exported.byName.get(name);
    if (tool === undefined) return [];
    const execute = async (input: unknown, call: { toolCallId: string; abortSignal?: AbortSignal }) => {
      const signal = call.abortSignal ?? new AbortController().signal;
      const args = (input ?? {}) as Record<string, unknown>;
      const output = await tool.execute(args, { callId: call.toolCallId, signal });
      return aiSdkOutput(await options.finish(output, { callId: call.toolCallId, name, signal }));
    };
    const entry = {
      ...(description !== undefined && { description }),
      inputSchema: options.jsonSchema(inputSchema),
      execute,
      // Version 5 passes the output itself, version 6 an object that holds it.
      toModelOutput: (given: unknown) => ((given as { output?: AiSdkOutput }).output ?? given) as AiSdkOutput,
    };
    return [[name, entry] as const];
  });
  return Object.fromEntries(entries);
}
