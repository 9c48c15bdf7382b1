/** The workers of a run, each a process of its own: started, killed, frozen, thawed, ended. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const COMMAND = fileURLToPath(new URL('../../../packages/cli/dist/main.js', import.meta.url));
const OWN = fileURLToPath(new URL('./worker.mjs', import.meta.url));
/** What was taken is finished first. */
const END_MS = 60_000;
const LOG_END = 600;
/** What the command says after a SIGTERM that it has obeyed. */
const WELL = new Set([0, 128 + 15]);

export class Fleet {
  #dir;
  #workers = [];

  constructor(dir) {
    this.#dir = dir;
  }

  /** @param {{redis: string, config: string, concurrency: number, limits: object | undefined}} how with limits: not by the command */
  start(count, { redis, config, concurrency, limits }) {
    const args =
      limits === undefined
        ? [COMMAND, 'worker', '--redis', redis, '--config', config, '-j', String(concurrency)]
        : [OWN, JSON.stringify({ redis, config, concurrency, limits })];
    for (let i = 1; i <= count; i++) {
      const log = join(this.#dir, `worker-${i}.log`);
      const file = openSync(log, 'w');
      const child = spawn(process.execPath, args, { stdio: ['ignore', file, file] });
      closeSync(file);
      this.#workers.push({ child, log, exit: once(child, 'exit'), fate: 'lives' });
    }
  }

  /** Pids of workers that run. */
  get living() {
    return this.#workers.filter(({ fate }) => fate === 'lives').map(({ child }) => child.pid);
  }

  async kill(pid) {
    const worker = this.#worker(pid);
    worker.fate = 'killed';
    worker.child.kill('SIGKILL');
    await worker.exit;
  }

  freeze(pid) {
    const worker = this.#worker(pid);
    worker.fate = 'frozen';
    worker.child.kill('SIGSTOP');
  }

  thaw(pid) {
    const worker = this.#worker(pid);
    worker.fate = 'lives';
    worker.child.kill('SIGCONT');
  }

  /** The first worker that ended although nobody killed it, with the end of its log. */
  async lost() {
    const { child, log, exit } = await Promise.race(
      this.#workers.map(async (worker) => {
        await worker.exit;
        return worker.fate === 'killed' || worker.fate === 'ended' ? new Promise(() => {}) : worker;
      }),
    );
    const [code, signal] = await exit;
    return new Error(
      `worker ${child.pid} ended (${code ?? signal}):\n${readFileSync(log, 'utf8').slice(-LOG_END)}`,
    );
  }

  /** Asks all to end. @returns a sentence for each that did not end well */
  async end() {
    const living = this.#workers.filter(({ fate }) => fate !== 'killed');
    const problems = await Promise.all(
      living.map(async (worker) => {
        worker.fate = 'ended';
        worker.child.kill('SIGCONT');
        worker.child.kill('SIGTERM');
        const timer = setTimeout(() => worker.child.kill('SIGKILL'), END_MS);
        const [code, signal] = await worker.exit;
        clearTimeout(timer);
        return WELL.has(code) ? [] : [`worker ${worker.child.pid} ended with ${code ?? signal}`];
      }),
    );
    return problems.flat();
  }

  /** For a run that failed. */
  abandon() {
    for (const worker of this.#workers) {
      worker.fate = 'ended';
      worker.child.kill('SIGKILL');
    }
  }

  #worker(pid) {
    return this.#workers.find(({ child }) => child.pid === pid);
  }
}
