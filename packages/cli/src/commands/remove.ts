/** `bulkhead remove`: takes a server out of the file that has it, and its approval with it. */
import { existsSync } from 'node:fs';
import {
  ApprovalStore,
  configPlace,
  editConfigFile,
  loadConfig,
  type WritableScope,
  writableScopes,
} from '@bulkhead/runtime';
import { BulkheadError } from '@bulkhead/workers';
import { type ConfigTarget, configTarget, type TargetOptions } from '../config-target.js';
import { type Context, usageError } from '../context.js';
import { exitCode } from '../exit-codes.js';
import { nearest } from '../nearest.js';
import { plain } from '../output.js';

export async function remove(name: string, options: TargetOptions, { output }: Context): Promise<number> {
  const target =
    options.scope === undefined && options.config === undefined
      ? await onlyPlaceOf(name)
      : configTarget(options, 'local');
  if (!existsSync(target.path))
    throw new BulkheadError('BAD_CONFIG', `${target.path}: there is no such file`);
  await editConfigFile(target.path, (names) => {
    if (!names.has(name)) throw unknown(name, target.path, [...names.keys()]);
    return { remove: [name] };
  });
  if (target.scope === 'project' || target.scope === 'local') {
    const store = await ApprovalStore.open(process.cwd(), (message) => output.note(`warning: ${message}`));
    await store.revoke(name);
  }
  const left = (await loadConfig()).servers.find((server) => server.name === name);
  output.note(`removed server "${plain(name)}" from ${target.path}`);
  if (left?.file !== undefined)
    output.note(`note: ${left.file} has a server "${plain(name)}" too, which counts now`);
  const { scope = 'file' } = target;
  if (output.json) await output.data(`${JSON.stringify({ server: name, scope, file: target.path })}\n`);
  return exitCode.ok;
}

async function onlyPlaceOf(name: string): Promise<ConfigTarget> {
  const places = await Promise.all(
    writableScopes.map(async (scope) => ({
      ...configPlace(scope, process.cwd()),
      scope,
      names: await namesIn(scope),
    })),
  );
  const [place, ...more] = places.filter(({ names }) => names.includes(name));
  if (place === undefined)
    throw unknown(name, 'the config', [...new Set(places.flatMap(({ names }) => names))]);
  if (more.length > 0) {
    const scopes = [place, ...more].map(({ scope }) => scope).join(' and ');
    throw usageError(
      `server "${name}" stands in several files (${scopes}); name one: --scope ${place.scope}`,
    );
  }
  return place;
}

async function namesIn(scope: WritableScope): Promise<string[]> {
  const { path } = configPlace(scope, process.cwd());
  if (!existsSync(path)) return [];
  const { servers, rejected } = await loadConfig({ files: [path] });
  return [...servers, ...rejected].map(({ name }) => name);
}

function unknown(name: string, where: string, names: readonly string[]): BulkheadError {
  const near = nearest(name, names).map(plain).join(', ');
  const hint = names.length === 0 ? 'it has none' : `nearest: ${near}`;
  return new BulkheadError('UNKNOWN_SERVER', `server "${name}" is not in ${where}; ${hint}`, {
    server: name,
  });
}
