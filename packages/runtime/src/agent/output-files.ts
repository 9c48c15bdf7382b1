/**
 * Files for what a model is not shown: whole texts, media that are too large, contents of unknown type. One private
 * directory, made when the first file comes; nothing foreign becomes part of a path.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, open, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** Characters of base64 that are decoded at a time, a multiple of 4: the agent's thread goes on in between. */
const SLICE_CHARS = 1024 * 1024;

/** Files for what does not fit into an answer: whole texts, media, unknown contents. 0600 in a 0700 directory. */
export class OutputFiles {
  readonly #wanted: string | undefined;
  #directory: Promise<string> | undefined;

  /** @param directory Default: a fresh private one below the system's temporary directory. */
  constructor(directory?: string) {
    this.#wanted = directory;
  }

  /** The directory, which exists from now on. */
  directory(): Promise<string> {
    this.#directory ??= this.#make().catch((error: unknown) => {
      // The next file tries again.
      this.#directory = undefined;
      throw error;
    });
    return this.#directory;
  }

  /** Writes text, readable by the user only; gives the path. */
  async saveText(text: string): Promise<string> {
    const path = await this.#path('result', 'txt');
    await writeFile(path, text, { mode: 0o600, flag: 'wx' });
    return path;
  }

  /**
   * Writes what a base64 text holds, readable by the user only; gives the path.
   * @param extension Letters and digits; anything else becomes `bin`.
   */
  async saveBase64(base64: string, extension: string): Promise<string> {
    const path = await this.#path('media', /^[a-z0-9]{1,8}$/.test(extension) ? extension : 'bin');
    const file = await open(path, 'wx', 0o600);
    try {
      for (let at = 0; at < base64.length; at += SLICE_CHARS) {
        await file.writeFile(Buffer.from(base64.slice(at, at + SLICE_CHARS), 'base64'));
      }
    } finally {
      await file.close();
    }
    return path;
  }

  async #path(kind: string, extension: string): Promise<string> {
    return join(await this.directory(), `${kind}-${randomUUID()}.${extension}`);
  }

  async #make(): Promise<string> {
    if (this.#wanted === undefined) return mkdtemp(join(tmpdir(), 'bulkhead-output-'));
    const directory = resolve(this.#wanted);
    await mkdir(directory, { recursive: true, mode: 0o700 });
    return directory;
  }
}
