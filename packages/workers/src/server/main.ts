/**
 * Entry of a server thread. Beside the thread itself only two things happen here: the heartbeat on the board, and
 * the promise that an unexpected error is a reported death of this thread, never of the host.
 */
import { workerData } from 'node:worker_threads';
import { Board } from '../board.js';
import { serveControl } from '../control.js';
import type { ServerNotice, ServerThreadInit } from '../protocol.js';
import { ServerThread } from './server-thread.js';

const init = workerData as ServerThreadInit;
const board = Board.attach(init.board);
setInterval(() => board.add(init.slot, 'heartbeat'), init.heartbeatMs);

serveControl(new ServerThread(init), init.control);
init.notices.postMessage({ type: 'online' } satisfies ServerNotice);
