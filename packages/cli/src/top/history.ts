/**
 * Latency of each server lately. A status holds figures of the whole life of a server; what happened between two of
 * them is their difference. Pure.
 */
import type { ServerRow } from '@bulkhead/runtime/control/client';

/** One a second. */
const KEPT = 120;

interface Line {
  calls: number;
  totalMs: number;
  /** Mean of the calls answered in one interval, ms; undefined without one. */
  means: (number | undefined)[];
}

export class LatencyHistory {
  readonly #lines = new Map<string, Line>();

  /** Takes the next status; servers that are gone are forgotten. */
  add(rows: readonly Pick<ServerRow, 'name' | 'stats'>[]): void {
    const names = new Set(rows.map(({ name }) => name));
    for (const name of this.#lines.keys()) if (!names.has(name)) this.#lines.delete(name);
    for (const { name, stats } of rows) {
      const { count = 0, mean = 0 } = stats.latency ?? {};
      const totalMs = mean * count;
      const line = this.#lines.get(name);
      if (line === undefined) {
        this.#lines.set(name, { calls: count, totalMs, means: [] });
        continue;
      }
      const calls = count - line.calls;
      line.means.push(calls > 0 ? Math.max(0, (totalMs - line.totalMs) / calls) : undefined);
      if (line.means.length > KEPT) line.means.shift();
      line.calls = count;
      line.totalMs = totalMs;
    }
  }

  /** The oldest first. */
  of(name: string): readonly (number | undefined)[] {
    return this.#lines.get(name)?.means ?? [];
  }
}
