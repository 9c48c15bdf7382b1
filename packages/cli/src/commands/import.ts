/** `bulkhead import`: takes over servers of another host's files, and says which it cannot take and why. */
import {
  editConfigFile,
  type ImportCandidate,
  type ImportReading,
  importHosts,
  readOtherHost,
} from '@bulkhead/runtime';
import { BulkheadError } from '@bulkhead/workers';
import { configTarget, modeFor, type TargetOptions } from '../config-target.js';
import { type Context, choice, usageError } from '../context.js';
import { exitCode } from '../exit-codes.js';
import { maskedEntry } from '../mask.js';
import { plain } from '../output.js';
import { clearSecrets } from '../server-entry.js';

export interface ImportCommandOptions extends TargetOptions {
  from?: string;
  file?: string;
  dryRun?: boolean;
  replace?: boolean;
}

type Fate = 'taken' | 'replaced' | 'exists' | 'refused';

export async function importServers(options: ImportCommandOptions, { output }: Context): Promise<number> {
  if (options.from === undefined) throw usageError(`--from: expected ${importHosts.join(', ')}`);
  const from = choice('--from', options.from, importHosts);
  const target = configTarget(options, 'user');
  const reading = await readOtherHost(from, {
    baseDir: target.baseDir,
    ...(options.file === undefined ? {} : { file: options.file }),
  });
  const { candidates } = reading;
  tellFiles(reading, options.file, output);
  const secrets = candidates.some(
    ({ entry }) => entry !== undefined && clearSecrets(membersOf(entry)).length > 0,
  );
  const fates = new Map<string, Fate>();
  const decide = (names: ReadonlyMap<string, number>) => {
    fates.clear();
    for (const { name, entry } of candidates) {
      const there = names.has(name);
      const fate =
        entry === undefined
          ? 'refused'
          : there
            ? options.replace === true
              ? 'replaced'
              : 'exists'
            : 'taken';
      fates.set(name, fate);
    }
    const taken = candidates.flatMap(({ name, entry }) =>
      entry !== undefined && ['taken', 'replaced'].includes(fates.get(name) ?? '')
        ? [[name, entry] as const]
        : [],
    );
    return options.dryRun === true ? {} : { set: new Map(taken) };
  };
  await editConfigFile(target.path, decide, { mode: modeFor(target, secrets) });
  const shown = candidates.map((candidate) => ({ candidate, fate: fates.get(candidate.name) ?? 'refused' }));
  if (output.json) {
    const rows = shown.map(({ candidate: { name, file, entry, refused, notes }, fate }) => ({
      server: name,
      from: file,
      fate,
      ...(entry === undefined ? {} : { runs: maskedEntry(membersOf(entry)) }),
      ...(refused === undefined ? {} : { reason: refused }),
      notes,
    }));
    await output.data(
      `${JSON.stringify({ file: target.path, dryRun: options.dryRun === true, servers: rows })}\n`,
    );
  } else {
    await output.data(
      shown.map(({ candidate, fate }) => line(candidate, fate, options.dryRun === true)).join(''),
    );
  }
  const taken = shown.filter(({ fate }) => fate === 'taken' || fate === 'replaced').length;
  const verb = options.dryRun === true ? 'would be taken' : 'taken';
  output.note(
    `${taken} of ${candidates.length} ${candidates.length === 1 ? 'server' : 'servers'} ${verb} into ${target.path}`,
  );
  return exitCode.ok;
}

function membersOf(entry: NonNullable<ImportCandidate['entry']>): Map<string, unknown> {
  return new Map<string, unknown>(entry instanceof Map ? entry : Object.entries(entry));
}

function tellFiles({ files }: ImportReading, named: string | undefined, output: Context['output']): void {
  for (const { path, is, why } of files) {
    if (is === 'unusable') output.note(`warning: nothing is taken from ${path}: ${why}`);
    else if (is === 'ours') output.note(`note: ${path} is read by bulkhead as it stands`);
  }
  if (files.some(({ is }) => is !== 'missing')) return;
  const looked = files.map(({ path }) => path).join(', ');
  const hint = named === undefined ? '; name the file with --file' : '';
  throw new BulkheadError('BAD_INPUT', `there is no such file: ${looked}${hint}`);
}

function line({ name, entry, refused, notes }: ImportCandidate, fate: Fate, isDry: boolean): string {
  const what = {
    taken: isDry ? 'would be taken' : 'taken',
    replaced: isDry ? 'would replace the one that is there' : 'replaced the one that was there',
    exists: 'not taken: a server of that name is there already (--replace takes it)',
    refused: `cannot be taken: ${plain(refused ?? '')}`,
  }[fate];
  const runs = entry === undefined ? [] : [`  ${plain(maskedEntry(membersOf(entry)))}`];
  return [`${plain(name)}: ${what}`, ...runs, ...notes.map((note) => `  ${plain(note)}`)]
    .map((text) => `${text}\n`)
    .join('');
}
