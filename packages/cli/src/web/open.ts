/** Opens the web page of a runtime on a loopback port, and closes it with every connection. */
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ControlEntry } from '@bulkhead/runtime/control/client';
import { BulkheadError } from '@bulkhead/workers/errors';
import { createAdaptorServer, type HttpBindings } from '@hono/node-server';
import { Access } from './access.js';
import { webApp } from './app.js';
import { readAssets } from './assets.js';
import { LiveWatch } from './live-watch.js';

const LOOPBACK = '127.0.0.1';
/** How long answers under way may take once the page closes, and how often is looked whether they have left. */
const CLOSE_MS = 500;
const LOOK_MS = 20;

export interface WebPage {
  /** With the token that opens it once. */
  url: string;
  port: number;
  close(): Promise<void>;
}

/**
 * @param entry of the runtime that is looked at.
 * @param port 0 for a free one.
 * @throws {BulkheadError} `BAD_INPUT` when the port cannot be had.
 */
export async function openWeb(entry: ControlEntry, port: number): Promise<WebPage> {
  const assets = await readAssets();
  let app: ReturnType<typeof webApp> | undefined;
  const server = createAdaptorServer({
    fetch: (request, env) => app?.fetch(request, env as HttpBindings) ?? new Response(null, { status: 503 }),
  }) as Server;
  // Cookie and host name say the port, which is known once the server listens.
  const bound = await listening(server, port);
  const access = new Access(bound);
  const watch = new LiveWatch(entry);
  app = webApp({ access, assets, watch });
  return {
    url: `http://${LOOPBACK}:${bound}/?token=${access.token}`,
    port: bound,
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await watch.stop();
      // Streams have ended now; what they still had to say may leave first.
      const idle = setInterval(() => server.closeIdleConnections(), LOOK_MS);
      const late = setTimeout(() => server.closeAllConnections(), CLOSE_MS);
      await closed;
      clearInterval(idle);
      clearTimeout(late);
    },
  };
}

function listening(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        new BulkheadError(
          'BAD_INPUT',
          `--port: ${port} of ${LOOPBACK} cannot be had (${error.code}); choose another, or leave it out for a free one`,
          { cause: error },
        ),
      ),
    );
    server.listen(port, LOOPBACK, () => resolve((server.address() as AddressInfo).port));
  });
}
