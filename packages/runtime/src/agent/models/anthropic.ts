/**
 * Models behind Anthropic's Messages API, by its own SDK (`@anthropic-ai/sdk`, an optional peer). Cache breakpoints stand
 * where `anthropic-prompt.ts` puts them, and at the ends of the last two messages of the user's side: the next request
 * of a run finds all that this one sent.
 */
import type Sdk from '@anthropic-ai/sdk';
import { anthropicPrompt, type CacheControl } from '../anthropic-prompt.js';
import { anthropic, anthropicToolResult } from '../providers/anthropic.js';
import type { ResultPart, Tool } from '../tool.js';
import {
  type AssistantPart,
  argumentsOf,
  cutOff,
  type Message,
  type Model,
  type ModelEvent,
  type ModelRequest,
  type ModelStop,
  optionalPackage,
  userParts,
} from './model.js';

/** How to reach one model behind Anthropic's Messages API. */
export interface AnthropicModelOptions {
  /** For instance `claude-sonnet-5`. */
  model: string;
  /** An `Anthropic` of the SDK, with its own key, address and retries. Default: one made of the two options below. */
  client?: object;
  /** Default: the SDK's own, `ANTHROPIC_API_KEY`. */
  apiKey?: string;
  baseURL?: string;
  /** Tokens of one answer where the request names none. Default 16 000. */
  maxTokens?: number;
  /** How long the provider keeps the cached prefix. Default: its own, five minutes. */
  cacheTtl?: '5m' | '1h';
  /** Further members of the request, `thinking` or `temperature` for instance. */
  params?: Readonly<Record<string, unknown>>;
}

const PROVIDER = 'anthropic';

/** @throws nothing; the first request fails with `UNSUPPORTED` when the SDK is not installed. */
export function anthropicModel(options: AnthropicModelOptions): Model {
  let client: Promise<Sdk> | undefined;
  const connect = async (): Promise<Sdk> => {
    if (options.client !== undefined) return options.client as Sdk;
    const sdk = await optionalPackage('@anthropic-ai/sdk', () => import('@anthropic-ai/sdk'));
    const { apiKey, baseURL } = options;
    return new sdk.default({
      ...(apiKey !== undefined && { apiKey }),
      ...(baseURL !== undefined && { baseURL }),
    });
  };
  return {
    name: options.model,
    provider: PROVIDER,
    media: anthropic.media,
    async *stream(request, signal) {
      client ??= connect();
      const { body, omitted } = requestBody(request, options);
      if (omitted.length > 0) yield { type: 'omitted', tools: omitted };
      const { messages } = await client;
      yield* answer(await messages.create(body, { signal }));
    },
  };
}

function requestBody(
  request: ModelRequest,
  { model, maxTokens = 16_000, cacheTtl, params }: AnthropicModelOptions,
) {
  const local = anthropic.tools(request.tools.filter(isLocal));
  const mcp = anthropic.tools(request.tools.filter((tool) => !isLocal(tool)));
  const { system, tools, breakpointsLeft } = anthropicPrompt({
    system: request.system,
    dynamic: request.dynamic,
    tools: { local: local.definitions, mcp: mcp.definitions },
    ...(cacheTtl !== undefined && { ttl: cacheTtl }),
  });
  const control: CacheControl = { type: 'ephemeral', ...(cacheTtl !== undefined && { ttl: cacheTtl }) };
  const messages = request.messages.flatMap(messageOf);
  setBreakpoints(messages, Math.min(2, breakpointsLeft), control);
  const body = {
    model,
    max_tokens: maxTokens,
    ...params,
    ...(request.maxTokens !== undefined && { max_tokens: request.maxTokens }),
    ...(system.length > 0 && { system }),
    // The profile's schemas are plain JSON Schema, of which the SDK's type knows the outermost members only.
    ...(tools.length > 0 && { tools: tools as Sdk.Messages.ToolUnion[] }),
    messages,
    stream: true,
  } satisfies Sdk.Messages.MessageCreateParamsStreaming;
  return { body, omitted: [...local.omitted, ...mcp.omitted] };
}

const isLocal = ({ identity }: Tool): boolean => identity.kind === 'local';

function messageOf(message: Message): Sdk.Messages.MessageParam[] {
  if (message.role === 'tool') {
    const content: Sdk.Messages.ContentBlockParam[] = message.results.map(anthropicToolResult);
    return content.length === 0 ? [] : [{ role: 'user', content }];
  }
  const content: Sdk.Messages.ContentBlockParam[] =
    message.role === 'user' ? userBlocks(message.content) : message.content.flatMap(assistantBlock);
  // The API refuses a message without content; one that holds nothing says nothing.
  return content.length === 0 ? [] : [{ role: message.role, content }];
}

function userBlocks(content: string | readonly ResultPart[]): Sdk.Messages.ContentBlockParam[] {
  const parts = userParts(content);
  // The blocks of a tool's answer are those of a user's message.
  return parts.length === 0
    ? []
    : anthropicToolResult({ callId: '', name: '', isError: false, parts }).content;
}

function assistantBlock(part: AssistantPart): Sdk.Messages.ContentBlockParam[] {
  switch (part.type) {
    case 'text':
      return part.text.trim() === '' ? [] : [{ type: 'text', text: part.text.toWellFormed() }];
    case 'tool-call':
      // What was no JSON has an error as its answer, which says so.
      return [{ type: 'tool_use', id: part.callId, name: part.name, input: argumentsOf(part) ?? {} }];
    case 'opaque':
      return part.provider === PROVIDER ? [part.value as Sdk.Messages.ContentBlockParam] : [];
  }
}

/** On the last block of each of the last `count` messages of the user's side. */
function setBreakpoints(messages: Sdk.Messages.MessageParam[], count: number, control: CacheControl): void {
  const own = messages.filter(({ role }) => role === 'user').slice(-count);
  for (const { content } of count === 0 ? [] : own) {
    const last = typeof content === 'string' ? undefined : content.at(-1);
    if (
      last !== undefined &&
      'type' in last &&
      (last.type === 'text' || last.type === 'tool_result' || last.type === 'image')
    ) {
      last.cache_control = control;
    }
  }
}

async function* answer(
  events: AsyncIterable<Sdk.Messages.RawMessageStreamEvent>,
): AsyncGenerator<ModelEvent> {
  const blocks: Block[] = [];
  let stop: Sdk.Messages.StopReason | null = null;
  let input = { input_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
  let outputTokens = 0;
  for await (const event of events) {
    switch (event.type) {
      case 'message_start':
        input = inputOf(input, event.message.usage);
        break;
      case 'content_block_start':
        blocks[event.index] = { block: event.content_block, json: '' };
        if (event.content_block.type === 'text' && event.content_block.text !== '')
          yield { type: 'text', text: event.content_block.text };
        break;
      case 'content_block_delta': {
        const block = blocks[event.index];
        if (block === undefined) throw cutOff('Anthropic');
        const shown = add(block, event.delta);
        if (shown !== undefined) yield shown;
        break;
      }
      case 'message_delta':
        stop = event.delta.stop_reason;
        // Some gateways only count at the end.
        input = inputOf(input, event.usage);
        outputTokens = event.usage.output_tokens;
        break;
      case 'message_stop': {
        const cachedTokens = input.cache_read_input_tokens;
        const inputTokens = input.input_tokens + cachedTokens + input.cache_creation_input_tokens;
        const content = blocks.flatMap((block) => (block === undefined ? [] : [partOf(block)]));
        yield {
          type: 'end',
          content,
          stop: stopOf(stop),
          usage: { inputTokens, outputTokens, cachedTokens },
        };
        return;
      }
    }
  }
  throw cutOff('Anthropic');
}

/** A block as it grows. */
interface Block {
  block: Sdk.Messages.RawContentBlockStartEvent['content_block'];
  /** Of a call: the arguments, piece by piece. */
  json: string;
}

function add(target: Block, delta: Sdk.Messages.RawContentBlockDelta): ModelEvent | undefined {
  const { block } = target;
  if (delta.type === 'text_delta' && block.type === 'text') {
    block.text += delta.text;
    return { type: 'text', text: delta.text };
  }
  if (delta.type === 'thinking_delta' && block.type === 'thinking') {
    block.thinking += delta.thinking;
    return { type: 'reasoning', text: delta.thinking };
  }
  if (delta.type === 'signature_delta' && block.type === 'thinking') block.signature += delta.signature;
  if (delta.type === 'input_json_delta') target.json += delta.partial_json;
  return undefined;
}

function partOf({ block, json }: Block): AssistantPart {
  if (block.type === 'text') return { type: 'text', text: block.text };
  if (block.type !== 'tool_use') return { type: 'opaque', provider: PROVIDER, value: block };
  // Gateways that do not stream arguments give them whole at the start.
  const argsText = json === '' ? JSON.stringify(block.input ?? {}) : json;
  return { type: 'tool-call', callId: block.id, name: block.name, argsText };
}

type InputUsage = Record<'input_tokens' | 'cache_read_input_tokens' | 'cache_creation_input_tokens', number>;

function inputOf(known: InputUsage, told: { [K in keyof InputUsage]?: number | null }): InputUsage {
  return {
    input_tokens: told.input_tokens ?? known.input_tokens,
    cache_read_input_tokens: told.cache_read_input_tokens ?? known.cache_read_input_tokens,
    cache_creation_input_tokens: told.cache_creation_input_tokens ?? known.cache_creation_input_tokens,
  };
}

function stopOf(reason: Sdk.Messages.StopReason | null): ModelStop {
  switch (reason) {
    case 'tool_use':
      return 'tool-calls';
    case 'max_tokens':
      return 'max-tokens';
    case 'model_context_window_exceeded':
      return 'context-full';
    case 'refusal':
      return 'refusal';
    case 'pause_turn':
      return 'pause';
    default:
      return 'end';
  }
}
