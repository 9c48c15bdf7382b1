/**
 * An output line whose result lies in a file: spliced in piece by piece, so that it is never in memory as a whole.
 */
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import type { SpillFacts } from '../api.js';

export interface SpilledLine {
  /** Text of the line up to the result, and from there on, without the line end. */
  before: string;
  /** Held until it is written: the file goes with it. */
  file: SpillFacts;
  after: string;
}

const BLANK = 0x20;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * Writes the line with its end and removes the file.
 * @throws when the file cannot be read, or the signal (the output has failed) aborts.
 */
export async function writeSpilled(line: SpilledLine, output: Writable, signal: AbortSignal): Promise<void> {
  const offer = async (piece: string | Buffer): Promise<void> => {
    signal.throwIfAborted();
    if (!output.write(piece)) await once(output, 'drain', { signal });
  };
  const source = createReadStream(line.file.path);
  try {
    await once(source, 'open', { signal }); // before a byte of a line that could not be finished
    await offer(line.before);
    for await (const chunk of source) await offer(singleLine(chunk));
    await offer(`${line.after}\n`);
  } finally {
    source.destroy();
  }
  await rm(line.file.path, { force: true });
}

/** In place. Line breaks stand only between the tokens of valid JSON, so a blank in their place changes nothing. */
function singleLine(json: Buffer): Buffer {
  for (const mark of [LINE_FEED, CARRIAGE_RETURN]) {
    for (let at = json.indexOf(mark); at !== -1; at = json.indexOf(mark, at + 1)) json[at] = BLANK;
  }
  return json;
}
