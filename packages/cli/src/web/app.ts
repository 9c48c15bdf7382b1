/**
 * The routes of the web page, and what stands before them: the name of the host, the session, and for changes the proof
 * that the page itself asks. Everything is answered from the files of this package and from the control socket.
 */

import { isUnsent, type ServerCommand } from '@bulkhead/runtime/control/client';
import { BulkheadError } from '@bulkhead/workers/errors';
import type { HttpBindings } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { getCookie, setCookie } from 'hono/cookie';
import { secureHeaders } from 'hono/secure-headers';
import { stream, streamSSE } from 'hono/streaming';
import type { Access } from './access.js';
import { type Assets, doorway, notice } from './assets.js';
import type { LiveWatch } from './live-watch.js';
import { isForeign } from './peer-user.js';

type Bindings = { Bindings: HttpBindings };

/** What the page's buttons ask for; whatever else there is stays with the command line. */
const offered: ReadonlySet<string> = new Set<ServerCommand>(['start', 'stop', 'restart']);
const HEARTBEAT_MS = 15_000;
const LOG_LINES = 300;
/** Requests of the page have no body worth mentioning. */
const MAX_BODY_BYTES = 1_024;

export interface WebContext {
  access: Access;
  assets: Assets;
  watch: LiveWatch;
}

export function webApp({ access, assets, watch }: WebContext): Hono<Bindings> {
  const app = new Hono<Bindings>();
  app.use(
    secureHeaders({
      contentSecurityPolicy: {
        defaultSrc: ["'none'"],
        scriptSrc: ["'self'"],
        styleSrc: ["'self'"],
        imgSrc: ["'self'"],
        connectSrc: ["'self'"],
        baseUri: ["'none'"],
        formAction: ["'none'"],
        frameAncestors: ["'none'"],
      },
      referrerPolicy: 'no-referrer',
      xFrameOptions: 'DENY',
      // There is no certificate for a port of this machine.
      strictTransportSecurity: false,
    }),
    bodyLimit({ maxSize: MAX_BODY_BYTES }),
    async (c, next) => {
      c.header('cache-control', 'no-store');
      if (!access.isOwnHost(c.req.header('host'))) return c.text('This is no name of this page.\n', 421);
      return next();
    },
  );
  app.onError((error, c) => {
    const known = error instanceof BulkheadError;
    const body = { code: known ? error.code : 'INTERNAL', message: error.message };
    return c.json({ error: body }, isUnsent(error) ? 503 : known ? 409 : 500);
  });

  app.get('/assets/:name', (c) => {
    const asset = assets.files.get(c.req.param('name'));
    return asset === undefined ? c.notFound() : c.body(asset.text, 200, { 'content-type': asset.type });
  });
  app.get('/', (c) => {
    const token = c.req.query('token');
    if (isIn(c, access)) return token === undefined ? c.html(page(assets, access)) : c.html(doorway());
    return token === undefined
      ? refuse(c, 'It is opened by the address that bulkhead web prints.')
      : enter(c);
  });

  function enter(c: Context<Bindings>) {
    if (isForeign(c.env.incoming.socket)) {
      return refuse(c, 'It belongs to another user of this machine.');
    }
    if (!access.redeem(c.req.query('token') ?? '')) {
      return refuse(c, 'This address was used already, or is wrong. Run bulkhead web again for a new one.');
    }
    setCookie(c, access.cookie, access.session, { httpOnly: true, sameSite: 'Strict', path: '/' });
    return c.html(doorway());
  }

  app.use(async (c, next) => {
    if (!isIn(c, access)) return refuse(c, 'Its session has ended. Run bulkhead web again.');
    return next();
  });
  app.get('/live', (c) => {
    const viewer = watch.enter();
    return streamSSE(c, async (sse) => {
      sse.onAbort(() => watch.leave(viewer));
      try {
        for (;;) {
          const news = await viewer.next(HEARTBEAT_MS);
          if (news === undefined || sse.aborted) return;
          if (news === 'quiet') await sse.write(': quiet\n\n');
          else await sse.writeSSE({ event: news.event, data: JSON.stringify(news.data) });
        }
      } finally {
        watch.leave(viewer);
      }
    });
  });
  app.get('/logs/:server', (c) => {
    const end = new AbortController();
    c.header('content-type', 'text/plain; charset=utf-8');
    return stream(c, async (out) => {
      out.onAbort(() => end.abort());
      const tail = watch.client(end.signal).logs(c.req.param('server'), { lines: LOG_LINES, follow: true });
      try {
        for await (const bytes of tail) await out.write(bytes);
      } catch (error) {
        if (!end.signal.aborted) await out.write(`${(error as Error).message}\n`);
      } finally {
        end.abort();
      }
    });
  });
  app.post('/servers/:name/:command', async (c) => {
    const { host, origin, 'bulkhead-csrf': csrf } = c.req.header();
    if (!access.isOwnChange({ host, origin, csrf })) {
      return c.json({ error: { code: 'DENIED', message: 'only the page itself may ask for changes' } }, 403);
    }
    const command = c.req.param('command');
    if (!isOffered(command)) return c.notFound();
    try {
      return c.json(await watch.client().command(c.req.param('name'), command));
    } finally {
      watch.hurry();
    }
  });
  return app;
}

function isIn(c: Context<Bindings>, access: Access): boolean {
  return access.isSession(getCookie(c, access.cookie));
}

function page({ page: html }: Assets, { csrf }: Access): string {
  return html.replace('%CSRF%', csrf);
}

function refuse(c: Context<Bindings>, sentence: string) {
  return c.html(notice('This page is closed', sentence), 403);
}

function isOffered(command: string): command is ServerCommand {
  return offered.has(command);
}
