/**
 * A session of the stateless era (2026-07-28). There is no handshake: the answer to the probe holds everything. Lists
 * are read and the stream of notifications is kept open here; calls go through the lane, which takes this era's
 * envelope from the session's dialect. It needs no SDK: the era's own client validates lists as a whole, so that one odd
 * tool would cost all of them, and little else is left to do.
 */
import { MAX_TIMER_MS } from '../defaults.js';
import type { HandlerSet, ServerCatalog, ServerEvent } from '../protocol.js';
import { readToolList } from './catalog.js';
import { envelope, modernCapabilities, newestModern } from './era-probe.js';
import { type MirroredParams, mirroredParams } from './http/request-headers.js';
import { Refusal, RequestPort } from './request-port.js';
import { type Dialect, type Session, tellSession } from './session.js';
import type { WireTransport } from './transport.js';

type ClientInfo = { name: string; version: string; title?: string };

/** A stream of notifications that ends is opened again after this long. */
const LISTEN_AGAIN_MS = 1_000;
/** However short a list's `ttlMs`: an idle server is not to be polled by the second. */
const MIN_REREAD_MS = 60_000;
const PING_MS = 10_000;
const METHOD_NOT_FOUND = -32601;
const LOG_LEVEL = 'io.modelcontextprotocol/logLevel';

export class ModernSession implements Session {
  readonly dialect: Dialect;
  readonly #requests: RequestPort;
  readonly #transport: WireTransport;
  readonly #discover: Record<string, unknown>;
  readonly #uris = new Set<string>();
  #logLevel: string | undefined;
  #listening: AbortController | undefined;
  #stale: NodeJS.Timeout | undefined;
  onToolsChanged: (() => void) | undefined;
  onEvent: ((event: ServerEvent) => void) | undefined;
  onAsk: Session['onAsk'];

  /** @param discover the server's answer to `server/discover`, with a version that this client speaks. */
  constructor(
    transport: WireTransport,
    clientInfo: ClientInfo,
    handlers: HandlerSet,
    discover: Record<string, unknown>,
  ) {
    const capabilities = modernCapabilities(handlers);
    this.#discover = discover;
    this.#transport = transport;
    const meta = envelope(newestModern, clientInfo, capabilities);
    this.dialect = {
      meta: () => {
        const full = this.#logLevel === undefined ? meta : { ...meta, [LOG_LEVEL]: this.#logLevel };
        return JSON.stringify(full).slice(1, -1);
      },
      answers: answeredMethods(handlers),
      absorb: (method, params) => this.#absorb(method, params),
    };
    this.#requests = new RequestPort(transport, meta, (method, params) => tellSession(this, method, params));
  }

  async open(timeoutMs: number): Promise<ServerCatalog> {
    await this.#requests.start();
    const catalog = await this.readCatalog(timeoutMs);
    this.#listen();
    return catalog;
  }

  async readCatalog(timeoutMs: number): Promise<ServerCatalog> {
    const catalog: ServerCatalog = {
      tools: [],
      quarantined: [],
      warnings: [],
      serverInfo: this.#serverInfo(),
      protocolVersion: newestModern,
      capabilities: this.#capabilities(),
    };
    if (typeof this.#discover.instructions === 'string') catalog.instructions = this.#discover.instructions;
    let ttlMs = Number.POSITIVE_INFINITY;
    try {
      const list = await readToolList(async (cursor) => {
        const params = cursor === undefined ? {} : { cursor };
        const page = await this.#requests.send('tools/list', params, timeoutMs);
        ttlMs = Math.min(ttlMs, typeof page.ttlMs === 'number' ? page.ttlMs : 0);
        return page;
      });
      catalog.tools = list.tools;
      catalog.quarantined = list.quarantined;
      catalog.warnings = list.warnings;
      this.#mirror(catalog);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const missing = error.code === METHOD_NOT_FOUND && catalog.capabilities.tools === undefined;
      if (!missing) catalog.warnings = [`tools/list failed: ${error.message}`];
    }
    this.#readAgainAfter(ttlMs);
    return catalog;
  }

  /** Over HTTP a tool may have arguments repeated in headers; one that marks them wrongly cannot be called. */
  #mirror(catalog: ServerCatalog): void {
    if (this.#transport.mirror === undefined) return;
    const mirrored = new Map<string, MirroredParams>();
    catalog.tools = catalog.tools.filter(({ name, inputSchema }) => {
      const marks = mirroredParams(inputSchema);
      if ('problem' in marks) catalog.quarantined.push({ name, reason: marks.problem });
      else if (marks.params.length > 0) mirrored.set(name, marks.params);
      return !('problem' in marks);
    });
    this.#transport.mirror(mirrored);
  }

  /** The era has no `ping`; the question that every server answers is cheap. */
  async ping(timeoutMs: number): Promise<void> {
    await this.#requests.send('server/discover', {}, timeoutMs).catch((error: unknown) => {
      if (!(error instanceof Refusal)) throw error;
    });
  }

  async close(): Promise<void> {
    clearTimeout(this.#stale);
    this.#listening?.abort();
    await this.#requests.close();
  }

  /** A list is good for its `ttlMs`; who tells of changes is not asked again at all. */
  #readAgainAfter(ttlMs: number): void {
    clearTimeout(this.#stale);
    const tells = (this.#capabilities().tools as { listChanged?: unknown } | undefined)?.listChanged === true;
    if (tells || ttlMs <= 0 || ttlMs > MAX_TIMER_MS) return;
    this.#stale = setTimeout(() => this.onToolsChanged?.(), Math.max(ttlMs, MIN_REREAD_MS));
    this.#stale.unref();
  }

  // ── notifications ─────────────────────────────────────────────────────────────────────────────────────────────

  /** Opens the stream, or opens it anew when what is wanted changed. Told again by every new session. */
  #listen(): void {
    this.#listening?.abort();
    const wants = (capability: string) =>
      (this.#capabilities()[capability] as { listChanged?: unknown } | undefined)?.listChanged === true;
    const filter = {
      ...(wants('tools') && { toolsListChanged: true }),
      ...(wants('prompts') && { promptsListChanged: true }),
      ...(wants('resources') && { resourcesListChanged: true }),
      ...(this.#uris.size > 0 && { resourceSubscriptions: [...this.#uris] }),
    };
    if (Object.keys(filter).length === 0) return;
    const stop = new AbortController();
    this.#listening = stop;
    // Its answer is its end: the server closes the stream, or refuses it.
    this.#requests.listen(filter, stop.signal).then(
      () => this.#listenLater(stop.signal),
      (error: unknown) => {
        // A server without such streams would refuse the next one too.
        if (!(error instanceof Refusal && error.code === METHOD_NOT_FOUND)) this.#listenLater(stop.signal);
      },
    );
  }

  #listenLater(signal: AbortSignal): void {
    if (signal.aborted) return;
    const timer = setTimeout(() => {
      if (signal.aborted) return;
      this.onToolsChanged?.(); // what changed while nobody listened
      this.#listen();
    }, LISTEN_AGAIN_MS);
    timer.unref();
    signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  }

  #absorb(method: string, params: Record<string, unknown>): Promise<Record<string, unknown>> | undefined {
    switch (method) {
      case 'resources/subscribe':
      case 'resources/unsubscribe':
        if (method === 'resources/subscribe') this.#uris.add(String(params.uri));
        else this.#uris.delete(String(params.uri));
        this.#listen();
        return Promise.resolve({});
      case 'logging/setLevel':
        this.#logLevel = String(params.level);
        return Promise.resolve({});
      case 'ping':
        return this.ping(PING_MS).then(() => ({}));
      default:
        return undefined;
    }
  }

  #capabilities(): Record<string, unknown> {
    const { capabilities } = this.#discover;
    return typeof capabilities === 'object' && capabilities !== null
      ? (capabilities as Record<string, unknown>)
      : {};
  }

  #serverInfo(): ServerCatalog['serverInfo'] {
    const meta = (this.#discover._meta ?? {}) as Record<string, unknown>;
    const info = (meta['io.modelcontextprotocol/serverInfo'] ?? {}) as Record<string, unknown>;
    const serverInfo: ServerCatalog['serverInfo'] = {
      name: typeof info.name === 'string' ? info.name : 'unnamed',
      version: typeof info.version === 'string' ? info.version : '0',
    };
    if (typeof info.title === 'string') serverInfo.title = info.title;
    return serverInfo;
  }
}

function answeredMethods({ sampling, elicitation, roots }: HandlerSet): ReadonlySet<string> {
  const methods = new Set<string>();
  if (sampling) methods.add('sampling/createMessage');
  if (elicitation) methods.add('elicitation/create');
  if (roots) methods.add('roots/list');
  return methods;
}
