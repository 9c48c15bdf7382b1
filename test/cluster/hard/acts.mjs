/**
 * What is done to a run, and when: at shares of its results, and only once the victim has work in hand. A kill, a freeze
 * with its thaw, and a restart of the store; the thaw alone is a matter of time.
 */
import { setTimeout as wait } from 'node:timers/promises';

const KILL_AT = 0.15;
const FREEZE_AT = 0.3;
const RESTART_AT = 0.45;

export class Acts {
  #stage;
  #next;
  #running = Promise.resolve();
  #thaw;
  /** Pids of the workers that were killed or frozen. */
  disturbed = [];
  /** What was done, for the report: {what, have}. */
  done = [];

  /** @param {{calls, books, fleet, redis, random, freezeMs, redisSignal, say}} stage */
  constructor(stage) {
    this.#stage = stage;
    this.#next = [
      { at: KILL_AT, act: () => this.#kill() },
      { at: FREEZE_AT, act: () => this.#freeze() },
      { at: RESTART_AT, act: () => this.#restart() },
    ];
  }

  /** Told how many results there are. Acts run one after the other, in their order. */
  progress(have) {
    this.have = have;
    const first = this.#next[0];
    if (first === undefined || have < first.at * this.#stage.calls) return;
    this.#next.shift();
    this.#running = this.#running.then(() => first.act());
    // Whoever waits for all acts is told; until then it is nobody's.
    this.#running.catch(() => {});
  }

  /** Resolves when all acts that began are over. */
  async over() {
    await this.#running;
    await this.#thaw;
  }

  async #kill() {
    const pid = await this.#victim();
    this.#note(`worker ${pid} killed (SIGKILL)`);
    await this.#stage.fleet.kill(pid);
  }

  async #freeze() {
    const { fleet, freezeMs } = this.#stage;
    const pid = await this.#victim();
    this.#note(`worker ${pid} frozen (SIGSTOP)`);
    fleet.freeze(pid);
    this.#thaw = wait(freezeMs).then(() => {
      this.#note(`worker ${pid} thawed after ${freezeMs} ms (SIGCONT)`);
      fleet.thaw(pid);
    });
  }

  async #restart() {
    const { redis, redisSignal } = this.#stage;
    this.#note(`Redis ended (${redisSignal}) and started again`);
    await redis.end(redisSignal);
    await redis.start();
  }

  /** A living worker, drawn, whose server takes calls right now. */
  async #victim() {
    const { fleet, books, random } = this.#stage;
    const pid = random.pick(fleet.living);
    books.read();
    const before = books.byHost.get(pid) ?? 0;
    while ((books.byHost.get(pid) ?? 0) === before) {
      await wait(5);
      books.read();
    }
    this.disturbed.push(pid);
    return pid;
  }

  #note(what) {
    this.done.push({ what, have: this.have });
    this.#stage.say(`${String(this.have).padStart(7)} results: ${what}`);
  }
}
