/**
 * The whole configuration: reads the files of every scope, lets later ones win name by name, and resolves what is
 * left into specs. Nothing here throws for a bad file or entry: it becomes a problem, and the rest works.
 */

import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { type ServerOptions, serverDefaults } from '@bulkhead/workers';
import { secretsOf } from '../secrets.js';
import { readDocument } from './document.js';
import { parseDuration } from './duration.js';
import { codeEntry, type Finding, type RawEntry } from './entry.js';
import { hostVariables, variableLookup } from './environment.js';
import { optionRanges } from './fields.js';
import { baseDirOf, type FileLocation, locateFiles } from './locate.js';
import { readEntry, readSwitch } from './schema.js';
import {
  approvalFingerprint,
  endpointKey,
  previewOf,
  type SpecContext,
  specFromEntry,
  writtenLaunch,
} from './spec.js';
import type { ConfigProblem, LoadConfigOptions, LoadedConfig, LoadedServer, Scope } from './types.js';

const MAX_FILE_BYTES = 8 * 1024 * 1024;

/** An entry with its place; of several with one name the last counts. */
interface Candidate {
  raw: RawEntry;
  scope: Scope;
  file?: string;
  baseDir: string;
}

/**
 * Reads the config files and resolves their entries.
 *
 * Later files win by whole entries: user < project < local, or user (on request) < `files` in their order.
 * Never rejects for what stands in files: see `problems` and `rejected`.
 */
export async function loadConfig(options: LoadConfigOptions = {}): Promise<LoadedConfig> {
  const host = hostOf(options);
  const locations = locateFiles({
    cwd: host.cwd,
    home: host.context.home,
    xdgConfigHome: host.context.host.get('XDG_CONFIG_HOME'),
    files: options.files,
    userFile: options.userFile,
  });
  const problems = host.problems;
  const files: string[] = [];
  const stacks = new Map<string, Candidate[]>();
  for (const { path: file, scope, required } of locations) {
    const bytes = await readBytes({ path: file, scope, required }, problems);
    if (bytes === undefined) continue;
    files.push(file);
    const document = readDocument(file, bytes);
    problems.push(...document.problems);
    for (const [name, raw] of document.entries) {
      const candidate = { raw, scope, file, baseDir: baseDirOf(file) };
      stacks.set(name, [...(stacks.get(name) ?? []), candidate]);
    }
  }
  return { ...resolveAll(stacks, host.context, problems), files, projectDir: host.cwd };
}

/**
 * Resolves entries given in code, by the same rules as in files. Relative paths start from `cwd`
 * (default `process.cwd()`), variables come from `env` (default `process.env`).
 */
export function resolveServers(
  servers: Readonly<Record<string, unknown>> | ReadonlyMap<string, unknown>,
  options: Pick<LoadConfigOptions, 'cwd' | 'env'> = {},
): LoadedConfig {
  const host = hostOf(options);
  const stacks = new Map<string, Candidate[]>();
  for (const [name, value] of servers instanceof Map ? servers : Object.entries(servers)) {
    stacks.set(name, [{ raw: codeEntry(name, value), scope: 'code', baseDir: host.cwd }]);
  }
  return { ...resolveAll(stacks, host.context, host.problems), files: [], projectDir: host.cwd };
}

type Surroundings = Omit<SpecContext, 'baseDir'>;

function hostOf(options: LoadConfigOptions) {
  const cwd = resolve(options.cwd ?? process.cwd());
  const host = hostVariables(options.env ?? process.env);
  const { platform } = process;
  const problems: ConfigProblem[] = [];
  const lookup = variableLookup(host, platform);
  const home = lookup(platform === 'win32' ? 'USERPROFILE' : 'HOME') || homedir();
  const defaults: ServerOptions = {
    ...serverDefaults,
    startupTimeoutMs: defaultFrom('MCP_TIMEOUT', 'startupTimeoutMs', lookup, problems),
    callTimeoutMs: defaultFrom('MCP_TOOL_TIMEOUT', 'callTimeoutMs', lookup, problems),
  };
  const context: Surroundings = { home, host, platform, defaults, exists: existsSync };
  return { cwd, context, problems };
}

function defaultFrom(
  variable: string,
  option: 'startupTimeoutMs' | 'callTimeoutMs',
  lookup: (name: string) => string | undefined,
  problems: ConfigProblem[],
): number {
  const text = lookup(variable)?.trim();
  if (text === undefined || text === '') return serverDefaults[option];
  const { min, max } = optionRanges[option];
  try {
    const ms = parseDuration(text);
    if (ms >= min && ms <= max) return ms;
    throw new TypeError(`expected ${min} to ${max} ms, got "${text}"`);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const hint = `${option} stays at ${serverDefaults[option]} ms; correct or unset the variable`;
    problems.push({ severity: 'warning', field: variable, message, hint });
    return serverDefaults[option];
  }
}

async function readBytes(location: FileLocation, problems: ConfigProblem[]): Promise<Uint8Array | undefined> {
  const { path: file, required } = location;
  const fail = (message: string, hint: string) => {
    problems.push({ severity: 'error', file, message, hint });
    return undefined;
  };
  try {
    const stats = await stat(file);
    if (stats.isDirectory()) return fail('is a directory', 'name the file inside it');
    // A named pipe is fine when a person names it; a cloned project could make the host wait on one for ever.
    if (!required && !stats.isFile()) return fail('is not a regular file', 'replace it by one');
    if (stats.size > MAX_FILE_BYTES)
      return fail(`is larger than ${MAX_FILE_BYTES} bytes`, 'is it the right file?');
    return await readFile(file);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    const missing = code === 'ENOENT' || code === 'ENOTDIR';
    if (missing && !required) return undefined;
    return missing
      ? fail('there is no such file', 'check the path')
      : fail(`the file cannot be read (${code})`, 'check what it is and who may read it');
  }
}

function resolveAll(
  stacks: ReadonlyMap<string, Candidate[]>,
  surroundings: Surroundings,
  problems: ConfigProblem[],
): Pick<LoadedConfig, 'servers' | 'rejected' | 'problems'> {
  const servers: LoadedServer[] = [];
  const rejected: LoadedConfig['rejected'] = [];
  const names = [...stacks.keys()].sort();
  for (const name of names) {
    const { server, found } = resolveName(name, stacks.get(name) ?? [], surroundings);
    problems.push(...found);
    if (server !== undefined) servers.push(server);
    const problem = found.find(({ severity }) => severity === 'error') ?? found[0];
    if (server === undefined && problem !== undefined) rejected.push({ name, problem });
  }
  problems.push(...twins(servers));
  return { servers, rejected, problems };
}

/** The last entry of a name decides, even when it is bad or disabled: an earlier one never comes back through it. */
function resolveName(
  name: string,
  stack: readonly Candidate[],
  surroundings: Surroundings,
): { server?: LoadedServer; found: ConfigProblem[] } {
  const base = stack.findLast(({ raw }) => readSwitch(raw) === undefined);
  const top = stack.at(-1);
  const turned = top === undefined || top === base ? undefined : readSwitch(top.raw);
  if (base === undefined) {
    if (top === undefined) return { found: [] };
    const message = turned ? 'disables a server that no earlier file has' : 'has neither `command` nor `url`';
    const hint = turned
      ? 'remove it, or check the name'
      : 'no earlier file has a server of this name to enable';
    const finding: Finding = { severity: turned ? 'warning' : 'error', path: [], message, hint };
    return { found: [problemOf(top, finding)] };
  }
  if (name === '') {
    const finding: Finding = {
      severity: 'error',
      path: [],
      message: 'the name is empty',
      hint: 'name the server',
    };
    return { found: [problemOf(base, finding)] };
  }
  const { entry: written, findings } = readEntry(base.raw);
  const found = findings.map((finding) => problemOf(base, finding));
  if (written === undefined) return { found };

  const entry = { ...written, disabled: turned ?? written.disabled };
  const resolved = specFromEntry(name, entry, { ...surroundings, baseDir: base.baseDir });
  for (const finding of resolved.findings) {
    // A variable that only a disabled server needs is nobody's trouble yet.
    const severity = entry.disabled ? 'warning' : finding.severity;
    found.push(problemOf(base, { ...finding, severity }));
  }
  if (resolved.spec === undefined) return { found };
  const mayTrust = base.scope !== 'project';
  if (entry.trust && !mayTrust) {
    const message = 'a project file cannot vouch for its own server; it is not trusted';
    const hint = 'give the server an entry in your own file: .bulkhead/mcp.local.json or the user file';
    found.push(problemOf(base, { severity: 'warning', path: ['trust'], message, hint }));
  }
  const line = base.raw.lineOf([]);
  const shown = writtenLaunch(entry);
  const server: LoadedServer = {
    name,
    scope: base.scope,
    ...(base.file === undefined ? {} : { file: base.file }),
    ...(line === undefined ? {} : { line }),
    spec: { ...resolved.spec, secrets: secretsOf(resolved.spec.launch, shown) },
    approvalFingerprint: approvalFingerprint(entry),
    written: shown,
    trusted: entry.trust && mayTrust,
    confidential: entry.confidential,
    preview: previewOf(entry),
  };
  return { server, found };
}

/** Two names for one endpoint: it would run twice and offer every tool twice. */
function twins(servers: readonly LoadedServer[]): ConfigProblem[] {
  const first = new Map<string, string>();
  const problems: ConfigProblem[] = [];
  for (const { name, file, line, spec } of servers) {
    if (spec.disabled) continue;
    const key = endpointKey(spec);
    const other = first.get(key);
    if (other === undefined) {
      first.set(key, name);
      continue;
    }
    problems.push({
      severity: 'warning',
      ...(file === undefined ? {} : { file }),
      ...(line === undefined ? {} : { line }),
      server: name,
      message: `is the same endpoint as server "${other}": it runs twice and offers every tool twice`,
      hint: 'remove or disable one of them',
    });
  }
  return problems;
}

function problemOf({ raw, file }: Candidate, finding: Finding): ConfigProblem {
  const { severity, path, message, hint, variable } = finding;
  const line = raw.lineOf(path);
  return {
    severity,
    ...(file === undefined ? {} : { file }),
    ...(line === undefined ? {} : { line }),
    server: raw.name,
    ...(path.length === 0 ? {} : { field: path.join('.') }),
    message,
    ...(hint === undefined ? {} : { hint }),
    ...(variable === undefined ? {} : { variable }),
  };
}
