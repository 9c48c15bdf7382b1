/** How a process ended, as one sentence: what a person reads first. */
import type { ProcessEnd } from '../protocol.js';

export function describeEnd(end: ProcessEnd): string {
  const how = end.signal !== null ? `was ended by ${end.signal}` : `exited with code ${end.code}`;
  const last = end.stderr.at(-1);
  return `the server process ${how}${last === undefined ? '' : `; last on its stderr: ${last}`}`;
}
