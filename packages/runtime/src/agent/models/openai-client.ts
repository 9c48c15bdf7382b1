/** The client behind both adapters of OpenAI's APIs: the caller's own, or one that is made on first use. */
import type Sdk from 'openai';
import { optionalPackage } from './model.js';
import type { OpenAiModelOptions } from './openai-options.js';

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
