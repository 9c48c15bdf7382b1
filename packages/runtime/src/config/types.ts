/** What `loadConfig()` gives: resolved servers and every finding about the files. */
import type { ServerSpec } from '@bulkhead/workers';
import { printable } from './printable.js';

/** Where an entry came from. Later scopes win over earlier ones, whole entry by whole entry. */
export type Scope = 'user' | 'project' | 'local' | 'file' | 'code';

/** One finding about a file or an entry, precise enough to fix it. */
export interface ConfigProblem {
  severity: 'error' | 'warning';
  /** Absolute path; undefined for entries given in code. */
  file?: string;
  /** 1-based. */
  line?: number;
  server?: string;
  /** Dotted path of the field inside the entry. */
  field?: string;
  message: string;
  /** What to do next. */
  hint?: string;
  /** The variable that is not set, where that is the matter. */
  variable?: string;
}

/** What an entry would run or reach, before expansion. Of `env`, `headers` and `auth` only the names: values may be secrets. */
export interface WrittenLaunch {
  type: 'stdio' | 'http' | 'sse';
  command?: string;
  args?: readonly string[];
  env?: readonly string[];
  inheritEnv?: boolean;
  cwd?: string;
  url?: string;
  headers?: readonly string[];
  headersHelper?: string;
  auth?: readonly string[];
  trust?: boolean;
}

/** A server that can run, and where it comes from. */
export interface LoadedServer {
  name: string;
  scope: Scope;
  file?: string;
  /** 1-based line of the entry in `file`. */
  line?: number;
  /** Ready for the supervisor. Entries that cannot run stand in `rejected` instead. */
  spec: ServerSpec;
  /**
   * SHA-256 (hex) of what would run as it is written, before expansion: type, command, args, env, inheritEnv, cwd,
   * url, headers, trust. An approval is bound to it: other texts ask again, other values of the same variables do not.
   */
  approvalFingerprint: string;
  /** What would run, field by field as it is written: what a later change of it is told by. */
  written: WrittenLaunch;
  /**
   * The user believes what this server's tools say of themselves (`trust: true`). Never set by a project file: it
   * cannot vouch for itself.
   */
  trusted: boolean;
  /** Results of this server are not for other servers (`confidential: true`); any scope may say so. */
  confidential: boolean;
  /** What would run, for a person who is asked: command line or URL as written, variables not expanded. */
  preview: string;
}

/** All configuration files together. Holds expanded secrets: do not print it. */
export interface LoadedConfig {
  /** Sorted by name. Keyed by Map in all code: names are foreign. */
  servers: LoadedServer[];
  /** Names that stand in a file but cannot run (invalid, unset variable), with the problem that says why. */
  rejected: { name: string; problem: ConfigProblem }[];
  problems: ConfigProblem[];
  /** Files that were read, in order of precedence (later wins). */
  files: string[];
  /** Directory of the project: the base of `.bulkhead/`. */
  projectDir: string;
}

/** Which files are read. */
export interface LoadConfigOptions {
  /** Default `process.cwd()`. */
  cwd?: string;
  /** Explicit files (later wins); they count as approved. When given, project and local files are not looked for. */
  files?: string[];
  /** Default `process.env`. */
  env?: NodeJS.ProcessEnv;
  /** Default true: read the user file as well. With `files`, default false. */
  userFile?: boolean;
}

/** One line for a person: `file:line: server "x": field: message (hint)`. */
export function formatProblem(problem: ConfigProblem): string {
  const place = [problem.file, problem.line].filter((part) => part !== undefined).join(':');
  const parts = [
    place,
    problem.server === undefined ? '' : `server "${problem.server}"`,
    problem.field ?? '',
    problem.message,
  ].filter((part) => part !== '');
  return printable(parts.join(': ') + (problem.hint === undefined ? '' : ` (${problem.hint})`));
}
