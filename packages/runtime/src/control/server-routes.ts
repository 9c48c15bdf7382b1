/** Routes that use servers: finding a tool, calling it, waiting for servers, and commands about them. */
import { BulkheadError, memberSpans } from '@bulkhead/workers';
import type { Context, Hono } from 'hono';
import type { CallOptions, CatalogTool, RawArguments, RuntimeApi, ServerView } from '../api.js';
import { rawArguments } from '../call.js';
import type { ControlContext } from './app.js';
import {
  type CallAnswer,
  type CommandAnswer,
  type FoundTool,
  type ServerCommand,
  serverCommands,
} from './protocol.js';
import { callRequest, checked, drainRequest, findRequest, parsedBody, readyRequest } from './requests.js';
import { validate } from './validate.js';

export function serverRoutes(app: Hono, { runtime, options }: ControlContext): void {
  const active = () => options.onActivity?.();

  app.post('/v1/ready', async (c) => {
    active();
    const { servers, timeoutMs } = checked(readyRequest, parsedBody(await c.req.text()));
    const wait = {
      ...(servers === undefined ? {} : { servers }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    };
    return c.json(await runtime.ready(wait));
  });

  app.post('/v1/find', async (c) => {
    active();
    const { target, timeoutMs } = checked(findRequest, parsedBody(await c.req.text()));
    return c.json({
      ...(await find(runtime, target, timeoutMs)),
      findings: options.findings?.() ?? [],
    } satisfies FoundTool);
  });

  app.post('/v1/call', async (c) => {
    active();
    try {
      return await call(c, runtime);
    } finally {
      active();
    }
  });

  app.post('/v1/servers/:name/:command', async (c) => {
    active();
    const command = serverCommands.find((one) => one === c.req.param('command'));
    if (command === undefined) return c.notFound();
    const server = runtime.server(c.req.param('name'));
    await obey(server, command, await c.req.text());
    const { name, state, reason } = server;
    return c.json({
      server: name,
      state,
      ...(reason === undefined ? {} : { reason }),
    } satisfies CommandAnswer);
  });
}

async function obey(server: ServerView, command: ServerCommand, body: string): Promise<void> {
  if (command !== 'drain') return server[command]();
  const { timeoutMs } = checked(drainRequest, parsedBody(body));
  return server.drain(timeoutMs === undefined ? {} : { timeoutMs });
}

/** @throws {BulkheadError} `UNKNOWN_SERVER`, `UNKNOWN_TOOL`, `NOT_READY`, `DENIED`. */
async function find(
  runtime: RuntimeApi,
  target: string,
  timeoutMs: number | undefined,
): Promise<Omit<FoundTool, 'findings'>> {
  const [server] = runtime
    .servers()
    .filter(({ name }) => target.startsWith(`${name}.`) && target.length > name.length + 1)
    .sort((a, b) => b.name.length - a.name.length);
  const matches = ({ fullName, server: owner, name }: CatalogTool) =>
    server === undefined
      ? fullName === target
      : owner === server.name && name === target.slice(server.name.length + 1);
  let tool = runtime.tools().find(matches);
  const owners =
    server !== undefined
      ? [server]
      : tool !== undefined
        ? [runtime.server(tool.server)]
        : bearers(runtime.servers(), target);
  const late = owners.filter(({ state }) => state !== 'ready').map(({ name }) => name);
  if (late.length > 0) {
    await runtime.ready({ servers: late, ...(timeoutMs === undefined ? {} : { timeoutMs }) });
    tool = runtime.tools().find(matches);
  }
  // One list of tools outlives its session: a tool of a server that is down is known and cannot be called.
  const down = owners.find(
    ({ name, state }) => state !== 'ready' && (owners.length === 1 || tool?.server === name),
  );
  if (down !== undefined) throw notReady(down);
  if (tool === undefined) throw unknown(runtime, target, server);
  const { server: name, name: toolName, fullName, inputSchema } = tool;
  return { server: name, name: toolName, fullName, inputSchema };
}

/** Servers that may have a tool of that full name; altered names fit no server by their text, then every one may. */
function bearers(servers: readonly ServerView[], target: string): readonly ServerView[] {
  if (!target.startsWith('mcp__')) return [];
  const fitting = servers.filter(({ name }) => target.startsWith(`mcp__${name}__`));
  return fitting.length > 0 ? fitting : servers;
}

async function call(c: Context, runtime: RuntimeApi): Promise<Response> {
  const text = await c.req.text();
  const { server, tool, fullName, timeoutMs, maxMs, idempotent, ...rest } = checked(
    callRequest,
    parsedBody(text),
  );
  const span = memberSpans(text).get('args');
  const args = span === undefined ? '{}' : text.slice(span.start, span.end).replace(/[\r\n]/g, ' ');
  const found = runtime
    .tools()
    .find((one) =>
      fullName === undefined ? one.server === server && one.name === tool : one.fullName === fullName,
    );
  let unchecked: string | undefined;
  if (rest.validate === true && found !== undefined) unchecked = await checkArguments(args, found);
  const callOptions: CallOptions = {
    signal: c.req.raw.signal,
    route: 'control',
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(maxMs === undefined ? {} : { maxMs }),
    ...(idempotent === undefined ? {} : { idempotent }),
  };
  const result = await send(runtime, { server, tool, fullName }, rawArguments(args), callOptions);
  const { outcome, attempts, timing, warnings } = result;
  const head: CallAnswer = {
    outcome,
    attempts,
    timing,
    warnings: [...warnings],
    ...(unchecked === undefined ? {} : { unchecked }),
  };
  const body = Buffer.concat([
    Buffer.from(`${JSON.stringify(head).slice(0, -1)},"result":`),
    await result.rawBytes(),
    Buffer.from('}'),
  ]);
  return c.body(body, 200, { 'content-type': 'application/json' });
}

function send(
  runtime: RuntimeApi,
  {
    server,
    tool,
    fullName,
  }: { server: string | undefined; tool: string | undefined; fullName: string | undefined },
  args: RawArguments,
  options: CallOptions,
) {
  if (server !== undefined && tool !== undefined) return runtime.server(server).callTool(tool, args, options);
  return runtime.callTool(fullName ?? '', args, options);
}

/** @throws {BulkheadError} `INVALID_ARGUMENTS` with `data.problems`. */
async function checkArguments(
  args: string,
  { server, name, inputSchema }: CatalogTool,
): Promise<string | undefined> {
  const verdict = await validate(JSON.parse(args), inputSchema);
  if (verdict.is === 'valid') return undefined;
  if (verdict.is === 'skipped') return verdict.why;
  const { problems } = verdict;
  throw new BulkheadError(
    'INVALID_ARGUMENTS',
    `arguments do not fit the input schema of "${name}": ${problems.join('; ')}`,
    { server, tool: name, data: { problems } },
  );
}

function notReady({ name, state, reason }: ServerView): BulkheadError {
  const code = state === 'needs-auth' || state === 'needs-approval' ? 'DENIED' : 'NOT_READY';
  const why = reason?.message ?? `it is ${state}`;
  return new BulkheadError(code, `server "${name}" is not ready: ${why}`, { server: name });
}

function unknown(runtime: RuntimeApi, target: string, server: ServerView | undefined): BulkheadError {
  if (server !== undefined) {
    const tool = target.slice(server.name.length + 1);
    const known = server.tools.map(({ name }) => name).join(', ') || 'none';
    return new BulkheadError(
      'UNKNOWN_TOOL',
      `server "${server.name}" has no tool "${tool}"; it has: ${known}`,
      {
        server: server.name,
        tool,
      },
    );
  }
  if (target.startsWith('mcp__'))
    return new BulkheadError('UNKNOWN_TOOL', `no server has a tool "${target}"`, { tool: target });
  const known =
    runtime
      .servers()
      .map(({ name }) => name)
      .join(', ') || 'none';
  return new BulkheadError(
    'UNKNOWN_SERVER',
    `"${target}" names no server that runs here; there are: ${known}`,
  );
}
