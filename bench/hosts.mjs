/**
 * The bench's side of the host processes: starts one per peer, asks it to do a task within a time limit, and ends it with
 * everything that it started.
 */
import { spawn } from 'node:child_process';
import { installed, nodeProgram } from './peers/installed.mjs';
import { labelOf } from './peers/list.mjs';
import { HOST } from './places.mjs';

/** Above the 60 s that MCP clients give a call, so that the peer's own limit is what is seen. */
const TASK_MS = 75_000;
const CLOSE_MS = 20_000;

export class PeerHost {
  #child;
  #waiting = new Map();
  #lastId = 0;
  #opened;
  #lost;
  #scene;
  #servers;
  #gone = Promise.resolve();

  /** @param servers connected on first use; without them the scene connects by itself */
  constructor(peer, scene, servers) {
    this.peer = peer;
    this.label = labelOf(peer);
    this.#scene = scene;
    this.#servers = servers;
  }

  /** Where the peer's packages are; undefined when the workspace has them. */
  get directory() {
    return installed(this.peer);
  }

  /** @returns what the task gave @throws {Error} when it failed, the host died, or `timeoutMs` is over */
  async do(task, args = {}, timeoutMs = TASK_MS) {
    this.#opened ??= this.#open();
    await this.#opened;
    return this.#ask(task, args, timeoutMs);
  }

  /** Leaves the process behind; the next task gets a fresh one. */
  async renew() {
    this.#kill();
    this.#opened = undefined;
    await this.#gone;
  }

  /** Closes the peer, then ends the process. */
  async end() {
    if (this.#child === undefined) return;
    await this.#ask('close', {}, CLOSE_MS).catch(() => {});
    this.#kill();
    await this.#gone;
  }

  async #open() {
    const { peer } = this;
    const args = [HOST, peer.name, this.#scene, this.directory ?? ''];
    // A group of its own: servers that outlive a peer's failure end with it.
    const child = spawn(nodeProgram(peer.node), args, {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      detached: true,
    });
    this.#child = child;
    this.#lost = undefined;
    const started = new Promise((resolve) =>
      child.on('message', (message) => this.#receive(message, resolve)),
    );
    this.#gone = new Promise((resolve) => child.once('exit', resolve));
    const dead = this.#gone.then(() => {
      for (const { reject } of this.#waiting.values()) reject(this.#death());
      this.#waiting.clear();
    });
    await Promise.race([
      started,
      dead.then(() => {
        throw this.#death();
      }),
    ]);
    if (this.#servers !== undefined) await this.#ask('connect', { servers: this.#servers }, TASK_MS);
  }

  #receive(message, started) {
    if (message.ready) {
      started();
      return;
    }
    if (message.lost !== undefined) {
      this.#lost = message.lost;
      return;
    }
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.error === undefined) waiting?.resolve(message.value);
    else waiting?.reject(new Error(message.error));
  }

  #ask(task, args, timeoutMs) {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(id);
        reject(new Error(`no end after ${Math.round(timeoutMs / 1_000)} s`));
      }, timeoutMs);
      const settle = (how) => (value) => {
        clearTimeout(timer);
        how(value);
      };
      this.#waiting.set(id, { resolve: settle(resolve), reject: settle(reject) });
      if (this.#child.connected) this.#child.send({ id, task, args });
      else settle(reject)(this.#death());
    });
  }

  #death() {
    return new Error(this.#lost ?? 'the host process died');
  }

  #kill() {
    const pid = this.#child?.pid;
    if (pid === undefined || this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    try {
      process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
    } catch {} // gone by itself
  }
}

/**
 * Opens a host for each peer, and ends all of them whatever happens.
 * @param servers `{args}` of `node` or `{url}`, by name
 */
export async function withHosts(peers, scene, servers, work) {
  const hosts = peers.map((peer) => new PeerHost(peer, scene, servers));
  try {
    return await work(hosts);
  } finally {
    await Promise.all(hosts.map((host) => host.end()));
  }
}
