/**
 * Command lines that keep servers warm between their commands, as a person sets them up: what starts the part that
 * stays, what one call looks like, what ends it. Each stays in a home of its own inside the directory of the run.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { CLI } from '../places.mjs';
import { installed, nodeProgram } from './installed.mjs';
import { labelOf } from './list.mjs';

const START_MS = 30_000;
const SERVER = 'echo';

/** Versions of the peers; `mcporter` of this version needs Node 24, everything else runs on the bench's own. */
const MCPORTER = { name: 'mcporter', node: 24, install: { mcporter: '0.12.3' } };
const MCPC = { name: 'mcpc', install: { '@apify/mcpc': '0.2.6' } };

/** A command line in a directory that holds `mcp.json` with the server `echo`. */
class CommandLine {
  constructor({ label, program, directory, before = [], call, after = [], env = {} }) {
    this.label = label;
    this.version = [...program, '--version'];
    this.call = [...program, ...call];
    this.program = program;
    this.before = before;
    this.after = after;
    this.directory = directory;
    this.env = { ...process.env, HOME: directory, ...env };
  }

  /** @throws {Error} with what the command said */
  start() {
    for (const args of this.before) this.run([...this.program, ...args]);
    // The first call may still set something up.
    this.run(this.call);
  }

  stop() {
    for (const args of this.after) this.#spawn([...this.program, ...args]);
  }

  run(command) {
    const { status, stdout, stderr, error } = this.#spawn(command);
    if (status === 0) return stdout;
    const said = error?.message ?? stderr.trim().split('\n').at(-1);
    throw new Error(`${this.label.name} ended with ${status}: ${said}`);
  }

  #spawn([file, ...args]) {
    const { directory: cwd, env } = this;
    return spawnSync(file, args, {
      cwd,
      env,
      encoding: 'utf8',
      timeout: START_MS,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }
}

/** Those that can be had; who cannot take part is named. */
export function commandLines(directory) {
  const home = (name) => {
    const made = join(directory, name);
    mkdirSync(made, { recursive: true });
    return made;
  };
  const makers = {
    bulkhead: () => {
      const at = home('bulkhead');
      return new CommandLine({
        label: { name: 'bulkhead' },
        program: [process.execPath, CLI],
        directory: at,
        before: [['up', '--detach', '--config', '../mcp.json']],
        call: ['call', `${SERVER}.echo`, 'text=hello', '--config', '../mcp.json'],
        after: [['down', '--config', '../mcp.json']],
        env: { XDG_RUNTIME_DIR: at, XDG_CONFIG_HOME: at, XDG_STATE_HOME: at, XDG_CACHE_HOME: at },
      });
    },
    mcporter: () => {
      const at = home('mcporter');
      const packages = installed(MCPORTER);
      const config = ['--config', '../mcp.json'];
      return new CommandLine({
        label: labelOf(MCPORTER),
        program: [nodeProgram(24), join(packages, 'node_modules/mcporter/dist/cli.js')],
        directory: at,
        before: [[...config, 'daemon', 'start']],
        call: [...config, 'call', `${SERVER}.echo`, 'text=hello'],
        after: [[...config, 'daemon', 'stop']],
        env: { MCPORTER_DAEMON_DIR: at, MCPORTER_KEEPALIVE: SERVER },
      });
    },
    mcpc: () => {
      const at = home('mcpc');
      return new CommandLine({
        label: labelOf(MCPC),
        program: [process.execPath, join(installed(MCPC), 'node_modules/@apify/mcpc/bin/mcpc')],
        directory: at,
        before: [['connect', `../mcp.json:${SERVER}`, '@bench']],
        call: ['@bench', 'tools-call', 'echo', 'text:=hello'],
        after: [['@bench', 'close']],
        env: { MCPC_HOME_DIR: at },
      });
    },
  };
  return Object.entries(makers).flatMap(([name, make]) => {
    try {
      return [make()];
    } catch (error) {
      console.error(`bench: ${name} is left out: ${error.message}`);
      return [];
    }
  });
}
