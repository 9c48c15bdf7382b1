/**
 * Entry of a server thread. It loads the code, waits to be told its server, and then only two things happen here beside
 * the thread itself: the heartbeat on the board, and the promise that an unexpected error is a reported death of this
 * thread, never of the host.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { Board } from '../board.js';
import { serveControl } from '../control.js';
import { everyBeat } from '../heartbeat.js';
import type { ServerNotice, ServerThreadBoot, ServerThreadInit } from '../protocol.js';
import { ServerThread } from './server-thread.js';

const { notices, control, warm } = workerData as ServerThreadBoot;

parentPort?.once('message', (init: ServerThreadInit) => {
  const board = Board.attach(init.board);
  everyBeat(init.heartbeatMs, (lateMicros) => {
    board.add(init.slot, 'heartbeat');
    board.set(init.slot, 'loopDelay', lateMicros);
  });
  serveControl(new ServerThread(init, notices), control);
});
if (warm) await import('./session-legacy.js');
notices.postMessage({ type: 'online' } satisfies ServerNotice);
