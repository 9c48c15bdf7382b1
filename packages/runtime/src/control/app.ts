/**
 * The HTTP face of a runtime: who may ask, what an error looks like, and the routes that only look on. Routes that use
 * servers stand in `server-routes.ts` and `offer-routes.ts`, those that never end in `stream-routes.ts`.
 */
import { BulkheadError, type ErrorCode, encodeError } from '@bulkhead/workers';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { RuntimeApi } from '../api.js';
import type { EventFeed } from './event-feed.js';
import { METRICS_TYPE, type MetricsSource } from './metrics-source.js';
import { offerRoutes } from './offer-routes.js';
import type { ControlOptions } from './options.js';
import { CONTROL_PROTOCOL, type ControlFailure, controlHeader, type Health, mismatch } from './protocol.js';
import { serverRoutes } from './server-routes.js';
import { statusReport } from './status-report.js';
import { streamRoutes } from './stream-routes.js';

/** A request may hold the arguments of one call; a server takes messages up to 64 MiB by default. */
const MAX_BODY_BYTES = 64 * 1024 * 1024;

export interface ControlContext {
  runtime: RuntimeApi;
  options: ControlOptions;
  feed: EventFeed;
  metrics: MetricsSource;
  health: () => Health;
}

export function controlApp(context: ControlContext): Hono {
  const { runtime, options, health } = context;
  const app = new Hono();
  const tooLarge = new BulkheadError('TOO_LARGE', `a request may hold at most ${MAX_BODY_BYTES} bytes`);
  app.use(
    bodyLimit({
      maxSize: MAX_BODY_BYTES,
      onError: () => {
        throw tooLarge;
      },
    }),
  );
  const { logger } = options;
  if (logger !== undefined) {
    app.use(async (c, next) => {
      const startedAt = performance.now();
      await next();
      const { method, path } = c.req;
      const tookMs = Math.round(performance.now() - startedAt);
      // The path without its query, which may hold what a resource is called.
      logger.debug({ event: 'request', method, path, status: c.res.status, tookMs }, 'control request');
    });
  }
  app.use(async (c, next) => {
    c.header(controlHeader.protocol, String(CONTROL_PROTOCOL));
    checkProtocol(c.req.header(controlHeader.protocol));
    await checkConfig(options, c.req.header(controlHeader.config), c.req.header(controlHeader.trust) === '1');
    await next();
  });
  app.onError((error, c) => {
    const wire = encodeError(error);
    c.header(controlHeader.protocol, String(CONTROL_PROTOCOL));
    return c.json({ error: wire } satisfies ControlFailure, statusOf(wire.code));
  });
  app.notFound((c) => {
    const error = new BulkheadError('BAD_INPUT', `there is no ${c.req.method} ${c.req.path} here`);
    return c.json({ error: encodeError(error) } satisfies ControlFailure, 404);
  });

  app.get('/v1/health', (c) => c.json(health()));
  app.get('/v1/status', async (c) => c.json(await statusReport(context, c.req.query('tools') === '1')));
  app.get('/v1/metrics', async (c) =>
    c.text(await context.metrics.text(), 200, { 'content-type': METRICS_TYPE }),
  );
  app.get('/v1/tools', (c) => {
    options.onActivity?.();
    const server = c.req.query('server');
    return c.json(server === undefined ? runtime.tools() : runtime.server(server).tools);
  });
  app.get('/v1/catalog', (c) => c.json(runtime.catalog()));
  app.post('/v1/reload', async (c) => {
    if (options.reload === undefined) throw unsupported('reload', 'its program decides about its servers');
    return c.json(await options.reload());
  });
  app.post('/v1/shutdown', (c) => {
    const { shutdown } = options;
    if (shutdown === undefined) throw unsupported('shutdown', 'end its program instead');
    // The answer leaves first.
    setImmediate(shutdown);
    return c.json({ pid: process.pid }, 202);
  });
  serverRoutes(app, context);
  offerRoutes(app, context);
  streamRoutes(app, context);
  return app;
}

function unsupported(what: string, next: string): BulkheadError {
  return new BulkheadError('UNSUPPORTED', `this runtime takes no ${what} over its control socket; ${next}`);
}

function checkProtocol(theirs: string | undefined): void {
  if (theirs === undefined || theirs === String(CONTROL_PROTOCOL)) return;
  throw new BulkheadError(
    'UNSUPPORTED',
    `this runtime speaks version ${CONTROL_PROTOCOL} of the control protocol, the caller version ${theirs}; start it again with the same version of bulkhead`,
    { data: { kind: mismatch.protocol, protocol: CONTROL_PROTOCOL } },
  );
}

/** A caller that would get other servers by itself must not get these. */
async function checkConfig(
  { name, config }: ControlOptions,
  wanted: string | undefined,
  trusting: boolean,
): Promise<void> {
  if (wanted === undefined) return;
  if (config !== undefined && config.mark() !== wanted) await config.recheck();
  const why =
    config?.mark() !== wanted
      ? 'runs another configuration, or got other values of its variables'
      : trusting && !config.trusted
        ? 'was started without --trust-project'
        : undefined;
  if (why === undefined) return;
  throw new BulkheadError('BAD_CONFIG', `resident "${name}" ${why}`, { data: { kind: mismatch.config } });
}

function statusOf(code: ErrorCode): ContentfulStatusCode {
  switch (code) {
    case 'BAD_INPUT':
    case 'INVALID_ARGUMENTS':
      return 400;
    case 'DENIED':
      return 403;
    case 'UNKNOWN_SERVER':
    case 'UNKNOWN_TOOL':
      return 404;
    case 'BAD_CONFIG':
      return 409;
    case 'TOO_LARGE':
      return 413;
    case 'MAILBOX_FULL':
      return 429;
    case 'CANCELLED':
      return 408;
    case 'UNSUPPORTED':
      return 501;
    case 'NOT_READY':
    case 'BREAKER_OPEN':
    case 'DRAINING':
    case 'CLOSED':
    case 'START_FAILED':
    case 'START_TIMEOUT':
      return 503;
    case 'TIMEOUT':
      return 504;
    case 'INTERNAL':
      return 500;
    case 'CONNECTION_LOST':
    case 'OUTCOME_UNKNOWN':
    case 'SUPERVISOR_LOST':
    case 'POISON_CALL':
    case 'PROTOCOL_ERROR':
      return 502;
  }
}
