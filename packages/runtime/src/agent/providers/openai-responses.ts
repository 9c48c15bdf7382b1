/**
 * OpenAI's Responses API: `tools`, and `function_call_output` items, which take images. `strict` is false, because when
 * it is left out the API tries strict mode. Limits: `openai-rules.ts`.
 */
import { openAiLimits, openAiMedia, openAiRules } from './openai-rules.js';
import {
  errorText,
  fitTools,
  type ModelResult,
  NO_OUTPUT,
  type ProviderProfile,
  textAndMedia,
} from './profile.js';
import type { SchemaNode } from './schema-rules.js';

/** An entry of `tools` of the Responses API. */
export interface OpenAiResponsesTool {
  type: 'function';
  name: string;
  description?: string;
  parameters: SchemaNode;
  strict: false;
}

/** Content of a `function_call_output` item that is more than text. */
export type OpenAiOutputContent =
  | { type: 'input_text'; text: string }
  | { type: 'input_image'; image_url: string; detail: 'auto' };

/** The input item that answers one call. */
export interface OpenAiResponsesItem {
  type: 'function_call_output';
  call_id: string;
  output: string | OpenAiOutputContent[];
}

/** The format of OpenAI's Responses API. */
export const openAiResponses: ProviderProfile<OpenAiResponsesTool, OpenAiResponsesItem> = {
  provider: 'openai-responses',
  rules: openAiRules,
  limits: openAiLimits,
  media: openAiMedia,
  tools: (tools) =>
    fitTools(tools, openAiRules, openAiLimits, ({ name, description, schema }) => ({
      type: 'function',
      name,
      ...(description !== '' && { description }),
      parameters: schema,
      strict: false,
    })),
  toolResults: (results) => results.map(outputItem),
};

function outputItem({ callId, parts, isError }: ModelResult): OpenAiResponsesItem {
  const { text, media } = textAndMedia(parts, openAiMedia, (_, number) => `[image ${number}]`);
  const said = isError ? errorText(text) : text === '' ? NO_OUTPUT : text;
  const output: OpenAiOutputContent[] = [
    { type: 'input_text', text: said },
    ...media.map(
      ({ mediaType, data }) =>
        ({ type: 'input_image', image_url: `data:${mediaType};base64,${data}`, detail: 'auto' }) as const,
    ),
  ];
  return { type: 'function_call_output', call_id: callId, output: media.length === 0 ? said : output };
}
