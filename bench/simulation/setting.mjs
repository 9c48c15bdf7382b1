/** What is simulated: a batch, a fleet, what goes wrong, and what the steps cost. */
import { clusterDefaults } from '../../packages/cluster/dist/defaults.js';

/**
 * @typedef {object} Setting
 * @property {number} calls
 * @property {number} workers
 * @property {number} window calls in flight at each worker
 * @property {number} [fleetWindow] calls in flight over all workers; default no limit
 * @property {number} meanMs of a call
 * @property {number} [sigma] how far calls differ, 0: not at all; default 0.5
 * @property {number} [kills] workers killed at random moments of the run; default 0
 * @property {number} [replaceMs] a new worker comes in place of a killed one after this; default 10 000
 * @property {number} [idempotentShare] default 0.3
 * @property {number} [chunkLines] default that of a batch
 * @property {number} stepMicros of the store for one step, whatever it does
 * @property {number} [storeLineMicros] of the store for each line beside that; default 10
 * @property {number} lineMicros of a worker's CPU for one line
 * @property {number} [wayMs] to the store and back; default 0.5
 * @property {boolean} [oneCpu] all workers share one CPU; default false
 * @property {number} [seed] default 1
 */

/**
 * Work of the store for one line, queued, fetched, noted, answered and collected, without the steps themselves: what the
 * scene `cluster` of the bench shows for quick calls in large chunks, whose steps are few.
 */
export const STORE_LINE_MICROS = 10;

const DEFAULTS = {
  fleetWindow: Number.POSITIVE_INFINITY,
  sigma: 0.5,
  kills: 0,
  replaceMs: 10_000,
  idempotentShare: 0.3,
  chunkLines: clusterDefaults.chunkLines,
  wayMs: 0.5,
  storeLineMicros: STORE_LINE_MICROS,
  oneCpu: false,
  seed: 1,
};

/** @param {Setting} setting @returns {Required<Setting>} */
export function whole(setting) {
  return { ...DEFAULTS, ...setting };
}
