/** Entry of the pool's threads: stateless tasks, one exported function each. */
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface ShapeTask {
  text: string;
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

/** Cuts a text to a budget of UTF-8 bytes; the whole goes to a 0600 file that the cut names. */
export async function shape({ text, maxBytes, directory }: ShapeTask): Promise<ShapeAnswer> {
  const whole = Buffer.from(text.toWellFormed());
  if (whole.length <= maxBytes) return { text: whole.toString(), bytes: whole.length, truncated: false };
  const file = join(directory, `result-${randomUUID()}.txt`);
  await writeFile(file, whole, { mode: 0o600 });
  const note = (cut: number) =>
    `\n[… ${cut} of ${whole.length} bytes left out; the whole text is in ${file} …]\n`;
  const room = Math.max(0, maxBytes - Buffer.byteLength(note(whole.length)));
  const headEnd = boundary(whole, Math.floor(room * HEAD_SHARE), -1);
  const tailStart = boundary(whole, whole.length - (room - headEnd), 1);
  const cut = tailStart - headEnd;
  return {
    text: whole.toString('utf8', 0, headEnd) + note(cut) + whole.toString('utf8', tailStart),
    bytes: whole.length,
    truncated: true,
    file,
  };
}

/** The nearest place in the direction of `step` that does not cut a character: UTF-8 continuation bytes are 10xxxxxx. */
function boundary(bytes: Buffer, from: number, step: 1 | -1): number {
  let at = from;
  while (at > 0 && at < bytes.length && ((bytes[at] ?? 0) & 0xc0) === 0x80) at += step;
  return at;
}
