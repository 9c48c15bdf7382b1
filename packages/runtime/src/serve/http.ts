/**
 * A runtime as an MCP server over Streamable HTTP on the loopback interface: who may ask, and one session for each
 * client. Loopback is open to every user and every page of a browser on the machine, hence the token and the look at
 * `Host` and `Origin`.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import type { Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BulkheadError } from '@bulkhead/workers';
import { createAdaptorServer } from '@hono/node-server';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { type Context, Hono } from 'hono';
import { bearerAuth } from 'hono/bearer-auth';
import { bodyLimit } from 'hono/body-limit';
import type { RuntimeApi } from '../api.js';
import { Front, type ServeOptions } from './front.js';
import { HttpFace } from './http-face.js';

const HOST = '127.0.0.1';
const PATH = '/mcp';
const MAX_BODY_BYTES = 64 * 1024 * 1024;
/** Clients that never say goodbye: past this many sessions the one that was silent longest ends. */
const MAX_SESSIONS = 256;
const TOKEN_BYTES = 32;

/** The same over HTTP on the loopback interface. */
export interface ServeHttpOptions extends ServeOptions {
  /** Port on the loopback interface. Default 0: any free one. */
  port?: number;
  /** What clients send as `Authorization: Bearer …`. Default: a fresh random one. */
  token?: string;
}

/** A server that listens. */
export interface HttpService {
  /** `http://127.0.0.1:<port>/mcp`. */
  readonly url: string;
  readonly token: string;
  /** Ends all sessions and stops listening. */
  close(): Promise<void>;
}

/**
 * @throws {BulkheadError} `BAD_INPUT` when the port is taken or may not be used.
 */
export async function serveHttp(runtime: RuntimeApi, options: ServeHttpOptions): Promise<HttpService> {
  const front = new Front(runtime, options);
  const token = options.token ?? randomBytes(TOKEN_BYTES).toString('base64url');
  const faces = new Map<string, HttpFace>();
  const app = new Hono();
  app.use(async (c, next) => {
    if (!isLoopback(`http://${c.req.header('host') ?? ''}`))
      return refusal(c, 403, 'the Host is not this one');
    const origin = c.req.header('origin');
    if (origin !== undefined && !isLoopback(origin)) return refusal(c, 403, 'the Origin is not allowed');
    await next();
  });
  app.use(bearerAuth({ token }));
  app.use(bodyLimit({ maxSize: MAX_BODY_BYTES }));
  app.all(PATH, async (c) => {
    const id = c.req.header('mcp-session-id');
    if (id === undefined) return begin(c, front, faces);
    const face = faces.get(id);
    if (face === undefined) return refusal(c, 404, 'Session not found');
    // Order of use, for the day when there are too many.
    faces.delete(id);
    faces.set(id, face);
    return face.handle(c.req.raw);
  });

  const server = createAdaptorServer({ fetch: app.fetch }) as HttpServer;
  try {
    await listen(server, options.port ?? 0);
  } catch (cause) {
    await front.close();
    const message = `port ${options.port ?? 0} of ${HOST} cannot be used: ${(cause as Error).message}`;
    throw new BulkheadError('BAD_INPUT', message, { cause });
  }
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${HOST}:${port}${PATH}`,
    token,
    async close() {
      const ended = new Promise<void>((resolve) => server.close(() => resolve()));
      await front.close();
      server.closeAllConnections();
      await ended;
    },
  };
}

async function begin(c: Context, front: Front, faces: Map<string, HttpFace>): Promise<Response> {
  if (c.req.method !== 'POST') return refusal(c, 400, 'Mcp-Session-Id is missing');
  const session = front.open();
  const face = new HttpFace({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => {
      faces.set(id, face);
      const [oldest] = faces.values();
      if (faces.size > MAX_SESSIONS) void oldest?.close();
    },
  });
  // The SDK declares optional callbacks in two ways.
  await session.server.connect(face as Transport);
  const forget = face.onclose;
  face.onclose = () => {
    if (face.sessionId !== undefined) faces.delete(face.sessionId);
    forget?.();
  };
  const response = await face.handle(c.req.raw);
  // It was no handshake, and the answer says so.
  if (face.sessionId === undefined) await face.close();
  return response;
}

function refusal(c: Context, status: 400 | 403 | 404, message: string): Response {
  const code = status === 404 ? -32001 : -32000;
  return c.json({ jsonrpc: '2.0', error: { code, message }, id: null }, status);
}

function isLoopback(origin: string): boolean {
  return URL.canParse(origin) && ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(origin).hostname);
}

function listen(server: HttpServer, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, HOST, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
