/**
 * Entry of the supervisor thread. A bug in it must not leave its children behind: they are killed and reaped here,
 * because a child whose spawning thread is gone stays a zombie until the host exits.
 */
import { workerData } from 'node:worker_threads';
import { serveControl } from '../control.js';
import type { SupervisorInit } from '../protocol.js';
import { Supervisor } from './supervisor.js';

const init = workerData as SupervisorInit;
const supervisor = new Supervisor(init, new URL('./server.js', import.meta.url));
serveControl(supervisor, init.control);

process.on('uncaughtException', (error) => {
  supervisor.crashed(error);
  void supervisor.shutdown(0).finally(() => process.exit(1));
});
