/**
 * OpenAI's Chat Completions API, which many gateways and local models speak as well: `tools`, and `tool` messages. These hold text only,
 * so images follow in one user message behind all answers of the turn. Limits: `openai-rules.ts`.
 */
import { openAiLimits, openAiMedia, openAiRules } from './openai-rules.js';
import { errorText, fitTools, NO_OUTPUT, type ProviderProfile, textAndMedia } from './profile.js';
import type { SchemaNode } from './schema-rules.js';

/** An entry of `tools` of the Chat Completions API. */
export interface OpenAiChatTool {
  type: 'function';
  function: { name: string; description?: string; parameters: SchemaNode };
}

/** A message that answers a call, or the user message that shows the images of all answers. */
export type OpenAiChatMessage =
  | { role: 'tool'; tool_call_id: string; content: string }
  | {
      role: 'user';
      content: ({ type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string } })[];
    };

/** The format of OpenAI's Chat Completions API, which many other servers speak too. */
export const openAiChat: ProviderProfile<OpenAiChatTool, OpenAiChatMessage> = {
  provider: 'openai-chat',
  rules: openAiRules,
  limits: openAiLimits,
  media: openAiMedia,
  tools: (tools) =>
    fitTools(tools, openAiRules, openAiLimits, ({ name, description, schema }) => ({
      type: 'function',
      function: { name, ...(description !== '' && { description }), parameters: schema },
    })),
  toolResults: (results) => {
    const answers: OpenAiChatMessage[] = [];
    const shown: Extract<OpenAiChatMessage, { role: 'user' }>['content'] = [];
    for (const { callId, name, isError, parts } of results) {
      // `shown` holds a line of text and an image for each.
      const before = shown.length / 2;
      const { text, media } = textAndMedia(
        parts,
        openAiMedia,
        (_, number) => `[image ${before + number}: in the message that follows]`,
      );
      for (const [index, { mediaType, data }] of media.entries()) {
        shown.push({ type: 'text', text: `Image ${before + index + 1}, from ${name}:` });
        shown.push({ type: 'image_url', image_url: { url: `data:${mediaType};base64,${data}` } });
      }
      const content = isError ? errorText(text) : text === '' ? NO_OUTPUT : text;
      answers.push({ role: 'tool', tool_call_id: callId, content });
    }
    return shown.length === 0 ? answers : [...answers, { role: 'user', content: shown }];
  },
};
