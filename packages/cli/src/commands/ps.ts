/** `bulkhead ps`: the residents of this user, whichever directory they are for. */
import {
  ControlClient,
  type ControlEntry,
  type Health,
  isUnsent,
  listEntries,
  removeEntry,
} from '@bulkhead/runtime/control/client';
import type { CommonOptions, Context } from '../context.js';
import { exitCode } from '../exit-codes.js';
import { plain } from '../output.js';
import { age } from '../resident/figures.js';
import { table } from '../table.js';

/** A resident that is up answers at once. */
const ANSWER_MS = 2_000;

interface Row extends Pick<ControlEntry, 'name' | 'pid' | 'startedAt'> {
  project: string | null;
  uptimeMs: number;
  /** Null when it does not answer. */
  ready: number | null;
  total: number | null;
}

export async function ps(_options: CommonOptions, { output }: Context): Promise<number> {
  const rows = (await Promise.all(listEntries().map(look))).filter((row) => row !== undefined);
  if (output.json) {
    await output.data(`${JSON.stringify(rows)}\n`);
    return exitCode.ok;
  }
  if (rows.length === 0) output.note('no resident is up; start one with: bulkhead up --detach');
  else
    await output.data(
      table(['name', 'pid', 'up', 'ready', 'project'], rows.map(cells), { right: [1, 2, 3] }),
    );
  return exitCode.ok;
}

async function look(entry: ControlEntry): Promise<Row | undefined> {
  const { name, pid, startedAt, project } = entry;
  let health: Health | undefined;
  try {
    health = await new ControlClient(entry).health(ANSWER_MS);
  } catch (error) {
    if (isUnsent(error)) {
      removeEntry(name);
      return undefined;
    }
  }
  return {
    name,
    pid,
    project: project ?? null,
    startedAt,
    uptimeMs: health?.uptimeMs ?? Math.max(0, Date.now() - Date.parse(startedAt)),
    ready: health?.ready ?? null,
    total: health?.total ?? null,
  };
}

function cells({ name, pid, uptimeMs, ready, total, project }: Row): string[] {
  const servers = ready === null ? 'no answer' : `${ready}/${total}`;
  return [plain(name), String(pid), age(uptimeMs), servers, project === null ? '-' : plain(project)];
}
