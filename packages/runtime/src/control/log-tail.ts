/** The end of a log file, and what is written to it from then on, over rotations. */
import { type FileHandle, open } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';

const BLOCK_BYTES = 64 * 1024;
/** Whoever wants more than this of a log reads the file. */
const MOST_BYTES = 8 * 1024 * 1024;
const LOOK_MS = 250;

/** @param signal ends the following. */
export async function* tailLog(
  path: string,
  options: { lines: number; follow: boolean; signal: AbortSignal },
): AsyncGenerator<Uint8Array> {
  const { lines, follow, signal } = options;
  const first = await lastLines(path, lines);
  let { end, inode } = first;
  if (first.bytes.length > 0) yield first.bytes;
  while (follow && !signal.aborted) {
    await wait(LOOK_MS, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    const file = await opened(path);
    if (file === undefined) continue;
    try {
      const { size, ino } = await file.stat();
      // Another file, or one that starts anew: rotated.
      if (ino !== inode || size < end) {
        inode = ino;
        end = 0;
      }
      while (end < size && !signal.aborted) {
        const bytes = await readAt(file, end, Math.min(BLOCK_BYTES, size - end));
        if (bytes.length === 0) break;
        end += bytes.length;
        yield bytes;
      }
    } finally {
      await file.close();
    }
  }
}

async function lastLines(
  path: string,
  lines: number,
): Promise<{ bytes: Buffer; end: number; inode: number }> {
  const file = await opened(path);
  if (file === undefined) return { bytes: Buffer.alloc(0), end: 0, inode: 0 };
  try {
    const { size, ino: inode } = await file.stat();
    let bytes = Buffer.alloc(0);
    let at = size;
    let cut = lines === 0 ? 0 : -1;
    while (cut === -1 && at > 0 && bytes.length < MOST_BYTES) {
      const from = Math.max(0, at - BLOCK_BYTES);
      bytes = Buffer.concat([await readAt(file, from, at - from), bytes]);
      at = from;
      cut = startOfLast(bytes, lines);
    }
    return { bytes: lines === 0 ? Buffer.alloc(0) : bytes.subarray(Math.max(0, cut)), end: size, inode };
  } finally {
    await file.close();
  }
}

/** Where the last `lines` lines begin; -1 when there are not as many. */
function startOfLast(bytes: Buffer, lines: number): number {
  // A newline at the very end ends the last line and begins none.
  let at = bytes.at(-1) === 0x0a ? bytes.length - 1 : bytes.length;
  for (let found = 0; found < lines; found++) {
    if (at === 0) return -1;
    at = bytes.lastIndexOf(0x0a, at - 1);
    if (at === -1) return -1;
  }
  return at + 1;
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  const { bytesRead } = await file.read(bytes, 0, length, position);
  return bytes.subarray(0, bytesRead);
}

async function opened(path: string): Promise<FileHandle | undefined> {
  return open(path).catch(() => undefined);
}
