/**
 * The control plane: comlink, wrapped once. A pending comlink call never settles when its port dies, and its errors
 * lose `code` and `data`. So here every call races a deadline and the peer's death, and answers are values.
 */
import type { MessagePort, Transferable } from 'node:worker_threads';
import { expose, type Remote, transfer, wrap } from 'comlink';
import nodeEndpoint from 'comlink/dist/esm/node-adapter.mjs';
import { BulkheadError, decodeError, encodeError } from './errors.js';
import type { Answer } from './protocol.js';

type Served<T> = { [K in keyof T]: T[K] extends (...args: infer A) => infer R ? (...args: A) => R : never };
type Ok<R> = Awaited<R> extends Answer<infer V> ? V : never;

/** The caller's half of a control connection to one peer. */
export class Control<T> {
  readonly #peer: string;
  readonly #remote: Remote<Served<T>>;
  readonly #port: MessagePort;
  readonly #death: Promise<never>;
  #die: (error: BulkheadError) => void = () => {};

  /** @param peer how messages name the other side, e.g. `supervisor`. */
  constructor(port: MessagePort, peer: string) {
    this.#peer = peer;
    this.#port = port;
    this.#remote = wrap<Served<T>>(nodeEndpoint(port)) as Remote<Served<T>>;
    this.#death = new Promise((_, reject) => {
      this.#die = reject;
    });
    this.#death.catch(() => {}); // owned here; callers race it
    port.once('close', () => this.lost(`${peer} closed its control port`));
    port.unref(); // a deadline timer keeps the loop alive while a call is pending
  }

  /** Every pending and later call rejects with this cause. */
  lost(message: string): void {
    this.#die(new BulkheadError('INTERNAL', message));
  }

  close(): void {
    this.lost(`control connection to ${this.#peer} was closed`);
    this.#port.close();
  }

  /**
   * Calls `method` and gives its value.
   * @throws {BulkheadError} what the peer answered, or `INTERNAL` when the deadline passed or the peer died.
   */
  async call<K extends keyof T & string>(
    method: K,
    args: T[K] extends (...args: infer A) => unknown ? A : never,
    options: { timeoutMs: number; transfer?: Transferable[] },
  ): Promise<T[K] extends (...args: never[]) => infer R ? Ok<R> : never> {
    let timer: NodeJS.Timeout | undefined;
    const deadline = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(
          new BulkheadError(
            'INTERNAL',
            `${this.#peer} did not answer ${method} within ${options.timeoutMs} ms`,
            {
              data: { peer: this.#peer, method, timeoutMs: options.timeoutMs },
            },
          ),
        );
      }, options.timeoutMs);
    });
    try {
      if (options.transfer !== undefined && args.length > 0) {
        // comlink collects the transfer list from the arguments: mark the first one.
        transfer(args[0] as object, options.transfer as never[]);
      }
      const remote = this.#remote as unknown as Record<
        string,
        (...args: unknown[]) => Promise<Answer<unknown>>
      >;
      const invoke = remote[method];
      if (invoke === undefined) throw new BulkheadError('INTERNAL', `${this.#peer} has no ${method}`);
      const answer = await Promise.race([invoke(...args), deadline, this.#death]);
      if ('error' in answer) throw decodeError(answer.error);
      return answer.ok as never;
    } finally {
      clearTimeout(timer);
    }
  }
}

/** The served half: exposes `target` on `port`. */
export function serveControl<T extends object>(target: T, port: MessagePort): void {
  expose(target, nodeEndpoint(port));
}

/** Runs `work` and turns whatever it throws into an answer. */
export async function answer<T>(work: () => Promise<T> | T): Promise<Answer<T>> {
  try {
    return { ok: await work() };
  } catch (error) {
    return { error: encodeError(error) };
  }
}
