/**
 * Results on Redis: a stream per batch whose entries hold many lines each, and long lines apart from it in pieces. No step
 * takes so much at once that the server would stand still for others.
 */
import { randomBytes } from 'node:crypto';
import { BulkheadError } from '@bulkhead/workers';
import type { Redis } from 'ioredis';
import { clusterDefaults } from './defaults.js';
import type { LineResult, ResultPage, Standing } from './ledger.js';
import { batchKeys } from './redis-keys.js';
import type { RunScript } from './redis-ledger.js';
import type { RedisPatience } from './redis-patience.js';
import { standing } from './redis-scripts.js';

/** Entries that one step removes. */
const FREED_AT_ONCE = 50;
const PAGE_ENTRIES = 1_000;

/** As the script takes it: a text, or a blob that is stored by now. */
interface Entry extends LineResult {
  blobBytes?: number;
}

export async function putResults(
  client: Redis,
  script: RunScript,
  { id, chunk, owner, results }: { id: string; chunk: string; owner: string; results: readonly LineResult[] },
): Promise<{ standing: Standing; unreadBytes: number }> {
  const { batch, owners, answered, results: stream, blobs, blob } = batchKeys(id);
  const entries = results.some(isLong)
    ? await Promise.all(results.map((result) => (isLong(result) ? storeLong(client, blob, result) : result)))
    : results;
  // Without a result the answer still tells how things stand.
  const groups = entries.length === 0 ? [[]] : groupsOf(entries);
  const replies = await Promise.all(
    groups.map((group) => {
      const keys = group.flatMap(({ blobBytes, text }) => (blobBytes === undefined ? [] : [blob + text]));
      const heads = group.map(({ line, outcome, blobBytes = '' }) => `${line} ${outcome} ${blobBytes}`);
      const texts = group.map(({ text }) => text);
      // Two long texts: the client takes its time for each argument.
      return script(
        'bulkheadPutResults',
        [batch, owners, answered, stream, blobs, ...keys],
        [chunk, owner, heads.join('\n'), texts.join('\n')],
      );
    }),
  );
  const [stands, unread] = replies.at(-1) as [number, string | number];
  return { standing: standing(stands), unreadBytes: Number(unread) };
}

/** Removes entries up to the cursor, with the long lines that they refer to. */
export async function freeResults(script: RunScript, id: string, cursor: string, to: string): Promise<void> {
  const { batch, results, blobs, blob } = batchKeys(id);
  for (;;) {
    const args = [cursor, FREED_AT_ONCE, to, blob];
    const freed = Number(await script('bulkheadCollected', [batch, results, blobs], args));
    if (freed < FREED_AT_ONCE) return;
  }
}

export async function readResults(
  client: Redis,
  id: string,
  cursor: string,
  maxBytes: number,
): Promise<ResultPage> {
  const count = Math.min(PAGE_ENTRIES, Math.max(1, Math.floor(maxBytes / clusterDefaults.resultBytes)));
  const entries = await client.xrange(batchKeys(id).results, `(${cursor}`, '+', 'COUNT', count);
  const lines: ResultPage['lines'] = [];
  for (const [, fields] of entries) {
    for (let at = 0; at < fields.length; at += 2) {
      const value = fields[at + 1] ?? '';
      if (fields[at] === 'l') for (const text of value.split('\n')) lines.push(text);
      if (fields[at] !== 'b') continue;
      const [line, bytes, reference = ''] = value.split(' ');
      lines.push({ line: Number(line), blob: reference, bytes: Number(bytes) });
    }
  }
  return { cursor: entries.at(-1)?.[0] ?? cursor, lines };
}

export async function* readBlob(
  client: Redis,
  patience: RedisPatience,
  id: string,
  reference: string,
): AsyncGenerator<Buffer> {
  for (let index = 0; ; index++) {
    const piece = await patience.run(client.hgetBuffer(batchKeys(id).blob + reference, String(index)));
    if (piece !== null) yield piece;
    else if (index > 0) return;
    else {
      const line = reference.split('-')[0];
      throw new BulkheadError(
        'BAD_INPUT',
        `the result of line ${line} of batch "${id}" is gone: another collector has taken it, or the batch was removed`,
      );
    }
  }
}

function isLong({ text }: LineResult): boolean {
  const { inlineBytes } = clusterDefaults;
  // No character has more than three bytes.
  return text.length > inlineBytes / 3 && Buffer.byteLength(text) > inlineBytes;
}

/** A long line goes ahead of its entry, under a name that no second result of the line would share. */
async function storeLong(client: Redis, blob: string, result: LineResult): Promise<Entry> {
  const bytes = Buffer.from(result.text);
  const reference = `${result.line}-${randomBytes(6).toString('hex')}`;
  const { blobPieceBytes, blobOrphanMs } = clusterDefaults;
  for (let at = 0; at < bytes.length; at += blobPieceBytes) {
    // By number: a command whose answer was lost with the connection is sent again.
    await client
      .pipeline()
      .hset(blob + reference, String(at / blobPieceBytes), bytes.subarray(at, at + blobPieceBytes))
      .pexpire(blob + reference, blobOrphanMs)
      .exec()
      .then(throwFirst);
  }
  return { ...result, text: reference, blobBytes: bytes.length };
}

/** A pipeline does not reject for a command that was refused. */
function throwFirst(replies: [error: Error | null, result: unknown][] | null): void {
  for (const [error] of replies ?? []) if (error !== null) throw error;
}

function groupsOf(entries: readonly Entry[]): Entry[][] {
  const { resultLines, resultBytes } = clusterDefaults;
  const groups: Entry[][] = [];
  let group: Entry[] = [];
  let size = 0;
  for (const entry of entries) {
    if (group.length > 0 && (group.length === resultLines || size + entry.text.length > resultBytes)) {
      groups.push(group);
      group = [];
      size = 0;
    }
    group.push(entry);
    size += entry.text.length;
  }
  if (group.length > 0) groups.push(group);
  return groups;
}
