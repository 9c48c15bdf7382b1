/**
 * Servers of other hosts on this machine, each as an entry of ours or with the reason why it cannot be one. Reads only.
 */
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { type Node, parseTree } from 'jsonc-parser';
import { checkEntry } from '../check-entry.js';
import { decodeText } from '../document.js';
import type { EntryValue } from '../entry-edit.js';
import { hostVariables } from '../environment.js';
import { claude, claudeDesktop } from './claude.js';
import { codex } from './codex.js';
import { cursor, projectOf, vscode } from './editors.js';
import { gemini } from './gemini.js';
import {
  type HostFile,
  type ImportContext,
  type ImportHost,
  type Members,
  membersOf,
  type OtherHost,
} from './host.js';

/** One server of another host. */
export interface ImportCandidate {
  name: string;
  /** Where it stands. */
  file: string;
  /** What would be written; undefined when it cannot be taken. */
  entry?: EntryValue;
  /** Why it cannot be taken. */
  refused?: string;
  /** What does not come along, and what it still needs. */
  notes: string[];
}

/** What another host's configuration holds. */
export interface ImportReading {
  /** Files that were looked for. */
  files: { path: string; is: 'read' | 'missing' | 'unusable' | 'ours'; why?: string }[];
  /** Sorted by name. */
  candidates: ImportCandidate[];
}

/** Where the other host's files are. */
export interface ImportOptions {
  /** This file in place of the places where the host keeps its own. */
  file?: string;
  /** Where relative paths of what is written will start: see `configPlace()`. */
  baseDir: string;
  /** Default `process.cwd()`. */
  cwd?: string;
  /** Default `process.env`. */
  env?: NodeJS.ProcessEnv;
  /** Default `process.platform`. */
  platform?: NodeJS.Platform;
}

const hosts: Record<ImportHost, OtherHost> = {
  claude,
  'claude-desktop': claudeDesktop,
  cursor,
  vscode,
  codex,
  gemini,
};

/** Never rejects for what stands in the files. */
export async function readOtherHost(from: ImportHost, options: ImportOptions): Promise<ImportReading> {
  const env = hostVariables(options.env ?? process.env);
  const cwd = resolve(options.cwd ?? process.cwd());
  const platform = options.platform ?? process.platform;
  const home = env.get(platform === 'win32' ? 'USERPROFILE' : 'HOME') || homedir();
  const context: ImportContext = { home, cwd, platform, env };
  const host = hosts[from];
  const places: HostFile[] =
    options.file === undefined ? host.files(context) : [{ path: resolve(cwd, options.file) }];
  const files: ImportReading['files'] = [];
  const found = new Map<string, ImportCandidate>();
  for (const { path, isOurs } of places) {
    if (isOurs === true) {
      files.push({ path, is: 'ours' });
      continue;
    }
    const outcome = await rootOf(path, host.format);
    if ('is' in outcome) {
      files.push({ path, ...outcome });
      continue;
    }
    const local = { ...context, cwd: projectOf(path) ?? cwd };
    const servers = host.servers(outcome.root, local);
    files.push(
      servers === undefined ? { path, is: 'unusable', why: 'it names no MCP servers' } : { path, is: 'read' },
    );
    for (const [name, value] of servers ?? [])
      found.set(name, candidate(host, name, value, path, local, options));
  }
  const candidates = [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  return { files, candidates };
}

function candidate(
  host: OtherHost,
  name: string,
  value: unknown,
  file: string,
  context: ImportContext,
  { baseDir, env }: ImportOptions,
): ImportCandidate {
  const members = membersOf(value);
  if (members === undefined) return { name, file, refused: 'its entry is no object', notes: [] };
  const translated = host.translate(members, context);
  if ('refused' in translated) return { name, file, refused: translated.refused, notes: [] };
  const { entry, notes } = translated;
  const { problems, unset } = checkEntry(name, entry, baseDir, env);
  const error = problems.find(({ severity }) => severity === 'error');
  if (error !== undefined) {
    const place = error.field === undefined ? '' : `${error.field}: `;
    return { name, file, refused: `${place}${error.message}`, notes };
  }
  for (const { field, message } of problems)
    notes.push(field === undefined ? message : `${field}: ${message}`);
  if (startsRelative(entry) && baseDir !== context.cwd)
    notes.push(`its relative paths will start from ${baseDir}`);
  for (const variable of unset) notes.push(`the variable ${variable} is not set here`);
  return { name, file, entry, notes };
}

function startsRelative(entry: ReadonlyMap<string, unknown>): boolean {
  if (entry.has('cwd') || !entry.has('command')) return false;
  const args = entry.get('args');
  const texts = [entry.get('command'), ...(Array.isArray(args) ? args : [])];
  return texts.some((text) => typeof text === 'string' && /^\.{1,2}[\\/]/.test(text));
}

type Root = { root: Members } | { is: 'missing' | 'unusable'; why?: string };

async function rootOf(path: string, format: OtherHost['format']): Promise<Root> {
  let bytes: Uint8Array;
  try {
    bytes = await readFile(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { is: 'missing' };
    return { is: 'unusable', why: `it cannot be read (${code ?? 'unknown error'})` };
  }
  const text = decodeText(bytes);
  if (text === undefined) return { is: 'unusable', why: 'it is not UTF-8 text' };
  const root = format === 'json' ? json(text) : await toml(text);
  return root === undefined ? { is: 'unusable', why: `it is no valid ${format.toUpperCase()}` } : { root };
}

function json(text: string): Members | undefined {
  const errors: never[] = [];
  try {
    const tree = parseTree(text, errors, { allowTrailingComma: true });
    return errors.length > 0 || tree === undefined ? undefined : membersOf(plainOf(tree));
  } catch {
    return undefined; // nested too deeply
  }
}

function plainOf(node: Node | undefined): unknown {
  if (node?.type === 'array') return (node.children ?? []).map(plainOf);
  if (node?.type !== 'object') return node?.value;
  return new Map(
    (node.children ?? []).map(({ children }) => [String(children?.[0]?.value), plainOf(children?.[1])]),
  );
}

async function toml(text: string): Promise<Members | undefined> {
  const { parse } = await import('smol-toml');
  try {
    return membersOf(toMaps(parse(text)));
  } catch {
    return undefined;
  }
}

function toMaps(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toMaps);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  return new Map(Object.entries(value).map(([key, member]) => [key, toMaps(member)]));
}
