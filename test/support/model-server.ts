/**
 * A model behind a socket: a loopback HTTP server that speaks Anthropic's Messages API and both APIs of OpenAI, streams
 * included, and says what a script says. Every request is kept.
 */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach } from 'vitest';

export interface WireCall {
  id: string;
  name: string;
  /** As the model writes them, JSON or not. */
  args: string;
}

/** One answer. In order: thoughts, text, calls, end. */
export interface WireTurn {
  /** Anthropic: a signed thought; Responses: an encrypted one. */
  thought?: string;
  /** Deltas. */
  text?: string[];
  calls?: WireCall[];
  /** The provider's own word. Default: that of a whole answer. */
  stop?: string;
  /** After the text: an error inside the stream, a broken connection, an end without a word, or nothing more at all. */
  after?: { error: string } | 'cut' | 'quiet' | 'hold';
}

export type WireReply = WireTurn | { status: number; message: string };

export interface ModelRequestSeen {
  path: string;
  headers: Record<string, string | string[] | undefined>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of three protocols
  body: any;
  /** Resolves when the client has closed the answer. */
  closed: Promise<void>;
}

export interface ModelServer {
  /** Without a path. */
  readonly url: string;
  readonly requests: readonly ModelRequestSeen[];
}

/** Gives what starts a server for the current test; requests beyond the script's end get an error. */
export function useModelServer(): (script: readonly WireReply[]) => Promise<ModelServer> {
  const open: { server: Server; sockets: Set<Socket> }[] = [];
  afterEach(async () => {
    await Promise.all(
      open.splice(0).map(({ server, sockets }) => {
        for (const socket of sockets) socket.destroy();
        return new Promise((resolve) => server.close(resolve));
      }),
    );
  });
  return async (script) => {
    const requests: ModelRequestSeen[] = [];
    const sockets = new Set<Socket>();
    const server = createServer(async (request, response) => {
      let text = '';
      for await (const chunk of request.setEncoding('utf8')) text += chunk;
      const closed = new Promise<void>((resolve) => response.once('close', () => resolve()));
      const { url: path = '', headers } = request;
      requests.push({ path, headers, body: JSON.parse(text), closed });
      const reply = script[requests.length - 1] ?? { status: 400, message: 'the script is over' };
      answer(response, path, reply);
    });
    server.on('connection', (socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    open.push({ server, sockets });
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
  };
}

function answer(response: ServerResponse, path: string, reply: WireReply): void {
  const events = protocols.get(path);
  if ('status' in reply || events === undefined) {
    const { status, message } = 'status' in reply ? reply : { status: 404, message: `no API at ${path}` };
    const body = {
      type: 'error',
      error: { type: status === 529 ? 'overloaded_error' : 'api_error', message },
    };
    response.writeHead(status, { 'content-type': 'application/json', 'retry-after-ms': '1' });
    response.end(JSON.stringify(body));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events(reply)) response.write(event);
  if (reply.after === 'hold') return;
  if (reply.after === 'cut') response.write('', () => response.destroy());
  else response.end();
}

const sse = (data: object, event?: string) =>
  `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
const halves = (text: string) => [text.slice(0, text.length >> 1), text.slice(text.length >> 1)];

const protocols = new Map<string, (turn: WireTurn) => Generator<string>>([
  ['/v1/messages', anthropicEvents],
  ['/v1/chat/completions', chatEvents],
  ['/v1/responses', responsesEvents],
]);

function* anthropicEvents({ thought, text = [], calls = [], stop, after }: WireTurn): Generator<string> {
  const say = (type: string, data: object = {}) => sse({ type, ...data }, type);
  const usage = {
    input_tokens: 10,
    cache_read_input_tokens: 90,
    cache_creation_input_tokens: 0,
    output_tokens: 1,
  };
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'test', content: [], usage };
  yield say('message_start', { message: { ...message, stop_reason: null, stop_sequence: null } });
  let index = 0;
  if (thought !== undefined) {
    yield say('content_block_start', {
      index,
      content_block: { type: 'thinking', thinking: '', signature: '' },
    });
    yield say('content_block_delta', { index, delta: { type: 'thinking_delta', thinking: thought } });
    yield say('content_block_delta', { index, delta: { type: 'signature_delta', signature: 'signed' } });
    yield say('content_block_stop', { index: index++ });
  }
  if (text.length > 0) {
    yield say('content_block_start', { index, content_block: { type: 'text', text: '' } });
    yield say('ping');
    for (const piece of text)
      yield say('content_block_delta', { index, delta: { type: 'text_delta', text: piece } });
  }
  if (typeof after === 'string') return;
  if (after !== undefined) {
    yield say('error', { error: { type: 'overloaded_error', message: after.error } });
    return;
  }
  if (text.length > 0) yield say('content_block_stop', { index: index++ });
  for (const { id, name, args } of calls) {
    yield say('content_block_start', { index, content_block: { type: 'tool_use', id, name, input: {} } });
    for (const partial_json of halves(args))
      yield say('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json } });
    yield say('content_block_stop', { index: index++ });
  }
  const stop_reason = stop ?? (calls.length > 0 ? 'tool_use' : 'end_turn');
  yield say('message_delta', { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 7 } });
  yield say('message_stop');
}

function* chatEvents({ text = [], calls = [], stop, after }: WireTurn): Generator<string> {
  const chunk = (delta: object, finish_reason: string | null = null, more: object = {}) =>
    sse({
      id: 'c1',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'test',
      choices: [{ index: 0, delta, finish_reason }],
      ...more,
    });
  yield chunk({ role: 'assistant', content: '' });
  for (const content of text) yield chunk({ content });
  if (typeof after === 'string') return;
  if (after !== undefined) {
    yield sse({ error: { message: after.error, type: 'server_error' } });
    return;
  }
  for (const [index, { id, name, args }] of calls.entries()) {
    yield chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] });
    for (const piece of halves(args))
      yield chunk({ tool_calls: [{ index, function: { arguments: piece } }] });
  }
  yield chunk({}, stop ?? (calls.length > 0 ? 'tool_calls' : 'stop'));
  const usage = {
    prompt_tokens: 100,
    completion_tokens: 7,
    total_tokens: 107,
    prompt_tokens_details: { cached_tokens: 90 },
  };
  yield chunk({}, null, { choices: [], usage });
  yield 'data: [DONE]\n\n';
}

function* responsesEvents({ thought, text = [], calls = [], stop, after }: WireTurn): Generator<string> {
  let sequence_number = 0;
  const say = (type: string, data: object = {}) =>
    sse({ type, sequence_number: sequence_number++, ...data }, type);
  const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'test', output: [] };
  yield say('response.created', { response: { ...response, status: 'in_progress' } });
  const output: object[] = [];
  const item = function* (done: object): Generator<string> {
    yield say('response.output_item.done', { output_index: output.push(done) - 1, item: done });
  };
  if (thought !== undefined) {
    const summary = [{ type: 'summary_text', text: thought }];
    yield say('response.reasoning_summary_text.delta', { item_id: 'rs_1', output_index: 0, delta: thought });
    yield* item({ id: 'rs_1', type: 'reasoning', summary, encrypted_content: 'sealed' });
  }
  for (const delta of text)
    yield say('response.output_text.delta', {
      item_id: 'msg_1',
      output_index: output.length,
      content_index: 0,
      delta,
    });
  if (typeof after === 'string') return;
  if (after !== undefined) {
    const error = { code: 'server_error', message: after.error };
    yield say('response.failed', { response: { ...response, status: 'failed', error } });
    return;
  }
  if (text.length > 0) {
    const content = [{ type: 'output_text', text: text.join(''), annotations: [] }];
    yield* item({ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content });
  }
  for (const { id, name, args } of calls) {
    yield say('response.function_call_arguments.delta', {
      item_id: id,
      output_index: output.length,
      delta: args,
    });
    yield* item({
      id: `fc_${id}`,
      type: 'function_call',
      call_id: id,
      name,
      arguments: args,
      status: 'completed',
    });
  }
  const usage = {
    input_tokens: 100,
    input_tokens_details: { cached_tokens: 90 },
    output_tokens: 7,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 107,
  };
  const status = stop === undefined ? 'completed' : 'incomplete';
  const incomplete_details = stop === undefined ? null : { reason: stop };
  yield say(`response.${status}`, { response: { ...response, status, incomplete_details, output, usage } });
}
