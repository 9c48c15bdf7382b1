/** What the tests of hooks share: a home and a project in the test's directory, and hooks that are closed at its end. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect } from 'vitest';
import type { CallEnd, HookedCall, HookProblem } from '../../packages/runtime/src/agent/hooks/event.js';
import { createHooks, type Hooks } from '../../packages/runtime/src/agent/hooks/hooks.js';
import {
  hooksFiles,
  type LoadedHooks,
  type LoadHooksOptions,
  loadHooks,
} from '../../packages/runtime/src/agent/hooks/load.js';
import type { HooksOptions } from '../../packages/runtime/src/agent/hooks/options.js';
import type { Capability, ToolIdentity } from '../../packages/runtime/src/agent/tool.js';

const script = fileURLToPath(new URL('../fixtures/hooks/hook.mjs', import.meta.url));

/** An entry that runs the fixture. */
export const command = (behaviour: string, argument = '', more: object = {}) => ({
  type: 'command',
  command: [process.execPath, script, behaviour, argument].map((part) => `'${part}'`).join(' '),
  ...more,
});

/** One group for every tool. */
export const pre = (...hooks: object[]) => ({ PreToolUse: [{ hooks }] });

export function callOf(
  args: Record<string, unknown> = { a: 1 },
  identity: ToolIdentity = { kind: 'mcp', server: 'db', tool: 'query' },
  capabilities: Capability[] = ['read'],
): HookedCall {
  const name = identity.kind === 'mcp' ? `mcp__${identity.server}__${identity.tool}` : identity.tool;
  return { callId: 'call-1', args, tool: { name, identity, capabilities: new Set(capabilities) } };
}

export const ended = (text = 'done'): CallEnd => ({
  output: { isError: false, content: [{ type: 'text', text }] },
  durationMs: 12,
});

/** The lines of a file of JSON lines; none when there is no file. */
export const lines = (file: string): Record<string, unknown>[] =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>)
    : [];

/** Installs the closing; call it after `useCensus()` and `useTempDir()`. */
export function useHooks(directory: (...names: string[]) => string) {
  const opened: Hooks[] = [];
  const problems: HookProblem[] = [];
  beforeEach(() => {
    problems.length = 0;
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((hooks) => hooks.close({ deadlineMs: 0 })));
  });

  const environment = (more: Record<string, string> = {}): NodeJS.ProcessEnv => ({
    PATH: process.env.PATH,
    HOME: directory('home'),
    ...more,
  });
  const fileOf = (scope: 'user' | 'project'): string => hooksFiles(directory(), environment())[scope];
  /** Writes `hooks.json`; gives its path. */
  const write = (scope: 'user' | 'project', content: unknown): string => {
    const file = fileOf(scope);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
    return file;
  };
  const load = (options: LoadHooksOptions = {}): Promise<LoadedHooks> =>
    loadHooks({ cwd: directory(), env: environment(), ...options });
  const start = async (options: HooksOptions = {}): Promise<Hooks> => {
    const hooks = await createHooks({
      cwd: directory(),
      env: environment(),
      session: 'session-1',
      onProblem: (problem) => problems.push(problem),
      ...options,
    });
    opened.push(hooks);
    return hooks;
  };
  /** Hooks of the user's file. */
  const startWith = async (hooks: Record<string, unknown>, options: HooksOptions = {}): Promise<Hooks> => {
    write('user', { hooks });
    const { rules, problems: found } = await load();
    expect(found).toEqual([]);
    return start({ rules, ...options });
  };
  return { environment, fileOf, write, load, start, startWith, problems };
}
