/**
 * What is watched while a run lasts: states of the servers, zombies and the supervisor threads; and what must hold at
 * its end. A process whose parent thread died with the supervisor cannot be reaped by anybody before the host exits:
 * such zombies are counted, all others are violations.
 */
import diagnostics from 'node:diagnostics_channel';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { GRANDCHILD, RUN_VARIABLE } from './cast.mjs';
import { descendants, isOfRun, marked, signalMarked } from './processes.mjs';

const SAMPLE_MS = 500;
const END_GRACE_MS = 3_000;
/** Reasons of a failure that no server may cause. */
const OUR_FAULT = new Set(['thread', 'memory', 'internal']);
/** Come and go by themselves. */
const TRANSIENT = new Set(['Immediate', 'FSReqCallback', 'FSReqPromise', 'TTYWrap']);

export class Watch {
  #stage;
  #threads = new Set();
  #resources;
  #listeners;
  /** Children of supervisors that were killed. */
  #orphaned = new Set();
  #zombies = new Set();
  #timer;
  #directory;

  /** Before the runtime is made: what exists now is what may be left in the end. */
  constructor(stage, directory) {
    this.#stage = stage;
    this.#directory = directory;
    this.#resources = counted(resources());
    this.#listeners = listeners();
    // Only threads that this thread made are announced here: the supervisors.
    diagnostics.subscribe('worker_threads', this.#onThread);
  }

  #onThread = ({ worker }) => {
    this.#threads.add(worker);
    worker.once('exit', () => this.#threads.delete(worker));
  };

  begin(runtime, cast) {
    const steady = new Set();
    const good = new Set(cast.filter(({ kind }) => kind !== 'bad').map(({ name }) => name));
    runtime.on('supervisor-lost', () => {
      this.#stage.losses++;
      this.#stage.count('supervisor threads lost');
      steady.clear();
      // The next supervisor has not started anything yet: whatever is there belonged to the lost one.
      for (const { pid } of descendants()) this.#orphaned.add(pid);
    });
    runtime.on('state', ({ server, state, reason }) => {
      if (server === '' || this.#stage.over) return;
      const kind = good.has(server) ? 'good' : 'bad';
      if (['backoff', 'quarantined', 'reconnecting', 'starting'].includes(state))
        this.#stage.count(`${kind} servers ${state}`);
      if (state === 'backoff' || state === 'quarantined') this.#failed(server, reason);
      if (kind === 'bad') return;
      if (state === 'ready') steady.add(server);
      else if (steady.has(server))
        this.#stage.violation(`${server} became ${state}: ${reason?.message ?? 'no reason given'}`);
    });
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS);
  }

  /** Whatever a server does, its thread must neither crash nor run full. */
  #failed(server, { kind, message }) {
    this.#stage.count(`failures by ${kind}`);
    if (OUR_FAULT.has(kind)) this.#stage.violation(`${server} failed by ${kind}: ${message}`);
  }

  /** Terminates the living supervisor thread. */
  async killSupervisor() {
    const supervisor = [...this.#threads].at(-1);
    this.#stage.killing = true;
    await supervisor?.terminate();
    this.#stage.killing = false;
  }

  /** A zombie that is there in two samples was not reaped when it died. */
  #sample() {
    const now = new Set(
      descendants()
        .filter(({ pid, state }) => state === 'Z' && !this.#orphaned.has(pid))
        .map(({ pid }) => pid),
    );
    for (const pid of now) {
      if (this.#zombies.has(pid)) this.#stage.violation(`process ${pid} is dead and nobody reaped it`);
    }
    this.#zombies = now;
    this.#stage.count('looks for zombies');
  }

  /** After close(). @returns {Promise<string[]>} facts worth telling */
  async end(report) {
    clearInterval(this.#timer);
    const { violation } = this.#stage;
    for (const { name, finalState, pids } of report.servers) {
      if (finalState !== 'stopped') violation(`close() reports ${name} as ${finalState}`);
      for (const { pid, gone } of pids)
        if (!gone) violation(`close() reports process ${pid} of ${name} alive`);
    }
    if (report.lostThreads > 0) violation(`close() reports ${report.lostThreads} lost threads`);
    const until = performance.now() + END_GRACE_MS;
    while (this.#leftovers().length > 0 && performance.now() < until) await wait(20);
    for (const text of this.#leftovers()) violation(text);
    // Told is enough: what a failed run leaves must not run on.
    for (const { pid } of marked(RUN_VARIABLE, this.#stage.run))
      signalMarked(pid, 'SIGKILL', RUN_VARIABLE, this.#stage.run);
    diagnostics.unsubscribe('worker_threads', this.#onThread);
    const unreapable = descendants().filter(({ pid }) => this.#orphaned.has(pid)).length;
    const grandchildren = this.#grandchildren().length;
    return [
      `close() took ${Math.round(report.tookMs)} ms for ${report.servers.length} servers`,
      `${grandchildren} grandchildren were started`,
      ...(unreapable === 0
        ? []
        : [
            `${unreapable} zombies of the killed supervisor (nobody can wait for them; they go when this program ends)`,
          ]),
    ];
  }

  #leftovers() {
    const left = descendants().filter(({ pid, state }) => !(state === 'Z' && this.#orphaned.has(pid)));
    const more = (before, now, what) =>
      [...now]
        .filter(([name, amount]) => amount > (before.get(name) ?? 0))
        .map(([name, amount]) => `${what} ${name}: ${before.get(name) ?? 0} before, ${amount} at the end`);
    return [
      ...left.map(
        ({ pid, state, command }) => `a process is left: ${pid} (${state}) ${command.slice(0, 160)}`,
      ),
      ...marked(RUN_VARIABLE, this.#stage.run).map(
        ({ pid, command }) => `a process of this run is left: ${pid} ${command}`,
      ),
      ...this.#grandchildren()
        .filter((pid) => isOfRun(pid, RUN_VARIABLE, this.#stage.run))
        .map((pid) => `grandchild ${pid} is left`),
      ...[...this.#threads].map(({ threadId }) => `thread ${threadId} is left`),
      ...more(this.#resources, counted(resources()), 'resource'),
      ...more(this.#listeners, listeners(), 'listeners of process for'),
    ];
  }

  /** Pids as the grandchildren wrote them down. */
  #grandchildren() {
    return readdirSync(this.#directory)
      .filter((name) => name.endsWith(GRANDCHILD))
      .map((name) => Number(readFileSync(join(this.#directory, name), 'utf8')));
  }
}

function resources() {
  return process.getActiveResourcesInfo().filter((type) => !TRANSIENT.has(type));
}

function listeners() {
  return new Map(process.eventNames().map((name) => [String(name), process.listenerCount(name)]));
}

function counted(names) {
  const counts = new Map();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}
