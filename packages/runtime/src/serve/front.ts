/**
 * A runtime as one MCP server: what its sessions share, who of them hears what happens in the runtime, and what is told
 * to the servers in all their names.
 */
import type { LogLevel, RuntimeApi, RuntimeEvents } from '../api.js';
import { ServedAsks } from './asks.js';
import type { NameStyle } from './names.js';
import { Offers } from './offers.js';
import { logLevels, ServedSession } from './session.js';

/** Changes of several servers within this time are told as one. */
const CHANGE_MS = 100;

type List = 'tools' | 'prompts' | 'resources';

/** How the servers of a runtime appear as one. */
export interface ServeOptions {
  /** Told to clients. */
  info: { name: string; version: string; title?: string };
  /** Default `{kind: 'full'}`: `mcp__<server>__<tool>`. */
  names?: NameStyle;
  /** How long the first list waits for servers that are starting, ms. Default 10 000. */
  readyWaitMs?: number;
  /** The same object whose `handlers()` the runtime was made with; without it servers can ask clients nothing. */
  asks?: ServedAsks;
}

export class Front {
  readonly runtime: RuntimeApi;
  readonly info: ServeOptions['info'];
  readonly offers: Offers;
  readonly asks: ServedAsks;
  readonly #sessions = new Set<ServedSession>();
  readonly #changed = new Set<List>();
  #timer: NodeJS.Timeout | undefined;
  #level: LogLevel | undefined;

  constructor(runtime: RuntimeApi, options: ServeOptions) {
    this.runtime = runtime;
    this.info = options.info;
    this.asks = options.asks ?? new ServedAsks();
    this.offers = new Offers(runtime, {
      style: options.names ?? { kind: 'full' },
      readyWaitMs: options.readyWaitMs ?? 10_000,
    });
    runtime.on('tools', this.#onTools);
    runtime.on('prompts', this.#onPrompts);
    runtime.on('resources', this.#onResources);
    runtime.on('resource', this.#onResource);
    runtime.on('log', this.#onLog);
    runtime.on('state', this.#onState);
  }

  open(): ServedSession {
    const session = new ServedSession(this);
    this.#sessions.add(session);
    return session;
  }

  left(session: ServedSession): void {
    this.#sessions.delete(session);
    for (const { server, uri } of session.subscriptions) void this.unsubscribe(server, uri).catch(() => {});
    this.levelChanged();
  }

  /** Ends every session; the runtime stays open. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.runtime.off('tools', this.#onTools);
    this.runtime.off('prompts', this.#onPrompts);
    this.runtime.off('resources', this.#onResources);
    this.runtime.off('resource', this.#onResource);
    this.runtime.off('log', this.#onLog);
    this.runtime.off('state', this.#onState);
    await Promise.allSettled([...this.#sessions].map(({ server }) => server.close()));
  }

  /** Of the servers that are ready now, each under its name. */
  instructions(): string {
    const said = this.runtime
      .servers()
      .flatMap(({ name, instructions }) => (instructions ? [`## ${name}\n\n${instructions}`] : []));
    return ['This server passes on what several MCP servers offer.', ...said].join('\n\n');
  }

  /** Unless another session still wants to hear of it. */
  async unsubscribe(server: string, uri: string): Promise<void> {
    for (const session of this.#sessions) if (session.wants(server, uri)) return;
    await this.runtime.server(server).unsubscribe(uri);
  }

  /** Servers are told the most talkative level that a session asked for; each session then hears its own. */
  levelChanged(): void {
    const levels = [...this.#sessions].flatMap(({ level }) => level ?? []);
    const [lowest] = levels.sort((a, b) => logLevels.indexOf(a) - logLevels.indexOf(b));
    if (lowest === undefined || lowest === this.#level) return;
    this.#level = lowest;
    // A server without logging refuses, which is no matter.
    for (const view of this.runtime.servers()) void view.setLogLevel(lowest).catch(() => {});
  }

  readonly #onTools = (): void => this.#change('tools');
  readonly #onPrompts = (): void => this.#change('prompts');
  readonly #onResources = (): void => this.#change('resources');

  readonly #onResource = ({ server, uri }: RuntimeEvents['resource'][0]): void => {
    for (const session of this.#sessions) session.updated(server, uri);
  };

  readonly #onLog = (event: RuntimeEvents['log'][0]): void => {
    for (const session of this.#sessions) session.log(event);
  };

  /** A server that comes or goes takes its prompts and resources along; its tools stay listed while it is down. */
  readonly #onState = ({ server, state }: RuntimeEvents['state'][0]): void => {
    if (server === '' || (state !== 'ready' && state !== 'backoff' && state !== 'quarantined')) return;
    this.#change('prompts');
    this.#change('resources');
  };

  #change(list: List): void {
    if (list === 'prompts') this.offers.forgetPrompts();
    this.#changed.add(list);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const lists = [...this.#changed];
      this.#changed.clear();
      for (const session of this.#sessions) for (const one of lists) session.changed(one);
    }, CHANGE_MS).unref();
  }
}
