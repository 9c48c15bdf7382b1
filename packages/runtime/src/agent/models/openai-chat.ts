/**
 * Models behind OpenAI's Chat Completions API, which many gateways and local servers speak as well, by OpenAI's own SDK
 * (`openai`, an optional peer). What is read is forgiving where these differ: indexes and ids of calls, reasons to stop.
 */
import type Sdk from 'openai';
import { openAiChat } from '../providers/openai-chat.js';
import { openAiMedia } from '../providers/openai-rules.js';
import { textAndMedia } from '../providers/profile.js';
import type { ResultPart } from '../tool.js';
import {
  type AssistantPart,
  argumentsOf,
  cutOff,
  type Message,
  type Model,
  type ModelEvent,
  type ModelRequest,
  type ModelStop,
  NO_USAGE,
  userParts,
} from './model.js';
import { openAiClient } from './openai-client.js';
import type { OpenAiModelOptions } from './openai-options.js';

type Chunk = Sdk.Chat.Completions.ChatCompletionChunk;
type Choice = Sdk.Chat.Completions.ChatCompletionChunk.Choice;
type CallPiece = Sdk.Chat.Completions.ChatCompletionChunk.Choice.Delta.ToolCall;
type Param = Sdk.Chat.Completions.ChatCompletionMessageParam;

/** `params` may name `max_tokens` for gateways that do not know `max_completion_tokens`; the latter is not sent then. */
export function openAiChatModel(options: OpenAiModelOptions): Model {
  const client = openAiClient(options);
  return {
    name: options.model,
    provider: 'openai-chat',
    media: openAiChat.media,
    async *stream(request, signal) {
      const { definitions, omitted } = openAiChat.tools(request.tools);
      if (omitted.length > 0) yield { type: 'omitted', tools: omitted };
      const maxTokens = request.maxTokens ?? options.maxTokens;
      const limit = options.params?.max_tokens === undefined ? 'max_completion_tokens' : 'max_tokens';
      const body = {
        model: options.model,
        stream_options: { include_usage: true },
        ...options.params,
        ...(maxTokens !== undefined && { [limit]: maxTokens }),
        messages: messagesOf(request),
        ...(definitions.length > 0 && { tools: [...definitions] }),
        stream: true,
      } satisfies Sdk.Chat.Completions.ChatCompletionCreateParamsStreaming;
      const { chat } = await client();
      yield* answer(await chat.completions.create(body, { signal }));
    },
  };
}

function messagesOf({ system, dynamic, messages }: ModelRequest): Param[] {
  // One message: some gateways take a single one. What changes stands at its end, behind the cached part.
  const content = [system, ...dynamic].filter((text) => text.trim() !== '').join('\n\n');
  const first: Param[] = content === '' ? [] : [{ role: 'system', content }];
  return [...first, ...messages.flatMap(messageOf)];
}

function messageOf(message: Message): Param[] {
  switch (message.role) {
    case 'user':
      return [{ role: 'user', content: userContent(message.content) }];
    case 'tool':
      return openAiChat.toolResults(message.results);
    case 'assistant': {
      const text = message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
      const calls = message.content.flatMap((part) => (part.type === 'tool-call' ? [part] : []));
      if (text === '' && calls.length === 0) return [];
      return [
        {
          role: 'assistant',
          content: text === '' ? null : text.toWellFormed(),
          ...(calls.length > 0 && {
            tool_calls: calls.map((call) => ({
              id: call.callId,
              type: 'function' as const,
              function: { name: call.name, arguments: replayedArguments(call.argsText) },
            })),
          }),
        },
      ];
    }
  }
}

function userContent(content: string | readonly ResultPart[]) {
  const { text, media } = textAndMedia(userParts(content), openAiMedia, (_, number) => `[image ${number}]`);
  if (media.length === 0) return text;
  return [
    { type: 'text' as const, text },
    ...media.map(({ mediaType, data }) => ({
      type: 'image_url' as const,
      image_url: { url: `data:${mediaType};base64,${data}` },
    })),
  ];
}

/** As the model wrote them, every digit; what was no JSON would be refused, and has an error as its answer. */
export function replayedArguments(argsText: string): string {
  return argsText.trim() !== '' && argumentsOf({ argsText }) !== undefined ? argsText.toWellFormed() : '{}';
}

async function* answer(chunks: AsyncIterable<Chunk>): AsyncGenerator<ModelEvent> {
  const calls = new Calls();
  let text = '';
  let refused = false;
  let finish: Choice['finish_reason'] = null;
  let usage = NO_USAGE;
  for await (const chunk of chunks) {
    if (chunk.usage) {
      const { prompt_tokens, completion_tokens, prompt_tokens_details } = chunk.usage;
      const cachedTokens = prompt_tokens_details?.cached_tokens ?? 0;
      usage = { inputTokens: prompt_tokens, outputTokens: completion_tokens, cachedTokens };
    }
    const choice = chunk.choices?.[0];
    if (choice === undefined) continue;
    const { delta } = choice;
    const said = `${delta?.content ?? ''}${delta?.refusal ?? ''}`;
    if (delta?.refusal) refused = true;
    if (said !== '') {
      text += said;
      yield { type: 'text', text: said };
    }
    for (const piece of delta?.tool_calls ?? []) calls.add(piece);
    finish = choice.finish_reason ?? finish;
  }
  if (finish === null) throw cutOff("OpenAI's API");
  const said: AssistantPart[] = text === '' ? [] : [{ type: 'text', text }];
  yield {
    type: 'end',
    content: [...said, ...calls.parts()],
    stop: refused ? 'refusal' : stopOf(finish),
    usage,
  };
}

/** Calls as they grow, in the order in which they began. */
class Calls {
  readonly #calls: { index: number | undefined; id: string; name: string; args: string }[] = [];

  add({ index, id, function: given }: Omit<CallPiece, 'index'> & { index?: number }): void {
    const open = this.#calls.findLast((call) => index === undefined || call.index === index);
    // Some gateways number every call 0, or none; then a new id, or a further name, begins the next call.
    const isNew =
      open === undefined ||
      (id ? open.id !== '' && open.id !== id : index === undefined && !!given?.name && open.name !== '');
    const call = isNew ? { index, id: '', name: '', args: '' } : open;
    if (isNew) this.#calls.push(call);
    call.id ||= id ?? '';
    call.name += given?.name ?? '';
    call.args += given?.arguments ?? '';
  }

  parts(): AssistantPart[] {
    return this.#calls.map(({ id, name, args }) => ({ type: 'tool-call', callId: id, name, argsText: args }));
  }
}

function stopOf(finish: NonNullable<Choice['finish_reason']>): ModelStop {
  switch (finish) {
    case 'tool_calls':
    case 'function_call':
      return 'tool-calls';
    case 'length':
      return 'max-tokens';
    case 'content_filter':
      return 'refusal';
    default:
      return 'end';
  }
}
