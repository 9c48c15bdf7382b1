/** A project with a home of its own, in which the program is run: nothing of the machine is read or written. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Ended, type RunOptions, run } from './cli.js';

export interface Project {
  /** Absolute path of something in the project. */
  path(...names: string[]): string;
  /** Absolute path of something in the home. */
  home(...names: string[]): string;
  env: Record<string, string>;
  run(args: readonly string[], options?: Pick<RunOptions, 'env' | 'stdin'>): Promise<Ended>;
  write(file: string, content: object | string): string;
  read(file: string): string;
}

/** @param directory of the current test, as `useTempDir()` gives it. */
export function makeProject(directory: (...names: string[]) => string): Project {
  const path = (...names: string[]) => directory('project', ...names);
  const home = (...names: string[]) => directory('home', ...names);
  for (const made of [path(), home()]) if (!existsSync(made)) mkdirSync(made);
  const env = {
    HOME: home(),
    XDG_CONFIG_HOME: home('.config'),
    XDG_STATE_HOME: home('.state'),
    XDG_CACHE_HOME: home('.cache'),
  };
  return {
    path,
    home,
    env,
    run: (args, options = {}) => run(args, { ...options, cwd: path(), env: { ...env, ...options.env } }),
    write(file, content) {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content, null, 2));
      return file;
    },
    read: (file) => readFileSync(file, 'utf8'),
  };
}

/** Where the user's own config file lies. */
export function userFile({ home }: Project): string {
  return join(home('.config'), 'bulkhead', 'mcp.json');
}
