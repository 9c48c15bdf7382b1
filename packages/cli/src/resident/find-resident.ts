/**
 * Which resident a command talks to: the one that was named, else the one of this project and these config files. Loads
 * nothing heavy.
 */
import {
  type ConfigSource,
  ControlClient,
  type ControlEntry,
  configMark,
  configSource,
  defaultName,
  listEntries,
  readEntry,
} from '@bulkhead/runtime/control/client';
import { BulkheadError } from '@bulkhead/workers/errors';
import { type CommonOptions, type Context, trustsProject } from '../context.js';
import { recordFile } from '../recording.js';

/** Name of the resident of these files in this directory, unless it was given another. */
export function ownName({ projectDir, files }: ConfigSource): string {
  return defaultName(projectDir, files);
}

/** The entry of the resident for this configuration, whatever its name. */
export function ownEntry(source: ConfigSource): ControlEntry | undefined {
  const { projectDir, files } = source;
  return (
    readEntry(ownName(source)) ??
    listEntries().find(
      (entry) =>
        entry.project === projectDir &&
        files.length === (entry.files?.length ?? 0) &&
        files.every((file, index) => entry.files?.[index] === file),
    )
  );
}

/**
 * The resident that may stand in for servers of this command's own; undefined when there is none, or none is wanted.
 * It refuses every request when its configuration is another one.
 */
export function standIn(options: CommonOptions, { output, interrupt }: Context): ControlClient | undefined {
  if (options.resident === false || options.audit !== undefined || recordFile() !== undefined)
    return undefined;
  try {
    const source = configSource(options.config);
    const entry = ownEntry(source);
    if (entry === undefined) return undefined;
    const config = { mark: configMark(source), trusting: trustsProject(options) };
    const client = new ControlClient(entry, { config, signal: interrupt.signal });
    if (client.misfit === undefined) return client;
    output.note(`note: ${client.misfit}. Servers of this command's own are used`);
  } catch (error) {
    output.note(`warning: ${(error as Error).message}; servers of this command's own are used`);
  }
  return undefined;
}

/** @throws {BulkheadError} `NOT_READY` when no resident of that name is up. */
export function demanded(name: string, { interrupt }: Context): ControlClient {
  const entry = readEntry(name);
  if (entry === undefined) throw noResident(`no resident "${name}" is up`);
  return usable(new ControlClient(entry, { signal: interrupt.signal }));
}

/**
 * The resident that a command about residents means.
 * @throws {BulkheadError} `NOT_READY` with what to do when there is none.
 */
export function meant(options: CommonOptions, context: Context): ControlClient {
  if (typeof options.resident === 'string') return demanded(options.resident, context);
  const source = configSource(options.config);
  const entry = ownEntry(source);
  if (entry === undefined) throw noResident(`no resident is up for ${source.projectDir}`);
  return usable(new ControlClient(entry, { signal: context.interrupt.signal }));
}

function usable(client: ControlClient): ControlClient {
  if (client.misfit !== undefined) throw new BulkheadError('UNSUPPORTED', client.misfit);
  return client;
}

function noResident(what: string): BulkheadError {
  const names = listEntries().map(({ name }) => name);
  const next =
    names.length === 0
      ? 'start one with: bulkhead up --detach'
      : `start one with bulkhead up --detach, or name one that is up with --resident: ${names.join(', ')}`;
  return new BulkheadError('NOT_READY', `${what}; ${next}`, { data: { kind: 'no-resident' } });
}
