/**
 * What a model is to the loop, and the messages of a conversation in words of no provider. An adapter translates a
 * request into its provider's words and the answer back; it decides nothing and retries nothing that its SDK does not.
 */
import { BulkheadError } from '@bulkhead/workers';
import type { MediaRules, ModelResult } from '../providers/profile.js';
import type { ResultPart, Tool } from '../tool.js';

/** A message of a conversation, in no provider's format. */
export type Message =
  | { readonly role: 'user'; readonly content: string | readonly ResultPart[] }
  | { readonly role: 'assistant'; readonly content: readonly AssistantPart[] }
  /** The answers to all calls of the assistant's message before it, in the order of the calls. */
  | { readonly role: 'tool'; readonly results: readonly ModelResult[] };

/** A piece of what a model answered: text, a call, or something for its provider alone. */
export type AssistantPart =
  | { readonly type: 'text'; readonly text: string }
  | ModelCall
  /** What only its own provider can read and wants back as it was: signed thoughts, encrypted reasoning. */
  | { readonly type: 'opaque'; readonly provider: string; readonly value: unknown };

/** A model asks for a tool. */
export interface ModelCall {
  readonly type: 'tool-call';
  /** Unique in its conversation. */
  readonly callId: string;
  readonly name: string;
  /** The arguments as the model wrote them: JSON of an object, when it did well. */
  readonly argsText: string;
}

/** What a model is asked in one step. */
export interface ModelRequest {
  /** The host's own text, the same in every request of a session; may be empty. */
  readonly system: string;
  /** Texts that may change between requests; they belong behind everything that a provider caches. */
  readonly dynamic: readonly string[];
  /** In their stable order. */
  readonly tools: readonly Tool[];
  readonly messages: readonly Message[];
  /** Of this answer; undefined for the adapter's default. */
  readonly maxTokens?: number | undefined;
}

/**
 * Why a model stopped. What counts for the loop is whether it made calls: some gateways say `end` beside them.
 * `pause`: the provider wants the same conversation again, to go on.
 */
export type ModelStop = 'end' | 'tool-calls' | 'max-tokens' | 'context-full' | 'refusal' | 'pause';

/** Tokens of one answer, or of several. */
export interface Usage {
  /** All that were read, cached ones included. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Of the input: read from the provider's cache. */
  readonly cachedTokens: number;
}

/** What a model's answer is made of, as it streams in; `end` is the last one. */
export type ModelEvent =
  | { readonly type: 'text'; readonly text: string }
  /** Thoughts that may be shown to a person; they are no part of the answer. */
  | { readonly type: 'reasoning'; readonly text: string }
  /** Tools of the request that the provider could not be offered. */
  | {
      readonly type: 'omitted';
      readonly tools: readonly { readonly tool: string; readonly reason: string }[];
    }
  /** The last one. A stream that ends without it was cut off. */
  | {
      readonly type: 'end';
      readonly content: readonly AssistantPart[];
      readonly stop: ModelStop;
      readonly usage: Usage;
    };

/** A model behind some provider. Adapters are in this package for Anthropic and OpenAI; any other can be written. */
export interface Model {
  /** As the provider calls it. */
  readonly name: string;
  readonly provider: string;
  /** What it takes in a tool's answer. */
  readonly media: MediaRules;
  /** Throws what the provider's SDK throws, after the retries that the SDK makes by itself. */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
}

export const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0 };

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cachedTokens: a.cachedTokens + b.cachedTokens,
  };
}

/** The arguments of a call; undefined when they are not JSON of an object. No text at all is an object without members. */
export function argumentsOf({ argsText }: Pick<ModelCall, 'argsText'>): Record<string, unknown> | undefined {
  if (argsText.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(argsText);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** What a user says as parts that providers take: blank text is refused, and half a character spoils the whole request. */
export function userParts(content: string | readonly ResultPart[]): ResultPart[] {
  const parts: readonly ResultPart[] =
    typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  return parts.flatMap((part): ResultPart[] => {
    if (part.type !== 'text') return [part];
    return part.text.trim() === '' ? [] : [{ type: 'text', text: part.text.toWellFormed() }];
  });
}

/** The text of a stream that ended in the middle. */
export function cutOff(provider: string): BulkheadError {
  return new BulkheadError(
    'PROTOCOL_ERROR',
    `the answer of ${provider} ended in the middle: the connection was closed before its last event; try again`,
  );
}

/** Brings an optional package. @throws {BulkheadError} `UNSUPPORTED` with the command that installs it. */
export async function optionalPackage<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    if ((cause as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    const message = `the package "${name}" is needed for this model and is not installed; run: npm install ${name}`;
    throw new BulkheadError('UNSUPPORTED', message, { cause });
  }
}
