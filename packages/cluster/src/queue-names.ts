/**
 * Which queue the chunks of a server wait in, and what chunks are called. Submitters know servers only by what input
 * lines say, workers by their config; both sides come to the same names here. Pure.
 */
import { createHash } from 'node:crypto';

/** No character of a clean name: what stands behind it cannot be part of another server's name. */
const MARK = '.';
const PREFIX = 'bulkhead-';
const FULL_NAME = 'mcp__';
const SEPARATOR = '__';
/** As in full names of tools: when one must be shortened, its server keeps at least this much. */
const SERVER_MIN = 16;

/** How queues name a server: `[A-Za-z0-9_-]`, with a hash when anything had to be replaced. */
export function cleanServer(server: string): string {
  const clean = replaced(server);
  return clean === server && clean !== '' ? clean : `${clean}${MARK}${digest(server).toString('hex', 0, 4)}`;
}

/**
 * Queue name of a server for an input line.
 * @param server The line's `server`; undefined when `tool` is a full name, which then says it.
 */
export function routeOf(server: string | undefined, tool: string): string {
  return server === undefined ? named(serverPart(tool.slice(FULL_NAME.length))) : cleanServer(server);
}

/** All names under which lines for this server may be queued, the clean one first. */
export function routesOf(server: string): string[] {
  return [...new Set([cleanServer(server), named(serverPart(`${replaced(server)}${SEPARATOR}`))])];
}

/**
 * Whether lines queued under `route` may be for this server: one of {@link routesOf}, or the beginning of a name that was
 * too long for a full name.
 */
export function serves(server: string, route: string): boolean {
  return (
    routesOf(server).includes(route) || (route.length >= SERVER_MIN && replaced(server).startsWith(route))
  );
}

/** @param route Of {@link routeOf}. @param shard Undefined: the queue of lines without `affinity`. */
export function queueName(route: string, shard?: number): string {
  return shard === undefined ? PREFIX + route : `${PREFIX}${route}${MARK}s${shard}`;
}

/** Same key, same shard: 0 to `shards` - 1. */
export function shardOf(affinity: string, shards: number): number {
  return digest(affinity).readUInt32BE(0) % shards;
}

/** Job id of a chunk: the same for the same input, so that it is added once however often it is submitted. */
export function chunkId(batch: string, queue: string, index: number): string {
  return `${batch}_${queue}_${index}`;
}

export function queueOfChunk(chunk: string): string {
  return chunk.slice(chunk.indexOf('_') + 1, chunk.lastIndexOf('_'));
}

/** Begins with the time, so that ids sort by age. */
export function newBatchId(now: Date, random: () => number): string {
  const stamp = now.toISOString().replace(/[-:]/g, '').replace('T', '-').slice(0, 15);
  const tail = Math.floor(random() * 36 ** 6);
  return `b${stamp}-${tail.toString(36).padStart(6, '0')}`;
}

/** Ids stand in keys, in job ids before the first `_`, and on command lines. */
export function isBatchId(id: string): boolean {
  return /^[A-Za-z][A-Za-z0-9-]{0,63}$/.test(id);
}

/** As full names of tools have it: one underscore for each character that is replaced. */
function replaced(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/gu, '_');
}

function serverPart(text: string): string {
  const end = text.indexOf(SEPARATOR);
  return end === -1 ? text : text.slice(0, end);
}

/** What a full name says is clean, unless somebody wrote it wrongly. */
function named(server: string): string {
  return server === '' ? MARK : cleanServer(server);
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
