import { aiSdk } from '../../packages/runtime/src/agent/providers/ai-sdk.js';
import { anthropic } from '../../packages/runtime/src/agent/providers/anthropic.js';
import { gemini } from '../../packages/runtime/src/agent/providers/gemini.js';
import { openAiChat } from '../../packages/runtime/src/agent/providers/openai-chat.js';
import { openAiResponses } from '../../packages/runtime/src/agent/providers/openai-responses.js';
import type { SchemaNode } from '../../packages/runtime/src/agent/providers/schema-rules.js';
import {
  checkAiSdkTools,
  checkAnthropicTools,
  checkGeminiTools,
  checkOpenAiTools,
} from './provider-limits.js';
import { withSchema } from './tools.js';

export const anthropicSchema = (schema: unknown): SchemaNode | undefined =>
  anthropic.tools([withSchema(schema)]).definitions[0]?.input_schema;
export const openAiSchema = (schema: unknown): SchemaNode | undefined =>
  openAiChat.tools([withSchema(schema)]).definitions[0]?.function.parameters;
export const geminiSchema = (schema: unknown): SchemaNode | undefined =>
  gemini.tools([withSchema(schema)]).definitions[0]?.parametersJsonSchema;

/** Problems that any provider has with one schema, and the tools that were left out. */
export function verdictOn(schema: unknown) {
  const tools = [withSchema(schema)];
  const all = [anthropic, openAiChat, openAiResponses, gemini, aiSdk].map((profile) => profile.tools(tools));
  const problems = [
    ...checkAnthropicTools(anthropic.tools(tools).definitions),
    ...checkOpenAiTools(openAiChat.tools(tools).definitions),
    ...checkOpenAiTools(openAiResponses.tools(tools).definitions),
    ...checkGeminiTools(gemini.tools(tools).definitions),
    ...checkAiSdkTools(aiSdk.tools(tools).definitions),
  ];
  return { problems, omitted: all.flatMap(({ omitted }) => omitted.map(({ reason }) => reason)) };
}

export const fine = { problems: [], omitted: [] };
export const object = (properties: unknown, more = {}) => ({ type: 'object', properties, ...more });
