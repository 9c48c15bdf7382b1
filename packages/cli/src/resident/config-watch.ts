/**
 * Tells when config files change. Directories are watched, not files: editors replace a file, and one that is not there
 * yet can appear. One change of many writes is told once.
 */
import { existsSync, type FSWatcher, watch } from 'node:fs';
import { basename, dirname } from 'node:path';

/** Quiet time after the last event: an editor writes, renames and sets modes. */
const SETTLE_MS = 150;

export class ConfigWatch {
  readonly #paths: readonly string[];
  readonly #changed: () => void;
  #watchers: FSWatcher[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** @param paths absolute; they need not exist. */
  constructor(paths: readonly string[], changed: () => void) {
    this.#paths = paths;
    this.#changed = changed;
    this.#arm();
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const watcher of this.#watchers.splice(0)) watcher.close();
  }

  /** Watches, for each file, its directory or the nearest one above that exists. */
  #arm(): void {
    for (const watcher of this.#watchers.splice(0)) watcher.close();
    const names = new Map<string, Set<string>>();
    for (const path of this.#paths) {
      let name = basename(path);
      let directory = dirname(path);
      while (!existsSync(directory) && directory !== dirname(directory)) {
        name = basename(directory);
        directory = dirname(directory);
      }
      names.set(directory, (names.get(directory) ?? new Set()).add(name));
    }
    for (const [directory, wanted] of names) {
      try {
        const watcher = watch(directory, { persistent: false }, (_, name) => {
          if (name === null || wanted.has(name)) this.#soon();
        });
        // A directory that goes away: look again at what is there.
        watcher.on('error', () => this.#soon());
        this.#watchers.push(watcher);
      } catch {
        // No watch to be had here (limits, network disks): the next command looks by itself.
      }
    }
  }

  #soon(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#arm();
      this.#changed();
    }, SETTLE_MS);
  }
}
