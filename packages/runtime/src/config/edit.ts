/**
 * Changes of config files by a program, on behalf of a person: entries are added, replaced and removed, and nothing
 * else of the file changes. A file that cannot be read whole is never written.
 */
import { BulkheadError } from '@bulkhead/workers';
import { parseTree } from 'jsonc-parser';
import { readDocument } from './document.js';
import { type EntryValue, sectionOf, withEntry, withoutEntry } from './entry-edit.js';
import { alone, FileChanged, readState, replaceFile } from './file-change.js';
import { encodeText, newFileForm, readText, type TextForm, writeBlock } from './json-text.js';
import { formatProblem } from './types.js';

/** What is to become of a file: entries to write (an entry of that name is replaced), names to take out. */
export interface ConfigChange {
  set?: ReadonlyMap<string, EntryValue>;
  remove?: readonly string[];
}

/** How a file is made that is not there yet. */
export interface EditOptions {
  /** Mode of a file that is not there yet, default 0600; one that is keeps its own. */
  mode?: number;
}

/** What an edit did to the file. */
export interface EditReport {
  /** The file was not there before. */
  created: boolean;
  /** Bytes were written; false when there was nothing to change. */
  written: boolean;
}

/** Other programs may change the file meanwhile; then the change starts over from what they wrote. */
const MAX_TRIES = 5;

/**
 * Reads the file, has `decide` say what to change, writes.
 *
 * @param path absolute; links are followed. A missing file is an empty one.
 * @param decide gets the names that stand in the file, each with its 1-based line; what it throws ends the edit. Called
 * again when another program changed the file in between.
 * @throws {BulkheadError} `BAD_CONFIG` when the file has mistakes, cannot be read or written, or never stands still.
 */
export async function editConfigFile(
  path: string,
  decide: (names: ReadonlyMap<string, number>) => ConfigChange,
  options: EditOptions = {},
): Promise<EditReport> {
  try {
    return await alone(path, async () => {
      for (let tries = 1; ; tries++) {
        try {
          return await editOnce(path, decide, options.mode ?? 0o600);
        } catch (error) {
          if (!(error instanceof FileChanged)) throw error;
          if (tries === MAX_TRIES)
            throw bad(path, 'is being changed by another program; nothing was written, try again');
        }
      }
    });
  } catch (error) {
    if (error instanceof BulkheadError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    const why =
      code === undefined ? message : `cannot be changed (${code}); check who may write it and its directory`;
    throw bad(path, why, error);
  }
}

async function editOnce(
  path: string,
  decide: (names: ReadonlyMap<string, number>) => ConfigChange,
  mode: number,
): Promise<EditReport> {
  const state = await readState(path);
  const { text, form, names } = state.bytes === undefined ? fresh() : parsed(path, state.bytes);
  const { set = new Map<string, EntryValue>(), remove = [] } = decide(names);
  let next = text;
  for (const name of remove) next = withoutEntry(next, name);
  for (const [name, entry] of set) next = withEntry(next, name, entry, form);
  if (next === text) return { created: false, written: false };
  const bytes = encodeText(next, form);
  const { entries } = readDocument(path, bytes);
  const lost = [...set.keys()].find((name) => !entries.has(name)) ?? remove.find((name) => entries.has(name));
  if (lost !== undefined)
    throw new Error(`the edit of "${lost}" did not come out as it should; nothing was written`);
  await replaceFile(state, bytes, mode);
  return { created: state.bytes === undefined, written: true };
}

interface Editable {
  text: string;
  form: TextForm;
  names: Map<string, number>;
}

function fresh(): Editable {
  const text = `${writeBlock({ mcpServers: {} }, '', newFileForm)}\n`;
  return { text, form: newFileForm, names: new Map() };
}

function parsed(path: string, bytes: Uint8Array): Editable {
  const { entries, problems } = readDocument(path, bytes);
  const source = readText(bytes);
  const root = source === undefined ? undefined : sound(source.text);
  const section = root === undefined ? undefined : sectionOf(root);
  if (
    source === undefined ||
    root?.type !== 'object' ||
    (section !== undefined && section.type !== 'object')
  ) {
    const problem = problems.find(({ severity, server }) => severity === 'error' && server === undefined);
    const why = problem === undefined ? `${path}: cannot be edited` : formatProblem(problem);
    throw new BulkheadError('BAD_CONFIG', `${why}; the file was left as it is`);
  }
  return { ...source, names: new Map([...entries].map(([name, raw]) => [name, raw.lineOf([]) ?? 1])) };
}

/** The tree of a text without any mistake. */
function sound(text: string) {
  const errors: unknown[] = [];
  try {
    const root = parseTree(text, errors as never, { allowTrailingComma: true });
    return errors.length === 0 ? root : undefined;
  } catch {
    return undefined; // nested too deeply
  }
}

function bad(path: string, what: string, cause?: unknown): BulkheadError {
  return new BulkheadError('BAD_CONFIG', `${path}: ${what}`, cause === undefined ? {} : { cause });
}
