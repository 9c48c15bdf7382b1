/**
 * Models behind OpenAI's Responses API, by OpenAI's own SDK (`openai`, an optional peer). Nothing is stored at the
 * provider: each request carries the whole conversation, with the reasoning of the model in the encrypted form that the
 * provider takes back.
 */
import { BulkheadError } from '@bulkhead/workers';
import type Sdk from 'openai';
import { openAiResponses } from '../providers/openai-responses.js';
import { openAiMedia } from '../providers/openai-rules.js';
import { textAndMedia } from '../providers/profile.js';
import type { ResultPart } from '../tool.js';
import {
  type AssistantPart,
  cutOff,
  type Message,
  type Model,
  type ModelEvent,
  type ModelStop,
  NO_USAGE,
  userParts,
} from './model.js';
import { replayedArguments } from './openai-chat.js';
import { openAiClient } from './openai-client.js';
import type { OpenAiModelOptions } from './openai-options.js';

type Item = Sdk.Responses.ResponseInputItem;

const PROVIDER = 'openai-responses';

/** A model behind OpenAI's Responses API. Nothing is stored there: each request carries the whole conversation. */
export function openAiResponsesModel(options: OpenAiModelOptions): Model {
  const client = openAiClient(options);
  return {
    name: options.model,
    provider: PROVIDER,
    media: openAiResponses.media,
    async *stream(request, signal) {
      const { definitions, omitted } = openAiResponses.tools(request.tools);
      if (omitted.length > 0) yield { type: 'omitted', tools: omitted };
      const maxTokens = request.maxTokens ?? options.maxTokens;
      const instructions = [request.system, ...request.dynamic]
        .filter((text) => text.trim() !== '')
        .join('\n\n');
      const body = {
        model: options.model,
        // Models that do not reason refuse to be asked for it.
        ...(options.params?.reasoning !== undefined && { include: ['reasoning.encrypted_content' as const] }),
        ...options.params,
        ...(maxTokens !== undefined && { max_output_tokens: maxTokens }),
        ...(instructions !== '' && { instructions }),
        input: request.messages.flatMap(itemsOf),
        ...(definitions.length > 0 && { tools: [...definitions] }),
        store: false,
        stream: true,
      } satisfies Sdk.Responses.ResponseCreateParamsStreaming;
      const { responses } = await client();
      yield* answer(await responses.create(body, { signal }));
    },
  };
}

function itemsOf(message: Message): Item[] {
  switch (message.role) {
    case 'user':
      return [{ role: 'user', content: userContent(message.content) }];
    case 'tool':
      return openAiResponses.toolResults(message.results);
    case 'assistant':
      return message.content.flatMap(assistantItem);
  }
}

function assistantItem(part: AssistantPart): Item[] {
  switch (part.type) {
    case 'text':
      return part.text === '' ? [] : [{ role: 'assistant', content: part.text.toWellFormed() }];
    case 'tool-call': {
      const { callId: call_id, name, argsText } = part;
      return [{ type: 'function_call', call_id, name, arguments: replayedArguments(argsText) }];
    }
    case 'opaque':
      return part.provider === PROVIDER ? [part.value as Item] : [];
  }
}

function userContent(content: string | readonly ResultPart[]) {
  const { text, media } = textAndMedia(userParts(content), openAiMedia, (_, number) => `[image ${number}]`);
  if (media.length === 0) return text;
  return [
    { type: 'input_text' as const, text },
    ...media.map(({ mediaType, data }) => ({
      type: 'input_image' as const,
      image_url: `data:${mediaType};base64,${data}`,
      detail: 'auto' as const,
    })),
  ];
}

async function* answer(events: AsyncIterable<Sdk.Responses.ResponseStreamEvent>): AsyncGenerator<ModelEvent> {
  const done: Sdk.Responses.ResponseOutputItem[] = [];
  for await (const event of events) {
    switch (event.type) {
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        yield { type: 'text', text: event.delta };
        break;
      case 'response.reasoning_summary_text.delta':
        yield { type: 'reasoning', text: event.delta };
        break;
      case 'response.output_item.done':
        done.push(event.item);
        break;
      case 'error':
        throw failure(event.code, event.message);
      case 'response.failed':
        throw failure(event.response.error?.code, event.response.error?.message);
      case 'response.completed':
      case 'response.incomplete': {
        const { response } = event;
        // Some gateways leave the items out of the last event, some never tell of single ones.
        const content = (done.length > 0 ? done : (response.output ?? [])).flatMap(partsOf);
        yield { type: 'end', content, stop: stopOf(response, content), usage: usageOf(response) };
        return;
      }
    }
  }
  throw cutOff("OpenAI's API");
}

function partsOf(item: Sdk.Responses.ResponseOutputItem): AssistantPart[] {
  if (item.type === 'message') {
    const text = item.content.map((part) => (part.type === 'refusal' ? part.refusal : part.text)).join('');
    return text === '' ? [] : [{ type: 'text', text }];
  }
  if (item.type === 'function_call')
    return [{ type: 'tool-call', callId: item.call_id, name: item.name, argsText: item.arguments }];
  // Without its encrypted form the provider would look for reasoning that it has not stored.
  if (item.type === 'reasoning' && item.encrypted_content)
    return [{ type: 'opaque', provider: PROVIDER, value: item }];
  return [];
}

function stopOf(response: Sdk.Responses.Response, content: readonly AssistantPart[]): ModelStop {
  const reason = response.incomplete_details?.reason;
  if (reason === 'max_output_tokens') return 'max-tokens';
  if (reason === 'content_filter') return 'refusal';
  const refused = response.output?.some(
    (item) => item.type === 'message' && item.content.some((part) => part.type === 'refusal'),
  );
  if (refused) return 'refusal';
  return content.some((part) => part.type === 'tool-call') ? 'tool-calls' : 'end';
}

function usageOf({ usage }: Sdk.Responses.Response) {
  if (!usage) return NO_USAGE;
  const { input_tokens, output_tokens, input_tokens_details } = usage;
  return {
    inputTokens: input_tokens,
    outputTokens: output_tokens,
    cachedTokens: input_tokens_details?.cached_tokens ?? 0,
  };
}

function failure(code: string | null | undefined, message: string | undefined): BulkheadError {
  const why = message ?? 'it gave no reason';
  return new BulkheadError('PROTOCOL_ERROR', `OpenAI's API ended its answer with an error: ${why}`, {
    data: { providerCode: code ?? null },
  });
}
