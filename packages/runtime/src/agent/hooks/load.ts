/**
 * The hooks of a user and of a project, read from their files. A project's hooks are programs that somebody else
 * wrote: each one runs only once its fingerprint is approved, and variables are filled in only then.
 */
import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { Finding } from '../../config/entry.js';
import { hostVariables, variableLookup } from '../../config/environment.js';
import { fieldExpander } from '../../config/field.js';
import { userConfigPath } from '../../config/locate.js';
import { printable } from '../../config/printable.js';
import { headersOf, urlProblem } from '../../config/remote.js';
import type { ConfigProblem } from '../../config/types.js';
import { type HooksDocument, readHooksDocument, type WrittenHook } from './document.js';
import type { HookRule } from './rule.js';
import { hookDefaults } from './schema.js';

const MAX_FILE_BYTES = 1024 * 1024;

/** A hook of a project, for a person who is asked. */
export interface HookSubject {
  /** SHA-256 (hex) of everything that the entry says, as written: a change of it asks again. */
  fingerprint: string;
  /** Event and command line or URL, as written, safe to print. */
  preview: string;
  /** `file:line`. */
  place: string;
}

/** Where hook files are looked for, and which hooks of the project may run. */
export interface LoadHooksOptions {
  /** The project. Default `process.cwd()`. */
  cwd?: string;
  /** Default `process.env`. */
  env?: NodeJS.ProcessEnv;
  /** Whether a hook of the project may run. Default: none may. A callback that throws has not approved. */
  isApproved?: (fingerprint: string, hook: HookSubject) => boolean | Promise<boolean>;
}

/** What the hook files say: what may run, what waits for approval, and what is wrong. */
export interface LoadedHooks {
  /** Ready to run, in order: the user's, then the project's. */
  rules: HookRule[];
  /** Hooks of the project that wait for approval; `problems` names them too. */
  unapproved: HookSubject[];
  /**
   * Findings. An `error` is a hook that does not run: a host that relies on its guards refuses to start then.
   */
  problems: ConfigProblem[];
  /** Files that were read. */
  files: string[];
}

/** `<config home>/bulkhead/hooks.json`, then `<project>/.bulkhead/hooks.json`. */
export function hooksFiles(
  cwd: string,
  env: NodeJS.ProcessEnv = process.env,
): { user: string; project: string } {
  const home = env.HOME || env.USERPROFILE || homedir();
  return {
    user: join(dirname(userConfigPath(home, env.XDG_CONFIG_HOME)), 'hooks.json'),
    project: join(resolve(cwd), '.bulkhead', 'hooks.json'),
  };
}

/** Never rejects for what stands in files: see `problems`. A missing file is empty. */
export async function loadHooks(options: LoadHooksOptions = {}): Promise<LoadedHooks> {
  const env = options.env ?? process.env;
  const files = hooksFiles(options.cwd ?? process.cwd(), env);
  const loaded: LoadedHooks = { rules: [], unapproved: [], problems: [], files: [] };
  const lookup = variableLookup(hostVariables(env), process.platform);
  for (const scope of ['user', 'project'] as const) {
    const document = await readFileOf(files[scope], loaded);
    for (const hook of document?.hooks ?? []) {
      const subject = subjectOf(hook);
      if (scope === 'project' && !(await approved(subject, options.isApproved))) {
        loaded.unapproved.push(subject);
        loaded.problems.push({
          severity: 'warning',
          ...placeOf(hook),
          message: `this hook of the project does not run: ${subject.preview}`,
          hint: 'read what it does, then approve it',
        });
        continue;
      }
      const findings: Finding[] = [];
      const rule = ruleOf(hook, lookup, findings);
      for (const { severity, path, message, hint } of findings) {
        const field = [hook.field, ...path].join('.');
        const tail = hint === undefined ? {} : { hint };
        loaded.problems.push({ severity, ...placeOf(hook), field, message, ...tail });
      }
      if (rule !== undefined) loaded.rules.push(rule);
    }
  }
  return loaded;
}

async function readFileOf(file: string, loaded: LoadedHooks): Promise<HooksDocument | undefined> {
  const fail = (message: string, hint: string): undefined => {
    loaded.problems.push({ severity: 'error', file, message, hint });
  };
  try {
    const stats = await stat(file);
    // A named pipe in a cloned project could make the host wait for ever.
    if (!stats.isFile()) return fail('is not a regular file', 'replace it by one');
    if (stats.size > MAX_FILE_BYTES) {
      return fail(`is larger than ${MAX_FILE_BYTES} bytes`, 'is it the right file?');
    }
    const document = await readHooksDocument(file, await readFile(file));
    loaded.files.push(file);
    loaded.problems.push(...document.problems);
    return document;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    return fail(`the file cannot be read (${code})`, 'check what it is and who may read it');
  }
}

function subjectOf(hook: WrittenHook): HookSubject {
  const { event, match, entry } = hook;
  const text = entry.type === 'command' ? entry.command : `POST ${entry.url}`;
  const bytes = JSON.stringify([event, sorted(match), sorted(entry)]);
  return {
    fingerprint: createHash('sha256').update(bytes).digest('hex'),
    preview: printable(`${event}: ${text}`),
    place: `${hook.file}:${hook.line}`,
  };
}

async function approved(subject: HookSubject, isApproved: LoadHooksOptions['isApproved']): Promise<boolean> {
  try {
    return (await isApproved?.(subject.fingerprint, subject)) === true;
  } catch {
    return false;
  }
}

/** Undefined when a finding is an error. */
function ruleOf(
  hook: WrittenHook,
  lookup: (name: string) => string | undefined,
  findings: Finding[],
): HookRule | undefined {
  const { event, match, entry } = hook;
  const field = fieldExpander(lookup, findings);
  const rule = {
    event,
    match,
    place: `${hook.file}:${hook.line}`,
    timeoutMs: entry.timeoutMs ?? hookDefaults.timeoutMs,
    onError: entry.onError ?? 'block',
  };
  let action: HookRule['action'];
  if (entry.type === 'command') {
    const env = new Map<string, string | null>();
    for (const [name, text] of Object.entries(entry.env ?? {})) {
      env.set(name, text === null ? null : field(text, ['env', name]));
    }
    action = { type: 'command', command: entry.command, env };
  } else {
    const url = field(entry.url, ['url']);
    const problem = urlProblem(url, entry.url);
    if (problem !== undefined) findings.push({ ...problem, hint: 'write it whole: https://host/path' });
    const written = new Map(Object.entries(entry.headers ?? {}));
    action = { type: 'http', url, headers: new Map(headersOf(written, field, findings)) };
  }
  return findings.some(({ severity }) => severity === 'error') ? undefined : { ...rule, action };
}

const placeOf = ({ file, line }: WrittenHook) => ({ file, line });

/** Members in one order, however they were written. */
function sorted(value: object): unknown {
  return Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .map(([key, member]) => [key, isPlain(member) ? sorted(member) : member])
    .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1));
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
