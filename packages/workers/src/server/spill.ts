/**
 * Results that are too long to be held in memory: their JSON text goes to a file, and only the file's name crosses the
 * thread border. A disk that is full or may not be written costs nothing but this relief: the bytes go on as before.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { LaneExtra } from '../protocol.js';

type Spilled = NonNullable<LaneExtra['spill']>;

export class Spill {
  readonly #directory: string;
  readonly #spillBytes: number;

  /**
   * @param directory of the runtime; made 0700 with the first file.
   * @param spillBytes results of this size and more are written; 0 none.
   */
  constructor(directory: string, spillBytes: number) {
    this.#directory = directory;
    this.#spillBytes = spillBytes;
  }

  wants(bytes: number): boolean {
    return this.#spillBytes > 0 && bytes >= this.#spillBytes;
  }

  /**
   * Writes the exact JSON text of one result. Not in one blocking call: a slow disk must not look like a dead thread.
   * Never rejects; a text instead of a file says why there is none.
   */
  async write(json: Uint8Array): Promise<Spilled | string> {
    const path = join(this.#directory, `${randomUUID()}.json`);
    try {
      await mkdir(this.#directory, { recursive: true, mode: 0o700 });
      await writeFile(path, json, { mode: 0o600, flag: 'wx' });
      return { path, bytes: json.byteLength };
    } catch (error) {
      await rm(path, { force: true }).catch(() => {});
      const why = error instanceof Error ? error.message : String(error);
      return `its ${json.byteLength} bytes are held in memory, because no file could be written for them (${why}); free the disk, name another spillDir or set spillBytes to 0`;
    }
  }
}
