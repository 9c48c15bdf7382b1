/** What can be seen of a server before it is started: its program, its directory, its variables. */
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, resolve } from 'node:path';
import type { LoadedServer } from '@bulkhead/runtime';

/** One look at one thing. */
export interface Check {
  check:
    | 'config'
    | 'approval'
    | 'command'
    | 'cwd'
    | 'env'
    | 'url'
    | 'start'
    | 'protocol'
    | 'tools'
    | 'ping'
    | 'output';
  result: 'ok' | 'warning' | 'failed' | 'skipped';
  /** A sentence part for a person. */
  detail: string;
}

type Launch = LoadedServer['spec']['launch'];
type Program = Extract<Launch, { type: 'stdio' }>;

export async function checksBefore({ spec, written }: LoadedServer): Promise<Check[]> {
  const { launch } = spec;
  if (launch.type !== 'stdio') {
    return [{ check: 'url', result: 'ok', detail: `${launch.type} at ${new URL(launch.url).origin}` }];
  }
  const env = written.env ?? [];
  const passed = launch.env.length;
  const own = env.length === 0 ? 'none of its own' : `of its own: ${env.join(', ')}`;
  return [
    await command(launch),
    await directory(launch),
    { check: 'env', result: 'ok', detail: `${passed} variables; ${own}` },
  ];
}

async function command(launch: Program): Promise<Check> {
  const places = placesOf(launch);
  let found: string | undefined;
  for (const place of places) {
    const isFile = await stat(place).then(
      (stats) => stats.isFile(),
      () => false,
    );
    if (!isFile) continue;
    found ??= place;
    if (process.platform === 'win32' || (await mayRun(place)))
      return { check: 'command', result: 'ok', detail: place };
  }
  const detail =
    found === undefined
      ? `there is no program "${launch.command}"${places.length > 1 ? ' in PATH' : ''}`
      : `${found} may not be executed`;
  return { check: 'command', result: 'failed', detail };
}

async function directory({ cwd }: Program): Promise<Check> {
  const isDirectory = await stat(cwd).then(
    (stats) => stats.isDirectory(),
    () => undefined,
  );
  if (isDirectory === true) return { check: 'cwd', result: 'ok', detail: cwd };
  return {
    check: 'cwd',
    result: 'failed',
    detail: `${cwd} ${isDirectory === false ? 'is no directory' : 'does not exist'}`,
  };
}

function placesOf({ command: program, cwd, env }: Program): string[] {
  const isPath = process.platform === 'win32' ? /[\\/]/.test(program) : program.includes('/');
  if (isPath) return [resolve(cwd, program)];
  const path = env.find(([name]) => name.toUpperCase() === 'PATH')?.[1] ?? '';
  const suffixes =
    process.platform === 'win32' ? ['', ...(process.env.PATHEXT ?? '.EXE;.CMD;.BAT').split(';')] : [''];
  return path
    .split(delimiter)
    .flatMap((part) => suffixes.map((suffix) => resolve(cwd, part, program + suffix)));
}

function mayRun(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
