/**
 * What a runtime tells its log: the lives of its servers, findings, decisions, and at level `trace` every call. Entries
 * of the configuration come as names and kinds, never with their values; free texts lose every value that is secret.
 */
import type { ServerState } from '@bulkhead/workers';
import type { ReconfigureReport, RuntimeEvents } from '../api.js';
import type { LoadedServer } from '../config/types.js';
import type { EventObserver } from '../events.js';
import type { CallAccount, Witness } from '../witness.js';
import type { Logger } from './logger.js';

export class RuntimeLog {
  readonly logger: Logger;
  readonly #mask: (text: string) => string;
  /** The tools that each server had left out, as they were told last. */
  readonly #quarantined = new Map<string, string>();
  /** Undefined when calls are not logged: they do not pass here then. */
  readonly witness: Witness | undefined;

  /** @param mask a text without the secrets of the configuration. */
  constructor(logger: Logger, mask: (text: string) => string) {
    this.logger = logger;
    this.#mask = mask;
    this.witness = logger.isLevelEnabled?.('trace') === true ? this.#called : undefined;
  }

  readonly observer: EventObserver = (name, event) => {
    switch (name) {
      case 'state':
        this.#moved(event as RuntimeEvents['state'][0]);
        return;
      case 'tools': {
        const { server, revision, count, added, removed, changed } = event as RuntimeEvents['tools'][0];
        this.logger.info(
          { event: 'tools', server, revision, count, added, removed, changed },
          'tools listed',
        );
        return;
      }
      case 'warning': {
        const { server, message } = event as RuntimeEvents['warning'][0];
        this.logger.warn(
          { event: 'warning', ...(server === undefined ? {} : { server }) },
          this.#mask(message),
        );
        return;
      }
      case 'supervisor-lost': {
        const { error, restarts } = event as RuntimeEvents['supervisor-lost'][0];
        this.logger.error({ event: name, restarts }, this.#mask(error.message));
        return;
      }
      case 'saturated':
      case 'drain':
        this.logger.debug({ event: name, ...event }, name === 'drain' ? 'room again' : 'mailbox is filling');
        return;
      case 'log':
      case 'resource':
      case 'resources':
      case 'prompts':
        return; // a server's own words are its own log
      default:
        name satisfies never;
    }
  };

  started(servers: readonly LoadedServer[]): void {
    this.logger.info({ event: 'start', servers: servers.map(summaryOf) }, 'runtime started');
  }

  reconfigured(
    { added, changed, removed, problems }: ReconfigureReport,
    servers: readonly LoadedServer[],
  ): void {
    const fields = {
      event: 'config',
      added,
      changed,
      removed,
      problems: problems.map(this.#mask),
      servers: servers.map(summaryOf),
    };
    this.logger.info(fields, 'configuration taken');
  }

  /** By a person who was asked, or by the program. */
  decided(server: string, decision: 'approved' | 'denied' | 'revoked'): void {
    this.logger.info({ event: 'approval', server, decision }, `server ${decision}`);
  }

  /** A list of tools was read; what is left out of it is told when it changes. */
  listed(server: string, quarantined: readonly { name: string; reason: string }[]): void {
    const text = JSON.stringify(quarantined);
    if (text === (this.#quarantined.get(server) ?? '[]')) return;
    this.#quarantined.set(server, text);
    const tools = quarantined.map(({ name, reason }) => ({ name, reason: this.#mask(reason) }));
    this.logger.warn({ event: 'quarantine', server, tools }, 'tools left out');
  }

  closed(report: { tookMs: number; lostThreads: number }): void {
    const { tookMs, lostThreads } = report;
    this.logger.info({ event: 'close', tookMs: Math.round(tookMs), lostThreads }, 'runtime closed');
  }

  #moved({ server, state, generation, reason }: RuntimeEvents['state'][0]): void {
    if (server === '') return; // the end of the runtime, told by itself
    const why = reason === undefined ? undefined : { kind: reason.kind, message: this.#mask(reason.message) };
    const fields = {
      event: 'state',
      server,
      state,
      generation,
      ...(why === undefined ? {} : { reason: why }),
    };
    this.logger[levelOf(state)](fields, `server is ${state}`);
  }

  readonly #called = ({ args: _, endedAt: __, durationMs, ...facts }: CallAccount): void => {
    const rounded = Math.round(durationMs * 1_000) / 1_000;
    this.logger.trace({ event: 'call', ...facts, durationMs: rounded }, 'call ended');
  };
}

function levelOf(state: ServerState): 'debug' | 'info' | 'warn' | 'error' {
  switch (state) {
    case 'starting':
    case 'connecting':
    case 'killing':
    case 'draining':
    case 'stopping':
      return 'debug';
    case 'ready':
    case 'stopped':
    case 'disabled':
      return 'info';
    case 'reconnecting':
    case 'backoff':
    case 'needs-approval':
    case 'needs-auth':
      return 'warn';
    case 'lost':
    case 'quarantined':
      return 'error';
  }
}

/** Names of variables and headers say what an entry needs; their values are left where they are. */
function summaryOf({ name, scope, spec, written }: LoadedServer): Record<string, unknown> {
  const { type, env = [], headers = [] } = written;
  const { lifecycle, disabled } = spec;
  return { server: name, type, scope, lifecycle, disabled, variables: env, headerNames: headers };
}
