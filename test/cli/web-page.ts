/** `bulkhead web` as a test has it: started, with its address, and requests as a browser or anybody else would send them. */
import { request } from 'node:http';
import { eventually } from '../support/eventually.js';
import { type Running, start } from './cli.js';

export interface WebRun {
  running: Running;
  /** With the token. */
  url: URL;
  /** Of the session; undefined before {@link WebRun.enter}. */
  cookie: string | undefined;
  ask(path: string, options?: AskOptions): Promise<Answer>;
  /** Takes the token to the page, as a browser does. */
  enter(): Promise<Answer>;
}

export interface AskOptions {
  method?: string;
  headers?: Record<string, string>;
  /** Stop reading once the body has this text; default: read all of it. */
  until?: string;
  /** Told once the body has begun. */
  onBegin?: () => void;
}

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

export async function startWeb(
  args: readonly string[],
  options: Parameters<typeof start>[1],
): Promise<WebRun> {
  const running = start(['web', ...args], options);
  const line = await eventually(
    () => /^http:\S+\n/.exec(running.stdout())?.[0],
    () => `the address of the page; it said: ${running.stdout()}${running.stderr()}`,
  );
  const url = new URL(line);
  const run: WebRun = {
    running,
    url,
    cookie: undefined,
    ask: (path, { headers = {}, ...rest } = {}) => {
      const cookie = run.cookie === undefined ? {} : { cookie: run.cookie };
      return send(url, path, { ...rest, headers: { ...cookie, ...headers } });
    },
    enter: async () => {
      const answer = await run.ask(`/${url.search}`);
      run.cookie = String(answer.headers['set-cookie']).split(';')[0];
      return answer;
    },
  };
  return run;
}

function send(
  url: URL,
  path: string,
  { method = 'GET', headers = {}, until, onBegin }: AskOptions,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: url.hostname, port: url.port, path, method, headers, agent: false },
      (answer) => {
        let text = '';
        const done = (): void => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text });
        answer.setEncoding('utf8').on('data', (part: string) => {
          if (text === '') onBegin?.();
          text += part;
          if (until === undefined || !text.includes(until)) return;
          done();
          sent.destroy();
        });
        answer.once('end', done);
        // Cut by us after what was waited for, or by the end of the page.
        answer.on('error', done);
      },
    );
    sent.on('error', reject);
    sent.end();
  });
}
