/** Routes whose answers go on for as long as somebody listens: events and logs. */
import type { Hono } from 'hono';
import { stream, streamSSE } from 'hono/streaming';
import type { ControlContext } from './app.js';
import { QUIET } from './event-feed.js';
import { tailLog } from './log-tail.js';
import { checked, logsQuery } from './requests.js';

/** A comment this often keeps the connection of a quiet stream from looking dead. */
const HEARTBEAT_MS = 15_000;
const RECENT = 256;

export function streamRoutes(app: Hono, { runtime, feed }: ControlContext): void {
  // `recent=N` of the latest events come first (default 0); `follow=0` ends after them.
  app.get('/v1/events', (c) => {
    const asked = Number(c.req.query('recent') ?? 0);
    const recent = Number.isFinite(asked) ? Math.min(Math.max(0, Math.floor(asked)), RECENT) : 0;
    const client = feed.open(recent);
    if (c.req.query('follow') === '0') client.close();
    return streamSSE(c, async (sse) => {
      sse.onAbort(() => client.close());
      try {
        await sse.write(': here\n\n');
        for (;;) {
          const event = await client.next(HEARTBEAT_MS);
          if (event === undefined || sse.aborted) return;
          if (event === QUIET) await sse.write(': quiet\n\n');
          else await sse.writeSSE({ event: event.event, data: JSON.stringify(event) });
        }
      } finally {
        client.close();
      }
    });
  });

  app.get('/v1/logs/:server', async (c) => {
    const { lines, follow } = checked(logsQuery, c.req.query());
    const { name } = runtime.server(c.req.param('server'));
    const { servers } = await runtime.status();
    const path = servers.find((server) => server.name === name)?.logFile;
    const end = new AbortController();
    // What never ends by itself ends with the runtime.
    const watch = feed.open(0);
    c.header('content-type', 'text/plain; charset=utf-8');
    return stream(c, async (out) => {
      out.onAbort(() => end.abort());
      void untilClosed(watch).then(() => end.abort());
      try {
        if (path === undefined) return;
        const options = { lines, follow: follow === '1', signal: end.signal };
        for await (const bytes of tailLog(path, options)) await out.write(bytes);
      } finally {
        watch.close();
      }
    });
  });
}

async function untilClosed(client: ReturnType<ControlContext['feed']['open']>): Promise<void> {
  while ((await client.next(HEARTBEAT_MS)) !== undefined);
}
