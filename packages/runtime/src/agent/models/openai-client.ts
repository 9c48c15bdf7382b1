/** The client behind both adapters of OpenAI's APIs: the caller's own, or one that is made on first use. */
import type Sdk from 'openai';
import { optionalPackage } from './model.js';

export interface OpenAiModelOptions {
  model: string;
  /** An `OpenAI` of the SDK, with its own key, address and retries. Default: one made of the two options below. */
  client?: object;
  /** Default: the SDK's own, `OPENAI_API_KEY`. */
  apiKey?: string;
  /** Of a gateway or a local server, for instance `http://127.0.0.1:11434/v1`. */
  baseURL?: string;
  /** Tokens of one answer where the request names none. Default: the provider's own. */
  maxTokens?: number;
  /** Further members of the request, `temperature` or `reasoning` for instance. */
  params?: Readonly<Record<string, unknown>>;
}

/** @returns what gives the client. @throws {BulkheadError} `UNSUPPORTED` on use, when the SDK is not installed. */
export function openAiClient({ client, apiKey, baseURL }: OpenAiModelOptions): () => Promise<Sdk> {
  let made: Promise<Sdk> | undefined;
  const make = async (): Promise<Sdk> => {
    if (client !== undefined) return client as Sdk;
    const sdk = await optionalPackage('openai', () => import('openai'));
    return new sdk.default({
      ...(apiKey !== undefined && { apiKey }),
      ...(baseURL !== undefined && { baseURL }),
    });
  };
  return () => {
    made ??= make();
    return made;
  };
}
