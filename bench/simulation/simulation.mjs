/**
 * A distributed batch in simulated time: the queue, the fleet's places, kills and takeovers, with the numbers and the pure
 * policy of the real thing. One server, which every worker has; no affinity, no rates, a collector that keeps up.
 */
import { clusterDefaults } from '../../packages/cluster/dist/defaults.js';
import { Delays } from '../../packages/cluster/dist/worker/delays.js';
import { Draws } from './draws.mjs';
import { Events } from './events.mjs';
import { END, Lines } from './lines.mjs';
import { whole } from './setting.mjs';
import { Station } from './station.mjs';
import { Taking } from './taking.mjs';
import { Worker } from './worker.mjs';

/** Steps of the store that a chunk takes beside those of its lines: fetched and finished by the queue, looked up, claimed. */
const CHUNK_STEPS = 4;
/** Steps of each beat of a worker: it tells that it lives, looks for queues and other workers, and at its batch. */
const BEAT_STEPS = 5;
/** Work of the store, in ms, for each of the records of all workers, of which a beat reads about `peersPerBeat`. Measured with 1 000 of them. */
const RECORD_MS = 0.0005;

/** @param {import('./setting.mjs').Setting} setting */
export function simulate(setting) {
  return new Simulation(whole(setting)).run();
}

class Simulation {
  #setting;
  #draws;
  events = new Events();
  store = new Station(this.events);
  numbers;
  lines;
  #delays = new Delays(clusterDefaults.delayMs);
  #cpu = new Station(this.events);
  #workers = [];
  #living = 0;
  #queue = [];
  /** Workers that wait for a chunk, one entry for each that they could take. */
  #idle = [];
  #placesFree;
  #takeovers = 0;
  #givenUp = 0;
  #sentAway = 0;
  #longestTakeoverMs = 0;
  #unknownAtMost = 0;
  #endedAt = 0;

  constructor(setting) {
    const { calls, seed, idempotentShare, chunkLines, stepMicros, lineMicros, wayMs, fleetWindow } = setting;
    this.#setting = setting;
    this.#draws = new Draws(seed);
    this.numbers = {
      ...clusterDefaults,
      chunkLines,
      stepMs: stepMicros / 1_000,
      lineMs: lineMicros / 1_000,
      storeLineMs: setting.storeLineMicros / 1_000,
      wayMs,
    };
    this.lines = new Lines(calls, () => this.#draws.chance(idempotentShare));
    this.#placesFree = fleetWindow;
    for (let from = 0; from < calls; from += this.numbers.chunkLines) {
      const length = Math.min(this.numbers.chunkLines, calls - from);
      const chunk = { lines: Array.from({ length }, (_, i) => from + i), lost: 0, lostAt: undefined };
      this.#queue.push(chunk);
    }
  }

  run() {
    const { workers, kills } = this.#setting;
    for (let i = 0; i < workers; i++) this.#join();
    const idealMs = this.#idealMs();
    for (let i = 0; i < kills; i++) {
      this.events.plan(this.#draws.between(0.1, 0.9) * idealMs, () => this.#kill());
    }
    this.events.run();
    return this.#report(idealMs);
  }

  latency() {
    return this.#draws.latency(this.#setting.meanMs, this.#setting.sigma);
  }

  /** In this moment, after what is planned for it already. */
  soon(act) {
    this.events.plan(this.events.now, act);
  }

  finished(taking) {
    const { worker } = taking;
    this.#endedAt = this.events.now;
    this.store.do(this.numbers.stepMs, this.numbers.wayMs, () => {
      if (worker.isDead) return;
      this.#leave(taking);
      this.#offer(worker);
    });
  }

  /** Without a store, a CPU and losses: calls in flight alone. */
  #idealMs() {
    const { calls, workers, window, fleetWindow, meanMs } = this.#setting;
    return (calls * meanMs) / Math.min(workers * window, fleetWindow);
  }

  #join() {
    const cpu = this.#setting.oneCpu ? this.#cpu : new Station(this.events);
    const worker = new Worker(cpu, this.#setting.window);
    this.#workers.push(worker);
    this.#living++;
    for (let i = 0; i < this.numbers.chunksPerServer; i++) this.#offer(worker);
    this.events.plan(this.events.now + this.#draws.between(0, this.numbers.beatMs), () => this.#beat(worker));
  }

  #beat(worker) {
    if (worker.isDead || this.lines.answered === this.#setting.calls) return;
    const { stepMs, wayMs, beatMs, peersPerBeat } = this.numbers;
    const again = () => this.events.plan(this.events.now + beatMs, () => this.#beat(worker));
    const records = Math.min(this.#living, peersPerBeat);
    this.store.do(BEAT_STEPS * stepMs + records * RECORD_MS, wayMs, again, BEAT_STEPS);
  }

  /** The worker could take a chunk more. */
  #offer(worker) {
    const chunk = this.#queue.shift();
    if (chunk === undefined) this.#idle.push(worker);
    else this.#take(worker, chunk);
  }

  #take(worker, chunk) {
    const held = { worker, chunk, places: 0, atRisk: 0 };
    worker.takings.add(held);
    const { stepMs, wayMs, placesWaitMs } = this.numbers;
    const patientUntil = this.events.now + placesWaitMs;
    this.store.do(CHUNK_STEPS * stepMs, wayMs, () => this.#tryPlaces(held, patientUntil), CHUNK_STEPS);
  }

  /** Without places the worker keeps the chunk and asks again at every beat, for a while. */
  #tryPlaces(held, patientUntil) {
    const { worker, chunk } = held;
    if (worker.isDead) return;
    const places = this.#places(chunk);
    if (places > 0) {
      worker.takings.delete(held);
      this.#begin(worker, chunk, places);
      return;
    }
    const { stepMs, wayMs, beatMs } = this.numbers;
    if (this.events.now < patientUntil) {
      this.events.plan(this.events.now + beatMs, () =>
        this.store.do(stepMs, wayMs, () => this.#tryPlaces(held, patientUntil)),
      );
      return;
    }
    worker.takings.delete(held);
    this.#sendAway(chunk);
    this.#offer(worker);
  }

  #begin(worker, chunk, places) {
    if (chunk.lostAt !== undefined) {
      this.#longestTakeoverMs = Math.max(this.#longestTakeoverMs, this.events.now - chunk.lostAt);
      chunk.lostAt = undefined;
    }
    this.#delays.reset('batch');
    const taking = new Taking(this, worker, chunk, places);
    taking.places = places;
    worker.takings.add(taking);
    taking.begin();
  }

  #places(chunk) {
    const { window, fleetWindow } = this.#setting;
    if (fleetWindow === Number.POSITIVE_INFINITY) return window;
    const fair = Math.max(1, Math.ceil(fleetWindow / Math.max(1, this.#living)));
    const places = Math.min(window, chunk.lines.length, fair, this.#placesFree);
    this.#placesFree -= places;
    return places;
  }

  #leave(taking) {
    taking.worker.drop(taking);
    this.#placesFree += taking.places;
  }

  #sendAway(chunk) {
    this.#sentAway++;
    this.events.plan(this.events.now + this.#delays.next('batch'), () => this.#enqueue(chunk));
  }

  /** To the front: it was there before the others. */
  #enqueue(chunk) {
    this.#queue.unshift(chunk);
    let worker = this.#idle.shift();
    while (worker?.isDead) worker = this.#idle.shift();
    if (worker === undefined) return;
    this.#take(worker, this.#queue.shift());
  }

  #kill() {
    const living = this.#workers.filter(({ isDead }) => !isDead);
    if (living.length === 0 || this.lines.answered === this.#setting.calls) return;
    const worker = this.#draws.pick(living);
    worker.isDead = true;
    this.#living--;
    const { lockMs, stalledEveryMs, leaseMs } = this.numbers;
    const { replaceMs } = this.#setting;
    for (const taking of worker.takings) {
      this.#unknownAtMost += taking.atRisk;
      // The lock was renewed within the last half of its time; the next look for lost chunks after its end finds it.
      const expiresAt = this.events.now + lockMs - this.#draws.between(0, lockMs / 2);
      const foundAt = Math.ceil(expiresAt / stalledEveryMs) * stalledEveryMs;
      this.events.plan(foundAt, () => this.#lost(taking.chunk));
      taking.chunk.lostAt = this.events.now;
      this.events.plan(this.events.now + leaseMs, () => {
        this.#placesFree += taking.places;
      });
    }
    this.events.plan(this.events.now + replaceMs, () => this.#join());
  }

  #lost(chunk) {
    this.#takeovers++;
    chunk.lost++;
    if (chunk.lost <= this.numbers.maxStalled) {
      this.#enqueue(chunk);
      return;
    }
    this.#givenUp++;
    this.#endedAt = this.events.now;
    for (const line of chunk.lines) {
      if (this.lines.fate(line) !== 'done')
        this.lines.end(line, this.lines.wasSent(line) ? END.unknown : END.lost);
    }
  }

  #report(idealMs) {
    const { calls } = this.#setting;
    const { lines } = this;
    const unknown = lines.count(END.unknown);
    return {
      calls,
      workers: this.#setting.workers,
      seconds: this.#endedAt / 1_000,
      callsPerSecond: (calls / this.#endedAt) * 1_000,
      shareOfIdeal: idealMs / this.#endedAt,
      storeBusy: this.store.busyMs / this.#endedAt,
      storeSteps: this.store.done,
      takeovers: this.#takeovers,
      longestTakeoverMs: this.#longestTakeoverMs,
      sentAway: this.#sentAway,
      givenUp: this.#givenUp,
      unknown,
      lost: lines.count(END.lost),
      ranAgain: lines.ranAgain,
      violations: lines.broken(this.#unknownAtMost),
    };
  }
}
