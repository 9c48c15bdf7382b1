/**
 * The servers that a command is about, and a host that has them: a resident that was named, whatever its
 * configuration, or what the config files name.
 */
import type { LoadedConfig } from '@bulkhead/runtime';
import type { ControlClient } from '@bulkhead/runtime/control/client';
import { BulkheadError } from '@bulkhead/workers/errors';
import type { CommonOptions, Context } from '../context.js';
import { unknownServer } from '../find-tool.js';
import { nearest } from '../nearest.js';
import { plain } from '../output.js';
import { oneServer } from '../ready-servers.js';
import { atOnce, onlyServers, openConfig } from '../session.js';
import { demanded } from './find-resident.js';
import { remoteHost, type ToolHost } from './remote-host.js';
import { withServers } from './with-servers.js';

type Source = { client: ControlClient; disabled: ReadonlySet<string> } | { config: LoadedConfig };

export class KnownServers {
  /** All of them, disabled ones too. */
  readonly names: readonly string[];
  readonly #from: Source;
  readonly #options: CommonOptions;
  readonly #context: Context;

  private constructor(names: readonly string[], from: Source, options: CommonOptions, context: Context) {
    this.names = names;
    this.#from = from;
    this.#options = options;
    this.#context = context;
  }

  /** @param isAsked see {@link openConfig}. @throws {BulkheadError} as it, and `NOT_READY` without that resident. */
  static async open(
    options: CommonOptions,
    context: Context,
    isAsked: (server: string) => boolean = () => false,
  ): Promise<KnownServers> {
    if (typeof options.resident === 'string') {
      const client = demanded(options.resident, context);
      const { servers } = await client.status();
      const disabled = servers.filter(({ state }) => state === 'disabled').map(({ name }) => name);
      const names = servers.map(({ name }) => name);
      return new KnownServers(names, { client, disabled: new Set(disabled) }, options, context);
    }
    const config = await openConfig(options, context, isAsked);
    const names = config.servers.map(({ name }) => name);
    return new KnownServers(names, { config }, options, context);
  }

  /** The config, unless a resident was named. */
  get config(): LoadedConfig | undefined {
    return 'config' in this.#from ? this.#from.config : undefined;
  }

  /** Why a name is no server here, with the nearest ones. */
  unknown(name: string): Error {
    if ('config' in this.#from) return unknownServer(name, this.#from.config);
    const near = nearest(name, [...this.names])
      .map(plain)
      .join(', ');
    const message = `resident "${this.#from.client.entry.name}" has no server "${name}"; nearest: ${near}`;
    return new BulkheadError('UNKNOWN_SERVER', message, { server: name });
  }

  /**
   * Runs `use` with a host of these servers, and with their names; without `wanted` of all that are not disabled.
   * @throws {BulkheadError} when one is not there or may not run.
   */
  async use<T>(
    wanted: readonly string[] | undefined,
    use: (host: ToolHost, names: string[]) => Promise<T>,
  ): Promise<T> {
    const from = this.#from;
    if ('client' in from) {
      const names = [...(wanted ?? this.names.filter((name) => !from.disabled.has(name)))];
      const missing = names.find((name) => !this.names.includes(name));
      if (missing !== undefined) throw this.unknown(missing);
      return use(remoteHost(from.client), names);
    }
    const [only, ...more] = wanted ?? [];
    const config =
      wanted === undefined
        ? from.config
        : only !== undefined && more.length === 0
          ? oneServer(only, from.config)
          : onlyServers(from.config, wanted);
    const names = config.servers
      .filter(({ spec }) => wanted !== undefined || !spec.disabled)
      .map(({ name }) => name);
    return withServers(atOnce(config), this.#options, this.#context, (host) => use(host, names));
  }
}
