/**
 * The hand-over of a process's stdio to this thread: a unix socket that listens for exactly one connection.
 * The supervisor connects and gives its end to the child, so this thread holds the only other end: when the thread
 * is killed the kernel closes the socket, and the server sees EOF.
 */
import { unlinkSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';

/** Bytes buffered per direction before back-pressure: large enough that a batch of frames is one write. */
const HIGH_WATER_BYTES = 256 * 1024;

/** Resolves when listening; `connected` then gives the one accepted socket. */
export function listenOnce(path: string): Promise<{ connected: Promise<Socket> }> {
  return new Promise((resolve, reject) => {
    const server = createServer({
      allowHalfOpen: true,
      highWaterMark: HIGH_WATER_BYTES,
      pauseOnConnect: true,
    });
    const connected = new Promise<Socket>((accept) => {
      server.once('connection', (socket) => {
        server.close();
        try {
          unlinkSync(path);
        } catch {
          // libuv unlinks it on close as well
        }
        accept(socket);
      });
    });
    server.once('error', reject);
    server.listen(path, () => resolve({ connected }));
  });
}
