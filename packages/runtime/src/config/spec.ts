/**
 * From a valid entry to what the supervisor takes: variables and `~` expanded, paths made absolute, the child's
 * environment built, numbers filled in, fingerprints taken. Messages show texts as written, never expanded ones.
 */
import { createHash } from 'node:crypto';
import { delimiter, isAbsolute, resolve } from 'node:path';
import type { Launch, ServerOptions, ServerSpec } from '@bulkhead/workers';
import { authSettings } from './auth.js';
import type { Finding } from './entry.js';
import { childEnvironment, variableLookup } from './environment.js';
import { expandTilde } from './expand.js';
import { type ExpandField, fieldExpander } from './field.js';
import { printable } from './printable.js';
import { headersOf, urlProblem } from './remote.js';
import type { Endpoint, Entry } from './schema.js';
import type { WrittenLaunch } from './types.js';

export interface SpecContext {
  /** Absolute directory that relative paths of the entry start from. */
  baseDir: string;
  home: string;
  /** Variables of the host. */
  host: ReadonlyMap<string, string>;
  /** `process.platform`. */
  platform: string;
  /** What holds when the entry does not say. */
  defaults: ServerOptions;
  exists: (path: string) => boolean;
}

/** Resolves an entry. Without a `spec` at least one finding is an error. */
export function specFromEntry(
  name: string,
  entry: Entry,
  context: SpecContext,
): { spec?: ServerSpec; findings: Finding[] } {
  const findings: Finding[] = [];
  const lookup = variableLookup(context.host, context.platform);
  const field = fieldExpander(lookup, findings);
  const { endpoint } = entry;
  const launch =
    endpoint.type === 'stdio'
      ? stdioLaunch(endpoint, context, field, findings)
      : remoteLaunch(endpoint, context, field, findings);
  if (findings.some(({ severity }) => severity === 'error')) return { findings };

  const merged: ServerOptions = { ...context.defaults, ...entry.options };
  // A longer idle limit would otherwise be cut by a hard limit that nobody wrote.
  const callMaxMs = entry.options.callMaxMs ?? Math.max(merged.callMaxMs, merged.callTimeoutMs);
  const options: ServerOptions = { ...merged, callMaxMs };
  const { lifecycle, idleStopMs, protocol, disabled } = entry;
  const parts = [
    name,
    fingerprintParts(launch, entry),
    Object.entries(options).sort(),
    lifecycle,
    idleStopMs,
    protocol,
    disabled,
  ];
  return {
    spec: { name, launch, options, lifecycle, idleStopMs, protocol, disabled, fingerprint: sha256(parts) },
    findings,
  };
}

/** SHA-256 (hex) of what would run, before expansion; see `LoadedServer.approvalFingerprint`. */
export function approvalFingerprint(entry: Entry): string {
  const { endpoint } = entry;
  // Whoever approved a server did not thereby believe it.
  const trust = entry.trust ? ['trust'] : [];
  return endpoint.type === 'stdio'
    ? sha256([
        endpoint.type,
        endpoint.command,
        endpoint.args,
        sorted(endpoint.env),
        endpoint.inheritEnv,
        endpoint.cwd ?? null,
        ...trust,
      ])
    : sha256([
        endpoint.type,
        endpoint.url,
        sorted(endpoint.headers),
        endpoint.auth === undefined ? null : sorted(endpoint.auth),
        endpoint.headersHelper ?? null,
        ...trust,
      ]);
}

/** The fields behind {@link approvalFingerprint}, for a person who is told what changed. */
export function writtenLaunch({ endpoint, trust }: Entry): WrittenLaunch {
  const names = (map: ReadonlyMap<string, unknown>) => [...map.keys()].sort();
  if (endpoint.type === 'stdio') {
    const { type, command, args, env, inheritEnv, cwd } = endpoint;
    return { type, command, args, env: names(env), inheritEnv, trust, ...(cwd === undefined ? {} : { cwd }) };
  }
  const { type, url, headers, headersHelper, auth } = endpoint;
  return {
    type,
    url,
    trust,
    headers: names(headers),
    ...(headersHelper === undefined ? {} : { headersHelper }),
    ...(auth === undefined ? {} : { auth: names(auth) }),
  };
}

/** What would run as one line, as written and safe to print. */
export function previewOf({ endpoint }: Entry): string {
  if (endpoint.type !== 'stdio') return printable(endpoint.url);
  const quote = (part: string) => (/^[^\s"'\\]+$/.test(part) ? part : JSON.stringify(part));
  return printable([endpoint.command, ...endpoint.args].map(quote).join(' '));
}

/** Equal for two servers that would run or reach the same. */
export function endpointKey({ launch }: ServerSpec): string {
  return sha256(launchParts(launch));
}

type StdioEndpoint = Extract<Endpoint, { type: 'stdio' }>;
type RemoteEndpoint = Exclude<Endpoint, StdioEndpoint>;

function stdioLaunch(
  endpoint: StdioEndpoint,
  context: SpecContext,
  field: ExpandField,
  findings: Finding[],
): Launch {
  const { baseDir, home, host, platform } = context;
  const fail = (path: Finding['path'], message: string, hint: string) =>
    findings.push({ severity: 'error', path, message, hint });

  const own = new Map<string, string | null>();
  for (const [name, value] of endpoint.env) {
    if (name === '' || /[=\0]/.test(name))
      fail(['env', name], 'is no name of a variable', 'rename or remove it');
    own.set(name, value === null ? null : field(value, ['env', name]));
  }
  const cwd = resolve(baseDir, expandTilde(field(endpoint.cwd ?? '', ['cwd']), home));
  const args = endpoint.args.map((arg, index) => field(arg, ['args', index]));
  let command = expandTilde(field(endpoint.command, ['command']), home);
  const isPath = platform === 'win32' ? /[\\/]/.test(command) : command.includes('/');
  if (isPath && !isAbsolute(command)) command = resolve(cwd, command);

  const env = childEnvironment({ host, platform, own, inherit: endpoint.inheritEnv });
  const texts: [Finding['path'], string][] = [
    [['command'], command],
    [['cwd'], cwd],
    ...args.map((arg, index): [Finding['path'], string] => [['args', index], arg]),
    ...[...own].map(([name, value]): [Finding['path'], string] => [['env', name], value ?? '']),
  ];
  // The kernel ends every one of these texts at the first NUL.
  for (const [path, text] of texts) {
    if (text.includes('\0')) fail(path, 'holds a NUL character', 'remove it');
  }
  if (findings.some(({ severity }) => severity === 'error'))
    return { type: 'stdio', command, args, env, cwd };

  if (command === '') {
    fail(['command'], 'is empty after expansion', 'name the program to start');
  } else if (/\s/.test(command) && !candidates(command, isPath, cwd, env).some(context.exists)) {
    const [first = '', ...rest] = shellWords(endpoint.command);
    const split = `"command": ${JSON.stringify(first)}, "args": ${JSON.stringify([...rest, ...endpoint.args])}`;
    const hint = `no shell reads it; split it: ${split}`;
    fail(['command'], `there is no program named ${JSON.stringify(endpoint.command)}`, hint);
  }
  return { type: 'stdio', command, args, env, cwd };
}

function remoteLaunch(
  endpoint: RemoteEndpoint,
  { baseDir, host, platform }: SpecContext,
  field: ExpandField,
  findings: Finding[],
): Launch {
  const url = field(endpoint.url, ['url']).trim();
  const headers = headersOf(endpoint.headers, field, findings);
  // A URL with a hole where a variable should be would only repeat what is reported already.
  const problem = findings.some(({ severity, path }) => severity === 'error' && path[0] === 'url')
    ? undefined
    : urlProblem(url, endpoint.url);
  if (problem !== undefined) findings.push(problem);
  const auth = endpoint.auth === undefined ? {} : { auth: authSettings(endpoint.auth, field) };
  if (endpoint.headersHelper === undefined) return { type: endpoint.type, url, headers, ...auth };
  const helper = {
    command: field(endpoint.headersHelper, ['headersHelper']),
    cwd: baseDir,
    env: childEnvironment({ host, platform, own: new Map(), inherit: false }),
  };
  return { type: endpoint.type, url, headers, ...auth, helper };
}

/** Where a command may lie: at its path, or in the directories of the child's `PATH`. */
function candidates(command: string, isPath: boolean, cwd: string, env: [string, string][]): string[] {
  if (isPath) return [command];
  const path = env.find(([name]) => name.toUpperCase() === 'PATH')?.[1] ?? '';
  return path.split(delimiter).map((dir) => resolve(cwd, dir, command));
}

/** The words a shell would make of a line: quotes and backslashes only, for a hint. */
function shellWords(line: string): string[] {
  const words = line.match(/(?:"(?:\\.|[^"\\])*"|'[^']*'|\\.|[^\s"'\\]|["'\\])+/g) ?? [];
  return words.map((word) =>
    word.replaceAll(/"((?:\\.|[^"\\])*)"|'([^']*)'|\\(.)/g, (_, double, single, escaped) =>
      double === undefined ? (single ?? escaped) : String(double).replaceAll(/\\(.)/g, '$1'),
    ),
  );
}

/**
 * The host's `TERM` or `LANG` may differ from one terminal to the next without making another server of it; what the
 * entry sets does, and so does `PATH`, which decides what `node` is.
 */
function fingerprintParts(launch: Launch, { endpoint }: Entry): unknown[] {
  if (launch.type !== 'stdio' || endpoint.type !== 'stdio') return launchParts(launch);
  const counts = launch.env.filter(([name]) => name.toUpperCase() === 'PATH' || endpoint.env.has(name));
  const removed = [...endpoint.env].filter(([, value]) => value === null).map(([name]) => name);
  return [...launchParts({ ...launch, env: counts }), removed.sort(), endpoint.inheritEnv];
}

function launchParts(launch: Launch): unknown[] {
  return launch.type === 'stdio'
    ? [launch.type, launch.command, launch.args, launch.env, launch.cwd]
    : [launch.type, launch.url, launch.headers, launch.auth ?? null, launch.helper?.command ?? null];
}

function sorted<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}

function sha256(parts: unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
