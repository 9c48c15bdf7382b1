/**
 * A session of the initialize era (2024-11-05 … 2025-11-25) on the SDK's `Client`. The SDK does the handshake, lists,
 * notifications and what the server asks of us; calls go through the lane. No SDK type or error leaves this file.
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { McpError, ErrorCode as SdkCode } from '@modelcontextprotocol/sdk/types.js';
import { looseObject } from 'zod/v4'; // not `z`: the namespace holds every locale
import { BulkheadError } from '../errors.js';
import type { HandlerSet, ServerCatalog, ServerEvent } from '../protocol.js';
import { readToolList } from './catalog.js';
import { type Session, tellSession } from './session.js';
import type { WireTransport } from './transport.js';
import { VersionLadder } from './version-ladder.js';

/** Any object: strict result schemas reject whole lists over one odd tool. */
const loose = looseObject({});

export class LegacySession implements Session {
  readonly #client: Client;
  readonly #transport: VersionLadder;
  #protocolVersion = '';
  /** The server's tool list changed. */
  onToolsChanged: (() => void) | undefined;
  /** Anything else that the server tells unasked. */
  onEvent: ((event: ServerEvent) => void) | undefined;
  /** What the server asks of the client. */
  onAsk: Session['onAsk'];

  constructor(
    transport: WireTransport,
    clientInfo: { name: string; version: string; title?: string },
    handlers: HandlerSet,
  ) {
    this.#transport = new VersionLadder(transport);
    this.#client = new Client(clientInfo, { capabilities: capabilitiesOf(handlers) });
    this.#client.fallbackNotificationHandler = async ({ method, params }) =>
      tellSession(this, method, params ?? {});
    const asked = new Map([
      ['sampling/createMessage', handlers.sampling],
      ['elicitation/create', handlers.elicitation],
      ['roots/list', handlers.roots],
    ]);
    this.#client.fallbackRequestHandler = async ({ method, params }, { signal }) => {
      if (!asked.get(method) || this.onAsk === undefined) {
        throw new McpError(SdkCode.MethodNotFound, `this client does not offer ${method}`);
      }
      return this.onAsk(method, params ?? {}, signal);
    };
    this.#client.onerror = () => {}; // protocol noise is counted by the transport
    transport.setProtocolVersion = (version) => {
      this.#protocolVersion = version;
    };
  }

  /**
   * Handshake and first tool list.
   * @throws {BulkheadError} `START_TIMEOUT`, `START_FAILED` (with `data.kind`).
   */
  async open(timeoutMs: number): Promise<ServerCatalog> {
    try {
      await this.#client.connect(this.#transport, { timeout: timeoutMs, maxTotalTimeout: timeoutMs });
    } catch (error) {
      throw translate('initialize', error, timeoutMs);
    }
    return this.readCatalog(timeoutMs);
  }

  async readCatalog(timeoutMs: number): Promise<ServerCatalog> {
    const warnings: string[] = [];
    let tools: ServerCatalog['tools'] = [];
    let quarantined: ServerCatalog['quarantined'] = [];
    try {
      // Asked once even when the server declared no tools: some forget to.
      const list = await readToolList(async (cursor) => {
        const request = { method: 'tools/list', params: cursor === undefined ? {} : { cursor } };
        return this.#client.request(request, loose, { timeout: timeoutMs });
      });
      tools = list.tools;
      quarantined = list.quarantined;
      warnings.push(...list.warnings);
    } catch (error) {
      const declared = this.#client.getServerCapabilities()?.tools !== undefined;
      const missing = error instanceof McpError && error.code === SdkCode.MethodNotFound;
      if (!(error instanceof McpError) || isLocal(error)) throw translate('tools/list', error, timeoutMs);
      if (declared || !missing) warnings.push(`tools/list failed: ${error.message}`);
    }
    const info = this.#client.getServerVersion();
    const catalog: ServerCatalog = {
      tools,
      quarantined,
      warnings,
      serverInfo: { name: info?.name ?? 'unnamed', version: info?.version ?? '0' },
      protocolVersion: this.#protocolVersion,
      capabilities: (this.#client.getServerCapabilities() ?? {}) as Record<string, unknown>,
    };
    if (info?.title !== undefined) catalog.serverInfo.title = info.title;
    const instructions = this.#client.getInstructions();
    if (instructions !== undefined) catalog.instructions = instructions;
    return catalog;
  }

  /** Any well-formed reply, even an error, is life. @throws {BulkheadError} when none came in time. */
  async ping(timeoutMs: number): Promise<void> {
    try {
      await this.#client.ping({ timeout: timeoutMs });
    } catch (error) {
      if (error instanceof McpError && !isLocal(error)) return;
      throw translate('ping', error, timeoutMs);
    }
  }

  /** After a failed `open`: the version of the later era that the server named instead. */
  get modernOnly(): string | undefined {
    return this.#transport.modernOnly;
  }

  async close(): Promise<void> {
    await this.#client.close();
  }
}

/** Only what somebody answers is declared. */
function capabilitiesOf({ sampling, elicitation, roots }: HandlerSet) {
  return {
    ...(sampling && { sampling: {} }),
    ...(elicitation && { elicitation: { form: {}, url: {} } }),
    ...(roots && { roots: { listChanged: true } }),
  };
}

/** The SDK's own timeout and closed errors wear codes like the server's. */
function isLocal(error: McpError): boolean {
  return error.code === SdkCode.RequestTimeout || error.code === SdkCode.ConnectionClosed;
}

function translate(step: string, error: unknown, timeoutMs: number): BulkheadError {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof McpError && error.code === SdkCode.RequestTimeout) {
    return new BulkheadError('START_TIMEOUT', `no answer to ${step} within ${Math.round(timeoutMs)} ms`, {
      data: { kind: 'start-timeout', step },
    });
  }
  if (error instanceof McpError && error.code === SdkCode.ConnectionClosed) {
    return new BulkheadError('START_FAILED', `the connection ended during ${step}`, {
      data: { kind: 'closed', step },
    });
  }
  const kind = /protocol version is not supported/.test(message) ? 'protocol-version' : 'handshake';
  return new BulkheadError('START_FAILED', `${step} failed: ${message}`, {
    data: { kind, step },
    cause: error,
  });
}
