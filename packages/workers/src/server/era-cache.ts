/**
 * Which servers are known to be of the older era, on disk beside the cached catalogs: a server that ignores the
 * question for its era would otherwise cost every start the limit of that question. Only legacy verdicts are kept (the
 * answer of a modern server is its handshake and costs nothing extra), and only for a day: servers get updated.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** After this long a legacy server is asked again. */
export const LEGACY_FOR_MS = 24 * 3_600_000;

export class EraCache {
  readonly #directory: string;
  readonly #clock: () => number;

  /** `clock` tells wall-clock milliseconds. */
  constructor(directory: string, clock: () => number) {
    this.#directory = directory;
    this.#clock = clock;
  }

  /** `fingerprint` covers what runs or is reached, and as whom: command, arguments, directory, environment; URL, headers. */
  isLegacy(fingerprint: string): boolean {
    try {
      const ageMs = this.#clock() - statSync(this.#file(fingerprint)).mtimeMs;
      return ageMs >= -LEGACY_FOR_MS && ageMs < LEGACY_FOR_MS;
    } catch {
      return false;
    }
  }

  /** What cannot be written is asked again next time. */
  remember(fingerprint: string, era: 'legacy' | 'modern'): void {
    try {
      const file = this.#file(fingerprint);
      if (era === 'modern') {
        rmSync(file, { force: true });
        return;
      }
      if (this.isLegacy(fingerprint)) return; // the date of the question counts, not of the last start
      mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
      writeFileSync(file, '', { mode: 0o600 });
      const seconds = this.#clock() / 1_000;
      utimesSync(file, seconds, seconds);
    } catch {
      // a full disk costs the next start a question, nothing else
    }
  }

  #file(fingerprint: string): string {
    const name = createHash('sha256').update(fingerprint).digest('hex').slice(0, 32);
    return join(this.#directory, `${name}.legacy`);
  }
}
