/** `bulkhead down`: ends a resident, or all of them, and waits until it is gone. */
import { setTimeout as wait } from 'node:timers/promises';
import {
  ControlClient,
  type ControlEntry,
  configSource,
  isGone,
  listEntries,
  readEntry,
  removeEntry,
} from '@bulkhead/runtime/control/client';
import { startOf } from '@bulkhead/workers';
import { BulkheadError } from '@bulkhead/workers/errors';
import type { CommonOptions, Context } from '../context.js';
import { exitCode } from '../exit-codes.js';
import { ownEntry } from '../resident/find-resident.js';

export interface DownOptions extends CommonOptions {
  all?: boolean;
}

/** A runtime closes within 10 s; what is beyond that is stuck. */
const END_MS = 15_000;
const LOOK_MS = 20;

export async function down(options: DownOptions, context: Context): Promise<number> {
  const { output } = context;
  const entries = chosen(options);
  if (entries.length === 0) {
    output.note(options.all === true ? 'no resident is up' : `no resident is up for ${process.cwd()}`);
    return exitCode.ok;
  }
  const ended = await Promise.all(
    entries.map(async (entry) => {
      const failure = await end(entry, context);
      output.note(failure ?? `resident "${entry.name}" (process ${entry.pid}) has ended`);
      return failure === undefined;
    }),
  );
  return ended.every((one) => one) ? exitCode.ok : exitCode.unreachable;
}

function chosen(options: DownOptions): ControlEntry[] {
  if (options.all === true) return listEntries();
  if (typeof options.resident !== 'string') {
    const own = ownEntry(configSource(options.config));
    return own === undefined ? [] : [own];
  }
  const entry = readEntry(options.resident);
  if (entry !== undefined) return [entry];
  throw new BulkheadError(
    'NOT_READY',
    `no resident "${options.resident}" is up; bulkhead ps lists those that are`,
  );
}

/** @returns a sentence when it has not ended. */
async function end(entry: ControlEntry, { interrupt }: Context): Promise<string | undefined> {
  const { name, pid } = entry;
  const started = startOf(pid);
  try {
    await new ControlClient(entry, { signal: interrupt.signal }).shutdown();
  } catch (error) {
    if (!isGone(error)) return `error: resident "${name}" (process ${pid}): ${(error as Error).message}`;
    // Nobody listens: the process died, or the number belongs to another program by now.
    if ((error as BulkheadError).data.sent === false) {
      removeEntry(name);
      return undefined;
    }
  }
  const until = performance.now() + END_MS;
  while (startOf(pid) === started && started !== undefined) {
    if (performance.now() > until)
      return `error: resident "${name}" (process ${pid}) has not ended after ${END_MS} ms; end it by hand: kill ${pid}`;
    await interrupt.race(wait(LOOK_MS));
  }
  return undefined;
}
