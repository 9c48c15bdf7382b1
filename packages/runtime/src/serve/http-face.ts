/**
 * Our end of one client's session over Streamable HTTP: the SDK's transport, past which the texts of arguments and
 * results are carried unchanged. A result goes through it as a token that nobody can guess and is put in its place in
 * the stream of events.
 */
import { randomUUID } from 'node:crypto';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/sdk/types.js';
import { rawResultOf } from './raw-result.js';
import { withText } from './request-text.js';

const MEMBER = 'bulkhead/result';
const TOKEN = new RegExp(`\\{"${MEMBER}":"([0-9a-f-]{36})"\\}`);

export class HttpFace extends WebStandardStreamableHTTPServerTransport {
  readonly #results = new Map<string, string>();

  async handle(request: Request): Promise<Response> {
    if (request.method !== 'POST') return this.#restored(await this.handleRequest(request));
    const text = await request.text();
    let parsedBody: unknown;
    try {
      parsedBody = JSON.parse(text);
    } catch {
      const error = { code: -32700, message: 'Parse error: the body is not JSON' };
      return Response.json({ jsonrpc: '2.0', error, id: null }, { status: 400 });
    }
    return this.#restored(await this.handleRequest(request, { parsedBody, authInfo: withText(text) }));
  }

  override async send(message: JSONRPCMessage, options?: { relatedRequestId?: RequestId }): Promise<void> {
    const raw = rawResultOf(message);
    if (raw === undefined || !('id' in message)) return super.send(message, options);
    const token = randomUUID();
    this.#results.set(token, raw.text);
    try {
      await super.send({ ...message, result: { [MEMBER]: token } }, options);
    } catch (error) {
      this.#results.delete(token);
      throw error;
    }
  }

  /** The SDK writes each event as one chunk, so a token is never cut in two. */
  #restored(response: Response): Response {
    const { body, status, headers } = response;
    if (body === null || headers.get('content-type')?.startsWith('text/event-stream') !== true)
      return response;
    const results = this.#results;
    const encoder = new TextEncoder();
    const restore = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        const event = results.size === 0 ? '' : Buffer.from(chunk).toString('utf8');
        const found = TOKEN.exec(event);
        const text = found?.[1] === undefined ? undefined : results.get(found[1]);
        if (found === null || found[1] === undefined || text === undefined) return controller.enqueue(chunk);
        results.delete(found[1]);
        const { index } = found;
        controller.enqueue(
          encoder.encode(`${event.slice(0, index)}${text}${event.slice(index + found[0].length)}`),
        );
      },
    });
    return new Response(body.pipeThrough(restore), { status, headers });
  }
}
