/**
 * Metrics for a Prometheus that cannot read a unix socket: a port on the loopback interface with `/metrics` and
 * `/healthz`, and nothing else. It takes no command and tells no tool, no argument and no path.
 */
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BulkheadError } from '@bulkhead/workers';
import { createAdaptorServer } from '@hono/node-server';
import { Hono } from 'hono';
import type { RuntimeApi, RuntimeEvents } from '../api.js';
import { METRICS_TYPE, MetricsSource } from './metrics-source.js';

export interface MetricsOptions {
  /** 0: any free one. */
  port: number;
  /** Loopback only. Default `127.0.0.1`. */
  host?: '127.0.0.1' | '::1' | 'localhost';
}

export interface MetricsPort {
  /** `http://127.0.0.1:<port>/metrics`. */
  readonly url: string;
  /** Idempotent; happens by itself when the runtime closes. */
  close(): Promise<void>;
}

const HOSTS = ['127.0.0.1', '::1', 'localhost'] as const;
const MAX_PORT = 65_535;

/**
 * Opens a port with the metrics of a runtime of this thread.
 * @throws {BulkheadError} `BAD_INPUT` for an address that is not of the loopback interface, or a port that cannot be had.
 */
export async function openMetrics(runtime: RuntimeApi, options: MetricsOptions): Promise<MetricsPort> {
  const { port, host = '127.0.0.1' } = options;
  if (!HOSTS.includes(host)) {
    throw new BulkheadError(
      'BAD_INPUT',
      `metrics are for this machine: expected ${HOSTS.join(', ')}, got "${host}"`,
    );
  }
  if (!Number.isInteger(port) || port < 0 || port > MAX_PORT) {
    throw new BulkheadError('BAD_INPUT', `expected a port from 0 to ${MAX_PORT} for metrics, got ${port}`);
  }
  const source = new MetricsSource(runtime);
  const server = createAdaptorServer({ fetch: metricsApp(source, runtime).fetch }) as Server;
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, () => {
        server.off('error', reject);
        resolve();
      });
    });
  } catch (cause) {
    const message = `port ${port} of ${host} cannot be used for metrics: ${(cause as Error).message}`;
    throw new BulkheadError('BAD_INPUT', message, { cause });
  }
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= new Promise((resolve) => {
      runtime.off('state', onState);
      source.stop();
      server.close(() => resolve());
      server.closeAllConnections();
    });
    return closing;
  };
  // The last event of a runtime names no server.
  const onState = ({ server: of, reason }: RuntimeEvents['state'][0]) => {
    if (of === '' && reason?.kind === 'closed') void close();
  };
  runtime.on('state', onState);
  // Being scraped is no reason to live.
  server.unref();
  const { port: taken } = server.address() as AddressInfo;
  return { url: `http://${host === '::1' ? '[::1]' : host}:${taken}/metrics`, close };
}

function metricsApp(source: MetricsSource, runtime: RuntimeApi): Hono {
  const app = new Hono();
  // A page of a foreign site can point its own name at this port; then the name is not one of this machine's.
  app.use(async (c, next) => {
    if (!isLoopback(c.req.header('host'))) return c.text('the Host is not this machine\n', 403);
    await next();
  });
  app.get('/metrics', async (c) => c.text(await source.text(), 200, { 'content-type': METRICS_TYPE }));
  app.get('/healthz', (c) => {
    const servers = runtime.servers().filter(({ state }) => state !== 'disabled');
    const ready = servers.filter(({ state }) => state === 'ready').length;
    return c.json({ ready, total: servers.length });
  });
  app.notFound((c) => c.text('here are /metrics and /healthz\n', 404));
  app.onError((_error, c) => c.text('the runtime does not answer\n', 503));
  return app;
}

function isLoopback(host: string | undefined): boolean {
  const origin = `http://${host ?? ''}`;
  return URL.canParse(origin) && ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(origin).hostname);
}
