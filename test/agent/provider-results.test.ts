/** The answers of tools as each provider's messages: what the API takes, in the order it asks for. */
import { describe, expect, test } from 'vitest';
import { aiSdk } from '../../packages/runtime/src/agent/providers/ai-sdk.js';
import { anthropic } from '../../packages/runtime/src/agent/providers/anthropic.js';
import { gemini } from '../../packages/runtime/src/agent/providers/gemini.js';
import { openAiChat } from '../../packages/runtime/src/agent/providers/openai-chat.js';
import { openAiResponses } from '../../packages/runtime/src/agent/providers/openai-responses.js';
import type { ModelResult } from '../../packages/runtime/src/agent/providers/profile.js';
import type { ResultPart } from '../../packages/runtime/src/agent/tool.js';

const text = (value: string): ResultPart => ({ type: 'text', text: value });
const png: ResultPart = { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' };
const wav: ResultPart = { type: 'audio', mediaType: 'audio/wav', data: 'UklGRg==' };
const result = (parts: ResultPart[], isError = false, callId = 'call_1'): ModelResult => ({
  callId,
  name: 'mcp__web__shot',
  isError,
  parts,
});

describe('Anthropic', () => {
  test('all answers of a turn stand in one user message, text and images in order', () => {
    const messages = anthropic.toolResults([
      result([text('before'), png, text('after')]),
      result([text('other')], false, 'call_2'),
    ]);
    expect(messages).toEqual([
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'call_1',
            content: [
              { type: 'text', text: 'before' },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
              { type: 'text', text: 'after' },
            ],
          },
          { type: 'tool_result', tool_use_id: 'call_2', content: [{ type: 'text', text: 'other' }] },
        ],
      },
    ]);
  });

  test('an error is marked; with an image it says so in words, because the API takes no image beside the mark', () => {
    const [plain] = anthropic.toolResults([result([text('no such file')], true)]);
    expect(plain?.content[0]).toMatchObject({ is_error: true, content: [{ text: 'no such file' }] });
    const [shown] = anthropic.toolResults([result([png], true)]);
    expect(shown?.content[0]).not.toHaveProperty('is_error');
    expect(shown?.content[0]?.content).toMatchObject([
      { type: 'text', text: 'The tool reported an error:' },
      { type: 'image' },
    ]);
  });

  test('text is never empty: an answer without any says so', () => {
    const [message] = anthropic.toolResults([result([text(' \n')]), result([], true)]);
    expect(message?.content[0]?.content).toEqual([{ type: 'text', text: '(no output)' }]);
    expect(message?.content[1]?.content).toEqual([
      { type: 'text', text: 'The tool reported an error and said nothing more.' },
    ]);
  });

  test('what the model cannot be shown is named', () => {
    const [message] = anthropic.toolResults([result([wav])]);
    expect(message?.content[0]?.content).toEqual([
      { type: 'text', text: '[audio of type audio/wav: this model cannot be shown it]' },
    ]);
  });
});

describe('OpenAI', () => {
  test('Chat Completions: every call is answered by a text first, images follow in one user message', () => {
    const messages = openAiChat.toolResults([
      result([text('see'), png]),
      result([png, text('failed')], true, 'call_2'),
    ]);
    expect(messages).toEqual([
      { role: 'tool', tool_call_id: 'call_1', content: 'see\n[image 1: in the message that follows]' },
      {
        role: 'tool',
        tool_call_id: 'call_2',
        content: 'The tool reported an error:\n[image 2: in the message that follows]\nfailed',
      },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Image 1, from mcp__web__shot:' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
          { type: 'text', text: 'Image 2, from mcp__web__shot:' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
        ],
      },
    ]);
    expect(openAiChat.toolResults([result([])])).toEqual([
      { role: 'tool', tool_call_id: 'call_1', content: '(no output)' },
    ]);
  });

  test('Responses: text alone is a string, with images a list', () => {
    expect(
      openAiResponses.toolResults([result([text('a'), text('b')]), result([png], false, 'call_2')]),
    ).toEqual([
      { type: 'function_call_output', call_id: 'call_1', output: 'a\nb' },
      {
        type: 'function_call_output',
        call_id: 'call_2',
        output: [
          { type: 'input_text', text: '[image 1]' },
          { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'auto' },
        ],
      },
    ]);
  });
});

test('Gemini: one content with all responses, then the media, with a line for each', () => {
  expect(gemini.toolResults([result([text('a'), png]), result([text('no')], true, '')])).toEqual([
    {
      role: 'user',
      parts: [
        {
          functionResponse: {
            id: 'call_1',
            name: 'mcp__web__shot',
            response: { output: 'a\n[image 1: below]' },
          },
        },
        { functionResponse: { name: 'mcp__web__shot', response: { error: 'no' } } },
        { text: 'image 1, from mcp__web__shot:' },
        { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } },
      ],
    },
  ]);
});

test('AI SDK: text, error text, or content parts', () => {
  const outputs = [result([text('a')]), result([], true), result([png], true)].map(
    (each) => aiSdk.toolResults([each])[0]?.content[0]?.output,
  );
  expect(outputs).toEqual([
    { type: 'text', value: 'a' },
    { type: 'error-text', value: 'The tool reported an error and said nothing more.' },
    {
      type: 'content',
      value: [
        { type: 'text', text: 'The tool reported an error:' },
        { type: 'media', data: 'iVBORw0KGgo=', mediaType: 'image/png' },
      ],
    },
  ]);
});

test('no answers are no message', () => {
  for (const profile of [anthropic, openAiChat, openAiResponses, gemini, aiSdk]) {
    expect(profile.toolResults([])).toEqual([]);
  }
});
