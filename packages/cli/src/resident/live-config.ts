/**
 * The configuration of a resident: which files it is made from, what is taken of them, and why a later version is not.
 * A broken file never takes a running server away: the last good configuration stays until the file is repaired.
 */
import {
  formatProblem,
  holdUnapproved,
  type LoadedConfig,
  loadConfig,
  needsApproval,
  type ReconfigureReport,
  type RuntimeApi,
} from '@bulkhead/runtime';
import { type ConfigSource, configMark } from '@bulkhead/runtime/control/client';
import { BulkheadError } from '@bulkhead/workers/errors';
import { type CommonOptions, type Context, trustsProject } from '../context.js';
import type { Output } from '../output.js';
import { openConfig, TRUST_HINT } from '../session.js';

export class LiveConfig {
  readonly source: ConfigSource;
  readonly trusted: boolean;
  readonly #output: Output;
  /** Of the version that was looked at last, taken or not. */
  #seen: string;
  /** Of the version that runs; empty before the first does. */
  #mark = '';
  #config: LoadedConfig;
  /** What the person vouched for at the start: name and fingerprint. */
  readonly #vouched: ReadonlySet<string>;
  #failure: string | undefined;
  #runtime: RuntimeApi | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(
    source: ConfigSource,
    seen: string,
    config: LoadedConfig,
    { trusted, output }: { trusted: boolean; output: Output },
  ) {
    this.source = source;
    this.trusted = trusted;
    this.#seen = seen;
    this.#config = config;
    this.#output = output;
    this.#vouched = new Set(trusted ? config.servers.map(versionOf) : []);
  }

  /** @throws {BulkheadError} as {@link openConfig}. */
  static async open(source: ConfigSource, options: CommonOptions, context: Context): Promise<LiveConfig> {
    // Before the files are read: what changes in between is seen as a change.
    const seen = configMark(source);
    const config = await openConfig(options, context);
    return new LiveConfig(source, seen, config, { trusted: trustsProject(options), output: context.output });
  }

  /** The config without its servers: for a runtime that must have its name before it starts anything. */
  get empty(): LoadedConfig {
    return { ...this.#config, servers: [], rejected: [] };
  }

  get mark(): string {
    return this.#mark;
  }

  /** Why the last version is not taken. */
  get failure(): string | undefined {
    return this.#failure;
  }

  findings(): string[] {
    return this.#config.problems.map((problem) => `${problem.severity}: ${formatProblem(problem)}`);
  }

  describe(server: string): { scope: string; lazy: boolean } | undefined {
    const found = this.#config.servers.find(({ name }) => name === server);
    return found === undefined ? undefined : { scope: found.scope, lazy: found.spec.lifecycle === 'lazy' };
  }

  /** Gives the servers to the runtime. */
  begin(runtime: RuntimeApi): Promise<ReconfigureReport> {
    this.#runtime = runtime;
    return this.#inTurn(() => this.#take(runtime, this.#config, this.#seen));
  }

  /** Takes another version if there is one. Never rejects. */
  recheck(): Promise<void> {
    return this.#inTurn(async () => {
      if (configMark(this.source) === this.#seen) return;
      await this.#reload().catch(() => {});
    });
  }

  /** @throws {BulkheadError} `BAD_CONFIG` when the version that is there is not taken. */
  reload(): Promise<ReconfigureReport> {
    return this.#inTurn(() => this.#reload());
  }

  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(act);
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async #reload(): Promise<ReconfigureReport> {
    const runtime = this.#runtime;
    if (runtime === undefined) throw new BulkheadError('NOT_READY', 'the resident is still starting');
    const { projectDir, files } = this.source;
    this.#seen = configMark(this.source);
    const config = await loadConfig({ cwd: projectDir, ...(files.length > 0 ? { files: [...files] } : {}) });
    const broken = this.#broken(config);
    if (broken.length > 0) {
      this.#failure = broken.join('; ');
      const message = `the changed configuration is not taken, the servers stay as they are: ${this.#failure}`;
      this.#output.note(`error: ${message}`);
      runtime.logger?.error({ event: 'config' }, message);
      throw new BulkheadError('BAD_CONFIG', message);
    }
    for (const problem of config.problems)
      this.#output.note(`${problem.severity}: ${formatProblem(problem)}`);
    const servers = config.servers.map((server) =>
      // Consent to a project is consent to what stood there: what a later commit brings is asked about.
      needsApproval(server) && this.#vouched.has(versionOf(server))
        ? { ...server, scope: 'file' as const }
        : server,
    );
    const report = await this.#take(
      runtime,
      await holdUnapproved({ ...config, servers }, TRUST_HINT),
      this.#seen,
    );
    this.#output.note(`the configuration was reloaded: ${changes(report)}`);
    return report;
  }

  async #take(runtime: RuntimeApi, config: LoadedConfig, mark: string): Promise<ReconfigureReport> {
    const report = await runtime.reconfigure({ config });
    this.#config = config;
    this.#mark = mark;
    this.#failure = undefined;
    return report;
  }

  /** Findings for which nothing may change: a file that cannot be read, or an entry of a server that runs. */
  #broken({ problems, rejected }: LoadedConfig): string[] {
    const running = new Set(this.#config.servers.map(({ name }) => name));
    const lost = new Set(rejected.filter(({ name }) => running.has(name)).map(({ problem }) => problem));
    return problems
      .filter(
        (problem) => problem.severity === 'error' && (problem.server === undefined || lost.has(problem)),
      )
      .map(formatProblem);
  }
}

function versionOf({ name, approvalFingerprint }: LoadedConfig['servers'][number]): string {
  return `${name}\0${approvalFingerprint}`;
}

function changes({ added, changed, removed }: ReconfigureReport): string {
  const parts = [
    ['added', added],
    ['changed', changed],
    ['removed', removed],
  ] as const;
  const said = parts
    .filter(([, names]) => names.length > 0)
    .map(([what, names]) => `${what} ${names.join(', ')}`);
  return said.join('; ') || 'no server changed';
}
