/**
 * Catalogs of earlier runs on disk, so that the tools of a server that starts on its first call are known before its
 * process exists. Keyed by the fingerprint of what runs: another command, another file. A cache is never believed for
 * more than names and schemas; the server's own list replaces it as soon as it is read.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { ServerCatalog, ServerSpec } from '../protocol.js';

const looseObject = z.record(z.string(), z.unknown());
const stored = z.object({
  version: z.literal(1),
  catalog: z.object({
    tools: z.array(z.looseObject({ name: z.string(), inputSchema: looseObject })),
    quarantined: z.array(z.object({ name: z.string(), reason: z.string() })),
    warnings: z.array(z.string()),
    serverInfo: z.looseObject({ name: z.string(), version: z.string() }),
    protocolVersion: z.string(),
    capabilities: looseObject,
    instructions: z.string().optional(),
  }),
});

export class CatalogCache {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Undefined when there is none, or none that can be read: a cache is never a reason to fail. */
  read(spec: ServerSpec): ServerCatalog | undefined {
    if (!sleeps(spec)) return undefined;
    try {
      return stored.parse(JSON.parse(readFileSync(this.#file(spec.fingerprint), 'utf8')))
        .catalog as ServerCatalog;
    } catch {
      return undefined;
    }
  }

  write(spec: ServerSpec, catalog: ServerCatalog): void {
    if (!sleeps(spec)) return;
    try {
      mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
      const file = this.#file(spec.fingerprint);
      writeFileSync(`${file}.${process.pid}`, JSON.stringify({ version: 1, catalog }), { mode: 0o600 });
      renameSync(`${file}.${process.pid}`, file);
    } catch {
      // a full disk costs the next start its head start, nothing else
    }
  }

  /** The fingerprint covers the environment's values, so it is hashed once more before it becomes a file name. */
  #file(fingerprint: string): string {
    return join(
      this.#directory,
      `${createHash('sha256').update(fingerprint).digest('hex').slice(0, 32)}.json`,
    );
  }
}

/** Whether the server may be down although it is wanted: its tools must be known all the same. */
function sleeps({ lifecycle, idleStopMs }: ServerSpec): boolean {
  return lifecycle === 'lazy' || idleStopMs > 0;
}
