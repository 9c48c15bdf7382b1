/**
 * Options of both adapters of OpenAI's APIs. Apart from the client: who has not installed the SDK, an optional peer,
 * must be able to compile against these types all the same.
 */

/** How to reach one model behind an API of OpenAI's, or one that speaks like it. */
export interface OpenAiModelOptions {
  /** For instance `gpt-5.1`. */
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
