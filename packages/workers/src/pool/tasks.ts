/**
 * Entry of the pool's threads: stateless tasks, one exported function each. What a task is lent it gives back before it
 * begins, so that a task that is cancelled or dies costs only itself.
 */
import { randomUUID } from 'node:crypto';
import { copyFile, type FileHandle, link, open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { MessagePort } from 'node:worker_threads';
import { readResult, resultText } from '../result-text.js';
import { heavierThan } from '../server/envelope.js';

/** Where the pool finds a result. Whatever is not `text` is the JSON text of one, in UTF-8 where it is bytes. */
export type ShapeSource =
  | { kind: 'text'; text: string }
  | { kind: 'json'; json: string }
  /** Transferred; they go home over the port, and `returned[0]` becomes 1. */
  | { kind: 'lent'; bytes: Uint8Array<ArrayBuffer>; home: MessagePort; returned: Int32Array }
  | { kind: 'file'; path: string; bytes: number };

export interface ShapeTask {
  source: ShapeSource;
  maxBytes: number;
  directory: string;
}

export interface ShapeAnswer {
  text: string;
  bytes: number;
  truncated: boolean;
  file?: string;
}

/** Share of the budget that goes to the head; the rest is the tail, where errors and totals usually stand. */
const HEAD_SHARE = 0.7;
/** A longer result is cut as the JSON that it is: parsing it could end the process (see `LARGE_BYTES`). */
const PARSE_MAX_BYTES = 64 * 1024 * 1024;
const PARSE_MAX_VALUES = 2_000_000;

/** Cuts the text of a result to a budget of UTF-8 bytes; the whole goes to a 0600 file that the cut names. */
export async function shape({ source, maxBytes, directory }: ShapeTask): Promise<ShapeAnswer> {
  if (source.kind === 'file' && source.bytes > PARSE_MAX_BYTES) return shapeFile(source, maxBytes, directory);
  const whole = await textOf(source);
  if (whole.length <= maxBytes) return { text: whole.toString(), bytes: whole.length, truncated: false };
  const file = join(directory, `result-${randomUUID()}.txt`);
  await writeFile(file, whole, { mode: 0o600 });
  const { head, tail, note } = plan(whole.length, maxBytes, file);
  const headEnd = boundary(whole, head, -1);
  const tailStart = boundary(whole, whole.length - tail, 1);
  const text =
    whole.toString('utf8', 0, headEnd) + note(tailStart - headEnd) + whole.toString('utf8', tailStart);
  return { text, bytes: whole.length, truncated: true, file };
}

async function textOf(source: ShapeSource): Promise<Buffer> {
  switch (source.kind) {
    case 'text':
      return Buffer.from(source.text.toWellFormed());
    case 'json':
      return decoded(Buffer.from(source.json), source.json);
    case 'lent':
      return decoded(givenBack(source));
    case 'file':
      return decoded(await readFile(source.path));
  }
}

/** The text of a result; its JSON where decoding is not safe. */
function decoded(json: Buffer, raw?: string): Buffer {
  if (json.length > PARSE_MAX_BYTES || heavierThan(json, PARSE_MAX_VALUES)) return json;
  const text = raw ?? json.toString();
  return Buffer.from(resultText(text, readResult(text)).toWellFormed());
}

/** A copy; the original is on its way home when this returns. */
function givenBack({ bytes, home, returned }: Extract<ShapeSource, { kind: 'lent' }>): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.byteLength);
  copy.set(bytes);
  home.postMessage(bytes, [bytes.buffer]);
  Atomics.store(returned, 0, 1);
  Atomics.notify(returned, 0);
  return copy;
}

/** Head and tail of the JSON in a file: constant memory, whatever its size. */
async function shapeFile(
  { path, bytes }: Extract<ShapeSource, { kind: 'file' }>,
  maxBytes: number,
  directory: string,
): Promise<ShapeAnswer> {
  const name = join(directory, `result-${randomUUID()}.json`);
  // A second name, since the first goes with the result; a copy only where the directories lie on two file systems.
  await link(path, name).catch(() => copyFile(path, name));
  const { head, tail, note } = plan(bytes, maxBytes, name);
  const file = await open(name);
  try {
    // One byte more at the inner ends, to see whether the cut falls into a character.
    const first = await part(file, 0, head + 1);
    const last = await part(file, bytes - tail - 1, tail + 1);
    const headEnd = boundary(first, head, -1);
    const tailStart = boundary(last, 1, 1);
    const left = bytes - headEnd - (last.length - tailStart);
    const text = first.toString('utf8', 0, headEnd) + note(left) + last.toString('utf8', tailStart);
    return { text, bytes, truncated: true, file: name };
  } finally {
    await file.close();
  }
}

async function part(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  let at = 0;
  while (at < length) {
    const { bytesRead } = await file.read(buffer, at, length - at, position + at);
    if (bytesRead === 0) break;
    at += bytesRead;
  }
  return buffer.subarray(0, at);
}

/** How many bytes stay in front and at the end, and the note between them. */
function plan(bytes: number, maxBytes: number, file: string) {
  const note = (cut: number) => `\n[… ${cut} of ${bytes} bytes left out; the whole text is in ${file} …]\n`;
  const room = Math.max(0, maxBytes - Buffer.byteLength(note(bytes)));
  const head = Math.floor(room * HEAD_SHARE);
  return { head, tail: room - head, note };
}

/** The nearest place in the direction of `step` that does not cut a character: UTF-8 continuation bytes are 10xxxxxx. */
function boundary(bytes: Buffer, from: number, step: 1 | -1): number {
  let at = from;
  while (at > 0 && at < bytes.length && ((bytes[at] ?? 0) & 0xc0) === 0x80) at += step;
  return at;
}
