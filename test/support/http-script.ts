/**
 * A scriptable MCP server over HTTP, in the test's own process: it records every request and behaves well except where
 * the test's rule takes over. Streamable HTTP with JSON answers and a session, no listening stream.
 */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach } from 'vitest';

export interface Message {
  jsonrpc: '2.0';
  id?: number | string;
  method?: string;
  params?: Record<string, unknown>;
}

export interface Received {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** What was POSTed; undefined when it was no JSON. */
  message: Message | undefined;
  at: number;
}

/** Writes an answer, or returns `false` to leave the request to the well-behaved server. */
export type Rule = (
  request: Received,
  response: ServerResponse,
  server: HttpScript,
) => boolean | undefined | Promise<boolean | undefined>;

export class HttpScript {
  readonly requests: Received[] = [];
  /** Sessions that it knows. */
  readonly sessions = new Set<string>();
  readonly #rule: Rule;
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((request, response) => {
    let body = '';
    request.on('data', (piece) => {
      body += piece;
    });
    request.on('error', () => {});
    response.on('error', () => {});
    request.on('end', () => {
      const received: Received = {
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        message: parsed(body),
        at: performance.now(),
      };
      this.requests.push(received);
      void this.#answer(received, response);
    });
  });

  constructor(rule: Rule) {
    this.#rule = rule;
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get url(): string {
    return `${this.origin}/mcp`;
  }

  /** Messages POSTed, by method. */
  posted(method: string): Received[] {
    return this.requests.filter(({ message }) => message?.method === method);
  }

  sent(httpMethod: string): Received[] {
    return this.requests.filter(({ method }) => method === httpMethod);
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: Received, response: ServerResponse): Promise<void> {
    if ((await this.#rule(request, response, this)) !== false) return;
    behave(request, response, this);
  }
}

/** Servers of the current test; they are closed after it. */
export function useHttp(): (rule?: Rule) => Promise<HttpScript> {
  const servers: HttpScript[] = [];
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.close();
  });
  return async (rule = () => false) => {
    const server = new HttpScript(rule);
    servers.push(server);
    await server.listen();
    return server;
  };
}

const tools = [{ name: 'echo', inputSchema: { type: 'object' } }];

/** The result that the well-behaved server gives. */
export function resultOf({ method, params }: Message): Record<string, unknown> {
  switch (method) {
    case 'initialize':
      return {
        protocolVersion: params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'http-script', version: '1' },
      };
    case 'tools/list':
      return { tools };
    case 'tools/call':
      return { content: [{ type: 'text', text: JSON.stringify(params?.arguments ?? {}) }] };
    default:
      return {};
  }
}

/** The JSON-RPC answer to a request. */
export function answerTo(message: Message, result = resultOf(message)): string {
  return JSON.stringify({ jsonrpc: '2.0', id: message.id, result });
}

export function json(response: ServerResponse, status: number, body: string, headers = {}): true {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
  return true;
}

/** Begins a stream of events; the rule writes on. */
export function sse(response: ServerResponse, headers = {}): ServerResponse {
  response.writeHead(200, { 'content-type': 'text/event-stream', ...headers });
  response.flushHeaders();
  return response;
}

export function event(data: string, id?: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`;
}

function behave(request: Received, response: ServerResponse, server: HttpScript): void {
  const { method, message, headers } = request;
  if (method === 'DELETE') {
    server.sessions.delete(String(headers['mcp-session-id']));
    response.writeHead(200).end();
    return;
  }
  if (method !== 'POST' || message === undefined) {
    response.writeHead(405).end();
    return;
  }
  if (message.method === 'initialize') {
    const session = `s${server.posted('initialize').length}`;
    server.sessions.add(session);
    json(response, 200, answerTo(message), { 'mcp-session-id': session });
    return;
  }
  if (!server.sessions.has(String(headers['mcp-session-id']))) {
    json(response, 404, '{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}');
    return;
  }
  if (message.id === undefined) response.writeHead(202).end();
  else json(response, 200, answerTo(message));
}

function parsed(text: string): Message | undefined {
  try {
    return JSON.parse(text) as Message;
  } catch {
    return undefined;
  }
}
