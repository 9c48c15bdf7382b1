/**
 * The small web server on 127.0.0.1 that a browser is sent back to. It takes one answer that carries the right state,
 * shows a page, and is gone; without an answer it is gone after five minutes.
 */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface RedirectAnswer {
  code: string;
  /** RFC 9207: who says to have sent this. */
  iss?: string;
}

export interface RedirectListener {
  readonly redirectUri: string;
  /** Settles once. Rejects on an error from the authorization server, after `timeoutMs`, or on `close()`. */
  readonly answer: Promise<RedirectAnswer>;
  close(): Promise<void>;
}

const PATH = '/callback';

/** @param ports Tried in this order; 0 means any free port. @throws {Error} when none can be had. */
export async function listenForRedirect(
  state: string,
  ports: readonly number[],
  timeoutMs: number,
): Promise<RedirectListener> {
  const { promise: answer, resolve, reject } = withResolvers<RedirectAnswer>();
  // Whoever waits sees the rejection; a listener closed before anybody waits must not end the thread.
  answer.catch(() => {});
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    if (request.method !== 'GET' || url.pathname !== PATH) return page(response, 404, 'Nothing here.');
    const query = url.searchParams;
    // A page of somebody else may call this port; only the right state is an answer.
    if (query.get('state') !== state) return page(response, 400, 'This is not the sign-in that was started.');
    const error = query.get('error');
    const code = query.get('code');
    if (error !== null || code === null) {
      const detail = query.get('error_description') ?? '';
      reject(new Error(`the sign-in was refused: ${error ?? 'no code came back'} ${detail}`.trim()));
      page(response, 400, 'The sign-in was refused. You can close this window.');
    } else {
      const iss = query.get('iss');
      resolve(iss === null ? { code } : { code, iss });
      page(response, 200, 'Signed in. You can close this window.');
    }
    void close();
  });
  const timer = setTimeout(() => {
    reject(new Error(`nobody signed in within ${Math.round(timeoutMs / 1000)} seconds`));
    void close();
  }, timeoutMs);
  const close = (): Promise<void> => {
    clearTimeout(timer);
    reject(new Error('the sign-in was called off'));
    return new Promise((done) => {
      server.close(() => done());
      server.closeIdleConnections();
    });
  };
  try {
    await listen(server, ports);
  } catch (error) {
    clearTimeout(timer);
    throw error;
  }
  const { port } = server.address() as AddressInfo;
  return { redirectUri: `http://127.0.0.1:${port}${PATH}`, answer, close };
}

async function listen(server: Server, ports: readonly number[]): Promise<void> {
  let last: unknown = new Error('no port was given');
  for (const port of ports) {
    try {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, '127.0.0.1', () => {
          server.off('error', reject);
          resolve();
        });
      });
      return;
    } catch (error) {
      last = error;
    }
  }
  throw last;
}

function page(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' }).end(text);
}

/** `Promise.withResolvers` needs Node 22. */
function withResolvers<T>() {
  let resolve: (value: T) => void = () => {};
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
