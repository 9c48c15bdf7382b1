/**
 * A session of the initialize era (2024-11-05 … 2025-11-25) on the SDK's `Client`. The SDK does the handshake, lists,
 * notifications and what the server asks of us; calls go through the lane. No SDK type or error leaves this file.
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { McpError, ErrorCode as SdkCode } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { BulkheadError } from '../errors.js';
import type { ServerCatalog } from '../protocol.js';
import { readToolList } from './catalog.js';
import type { WireTransport } from './transport.js';

/** Any object: strict result schemas reject whole lists over one odd tool. */
const loose = z.looseObject({});

export class LegacySession {
  readonly #client: Client;
  readonly #transport: WireTransport;
  #protocolVersion = '';
  /** The server's tool list changed. */
  onToolsChanged: (() => void) | undefined;

  constructor(transport: WireTransport, clientInfo: { name: string; version: string; title?: string }) {
    this.#transport = transport;
    this.#client = new Client(clientInfo, { capabilities: {} });
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
    this.#client.fallbackNotificationHandler = async (notification) => {
      // Heard whether or not the server declared `listChanged`.
      if (notification.method === 'notifications/tools/list_changed') this.onToolsChanged?.();
    };
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

  async close(): Promise<void> {
    await this.#client.close();
  }
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
