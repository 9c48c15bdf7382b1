/** Runs the built `bulkhead` program as a person or a script would. */
import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ServerEntry } from '../support/script.js';

export const mainPath = fileURLToPath(new URL('../../packages/cli/dist/main.js', import.meta.url));

export interface RunOptions {
  cwd?: string;
  env?: Record<string, string>;
  /** Text for stdin, closed afterwards; `open` keeps an unwritten pipe open; default `/dev/null`. */
  stdin?: string | { open: true };
  nodeArgs?: string[];
}

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  tookMs: number;
}

export interface Running {
  child: ChildProcess;
  /** Everything written so far. */
  stdout(): string;
  stderr(): string;
  ended: Promise<Ended>;
}

export function start(args: readonly string[], options: RunOptions = {}): Running {
  const { cwd, env, stdin, nodeArgs = [] } = options;
  const startedAt = performance.now();
  const child = spawn(process.execPath, [...nodeArgs, mainPath, ...args], {
    ...(cwd === undefined ? {} : { cwd }),
    env: { ...process.env, ...env },
    stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  child.stdin?.on('error', () => {});
  if (typeof stdin === 'string') child.stdin?.end(stdin);
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      child.stdin?.destroy();
      resolve({ code, signal, stdout, stderr, tookMs: performance.now() - startedAt });
    });
  });
  return { child, stdout: () => stdout, stderr: () => stderr, ended };
}

export function run(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  return start(args, options).ended;
}

/** Runs a shell line in which `"$NODE" "$MAIN"` is the program. */
export function shell(line: string, cwd: string): Promise<Ended> {
  const startedAt = performance.now();
  const child = spawn('bash', ['-c', line], {
    cwd,
    env: { ...process.env, NODE: process.execPath, MAIN: mainPath },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) =>
      resolve({ code, signal, stdout, stderr, tookMs: performance.now() - startedAt }),
    );
  });
}

/** Writes a config file and gives its path. */
export function writeConfig(
  path: string,
  servers: Record<string, ServerEntry | Record<string, unknown>>,
): string {
  writeFileSync(path, JSON.stringify({ mcpServers: servers }));
  return path;
}

/** Writes a file of JSON Lines and gives its path. */
export function writeLines(path: string, lines: readonly (object | string)[]): string {
  writeFileSync(
    path,
    lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''),
  );
  return path;
}

/** Values of JSON Lines. */
export function parseLines<T = Record<string, unknown>>(text: string): T[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}

/** No person should ever read this. */
export const STACK_TRACE = /^\s+at .+:\d+:\d+/m;
