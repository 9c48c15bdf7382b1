/** Entry of the supervisor thread. */
import { workerData } from 'node:worker_threads';
import { serveControl } from '../control.js';
import type { SupervisorInit } from '../protocol.js';
import { Supervisor } from './supervisor.js';

const init = workerData as SupervisorInit;
serveControl(new Supervisor(init, new URL('./server.js', import.meta.url)), init.control);
