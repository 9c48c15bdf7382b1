/**
 * Opens the control socket of a runtime: the name is taken, the entry written, and both are gone again when the runtime
 * closes. Loaded only by programs that want one.
 */
import { rmSync } from 'node:fs';
import type { Server } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { createAdaptorServer } from '@hono/node-server';
import type { RuntimeApi, RuntimeEvents } from '../api.js';
import { controlApp } from './app.js';
import { claim, isOwn } from './claim.js';
import { checkName } from './control-places.js';
import { readEntry, removeEntry, writeEntry } from './entries.js';
import { EventFeed } from './event-feed.js';
import { MetricsSource } from './metrics-source.js';
import type { ControlOptions, ControlSocket } from './options.js';
import { factsOf } from './owner.js';
import { CONTROL_PROTOCOL, type Health } from './protocol.js';

/** How long answers under way may take once the socket closes. */
const CLOSE_MS = 1_000;

/**
 * Opens a control socket on a runtime of this thread.
 * @throws {BulkheadError} `BAD_INPUT` when the name is none, or taken by a living runtime (`data.kind` `name-taken`);
 * `DENIED` when the directory of sockets is not this user's.
 */
export async function openControl(runtime: RuntimeApi, options: ControlOptions): Promise<ControlSocket> {
  const name = checkName(options.name);
  const startedAt = new Date();
  const feed = new EventFeed(runtime);
  const metrics = new MetricsSource(runtime);
  const health = (): Health => {
    const servers = runtime.servers().filter(({ state }) => state !== 'disabled');
    return {
      name,
      pid: process.pid,
      protocol: CONTROL_PROTOCOL,
      ...(options.project === undefined ? {} : { project: options.project }),
      startedAt: startedAt.toISOString(),
      uptimeMs: Date.now() - startedAt.getTime(),
      ready: servers.filter(({ state }) => state === 'ready').length,
      total: servers.length,
    };
  };
  const app = controlApp({ runtime, options, feed, health, metrics });
  const server = createAdaptorServer({ fetch: app.fetch }) as Server;
  let path: string;
  try {
    path = await claim(name, server);
  } catch (error) {
    feed.stop();
    throw error;
  }
  const { ino } = factsOf(path);
  writeEntry({
    name,
    pid: process.pid,
    protocol: CONTROL_PROTOCOL,
    socket: path,
    startedAt: startedAt.toISOString(),
    ...(options.project === undefined ? {} : { project: options.project }),
    ...(options.files === undefined || options.files.length === 0 ? {} : { files: [...options.files] }),
  });

  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= (async () => {
      runtime.off('state', onState);
      leave(name, path, ino);
      feed.stop();
      metrics.stop();
      await closed(server);
    })();
    return closing;
  };
  // The last event of a runtime names no server.
  const onState = ({ server: of, reason }: RuntimeEvents['state'][0]) => {
    if (of === '' && reason?.kind === 'closed') void close();
  };
  runtime.on('state', onState);
  return { name, path, close };
}

/** Takes away what is this runtime's own; a directory that was tampered with is left as it is. */
function leave(name: string, path: string, inode: bigint): void {
  try {
    if (readEntry(name)?.pid === process.pid) removeEntry(name);
    if (isOwn(path, inode)) rmSync(path, { force: true });
  } catch {
    // nothing that an end should fail for
  }
}

async function closed(server: Server): Promise<void> {
  const abort = new AbortController();
  const end = new Promise<void>((resolve) => server.close(() => resolve()));
  const late = wait(CLOSE_MS, undefined, { signal: abort.signal }).then(
    () => server.closeAllConnections(),
    () => {},
  );
  await end;
  abort.abort();
  await late;
}
