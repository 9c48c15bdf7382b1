/**
 * One client's session: its requests answered from all servers, and what the servers tell on their own sent on to it.
 * Requests come undecoded by schemas of the SDK, so that fields which it does not know pass through.
 */
import { isRecord } from '@bulkhead/workers';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type {
  JSONRPCRequest,
  ServerNotification,
  ServerRequest,
  ServerResult,
} from '@modelcontextprotocol/sdk/types.js';
import type { CallOptions, CatalogTool, LogLevel } from '../api.js';
import { asFailure, callFailure, Failure } from './failure.js';
import type { Front } from './front.js';
import { RawResult } from './raw-result.js';
import { argumentsOf } from './request-text.js';

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;
type Params = Record<string, unknown>;

export const logLevels: readonly LogLevel[] = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
];

export class ServedSession {
  readonly server: Server;
  readonly #front: Front;
  /** Subscribed resources: the client's address by the server's own. */
  readonly #subscribed = new Map<string, { address: string; server: string; uri: string }>();
  #level: LogLevel | undefined;
  #initialized = false;
  /** What the client has asked for: it need not hear of changes before it knows anything. */
  readonly #listed = new Set<'prompts' | 'resources'>();
  #toolsRevision: number | undefined;

  constructor(front: Front) {
    this.#front = front;
    this.server = new Server(front.info, {
      capabilities: {
        tools: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
        prompts: { listChanged: true },
        completions: {},
        logging: {},
      },
      instructions: front.instructions(),
    });
    // The SDK's own keeps the level to itself; servers are to hear of it.
    this.server.removeRequestHandler('logging/setLevel');
    this.server.fallbackRequestHandler = (request, extra) => this.#answer(request, extra);
    this.server.oninitialized = () => {
      this.#initialized = true;
    };
    this.server.onclose = () => front.left(this);
  }

  get level(): LogLevel | undefined {
    return this.#level;
  }

  get subscriptions(): Iterable<{ server: string; uri: string }> {
    return this.#subscribed.values();
  }

  wants(server: string, uri: string): boolean {
    return this.#subscribed.has(key(server, uri));
  }

  changed(list: 'tools' | 'prompts' | 'resources'): void {
    const known =
      list === 'tools'
        ? this.#toolsRevision !== undefined && this.#toolsRevision !== this.#front.runtime.catalog().revision
        : this.#listed.has(list);
    if (!known) return;
    this.#notify({ method: `notifications/${list}/list_changed` });
  }

  updated(server: string, uri: string): void {
    const subscribed = this.#subscribed.get(key(server, uri));
    if (subscribed === undefined) return;
    this.#notify({ method: 'notifications/resources/updated', params: { uri: subscribed.address } });
  }

  log(message: { server: string; level: string; logger?: string; data: unknown }): void {
    const level = logLevels.find((one) => one === message.level) ?? 'info';
    if (this.#level !== undefined && logLevels.indexOf(level) < logLevels.indexOf(this.#level)) return;
    const logger = message.logger === undefined ? message.server : `${message.server}/${message.logger}`;
    this.#notify({ method: 'notifications/message', params: { level, logger, data: message.data } });
  }

  #notify(notification: ServerNotification): void {
    // Nothing may come before the handshake; a client that is gone needs nothing.
    if (this.#initialized) void this.server.notification(notification).catch(() => {});
  }

  async #answer(request: JSONRPCRequest, extra: Extra): Promise<ServerResult> {
    const params: Params = request.params ?? {};
    try {
      return (await this.#run(request.method, params, extra)) as ServerResult;
    } catch (error) {
      throw asFailure(error);
    }
  }

  async #run(method: string, params: Params, extra: Extra): Promise<Params> {
    const { offers } = this.#front;
    const options: CallOptions = { signal: extra.signal };
    switch (method) {
      case 'tools/list':
        await offers.settled;
        this.#toolsRevision = this.#front.runtime.catalog().revision;
        return { tools: [...offers.tools()].map(([name, tool]) => definition(name, tool)) };
      case 'tools/call':
        return this.#call(text(params, 'name'), params.arguments, extra);
      case 'resources/list':
        this.#listed.add('resources');
        return { resources: await offers.resources(options) };
      case 'resources/templates/list':
        this.#listed.add('resources');
        return { resourceTemplates: await offers.resourceTemplates(options) };
      case 'resources/read': {
        const address = text(params, 'uri');
        return offers.withResource(address, async (view, uri) =>
          readdressed(await view.readResource(uri, options), uri, address),
        );
      }
      case 'resources/subscribe':
        return this.#subscribe(text(params, 'uri'));
      case 'resources/unsubscribe':
        return this.#unsubscribe(text(params, 'uri'));
      case 'prompts/list':
        this.#listed.add('prompts');
        return { prompts: await offers.prompts(options) };
      case 'prompts/get': {
        const { view, prompt } = await offers.prompt(text(params, 'name'), options);
        return view.getPrompt(prompt, (params.arguments ?? {}) as Record<string, string>, options);
      }
      case 'completion/complete':
        return this.#complete(params, options);
      case 'logging/setLevel': {
        const level = logLevels.find((one) => one === params.level);
        if (level === undefined) throw Failure.params(`level: expected one of ${logLevels.join(', ')}`);
        this.#level = level;
        this.#front.levelChanged();
        return {};
      }
      default:
        throw Failure.method(method);
    }
  }

  async #call(name: string, decoded: unknown, extra: Extra): Promise<Params> {
    const { runtime, offers, asks } = this.#front;
    const tool = await offers.tool(name);
    const token = extra._meta?.progressToken;
    const options: CallOptions = { signal: extra.signal, route: 'control', ...traceOf(extra._meta) };
    if (token !== undefined) {
      options.onProgress = (progress) => {
        const params = { ...progress, progressToken: token };
        void extra.sendNotification({ method: 'notifications/progress', params }).catch(() => {});
      };
    }
    const ended = asks.began(tool.server, { server: this.server, requestId: extra.requestId });
    try {
      const args = argumentsOf(extra.authInfo, decoded);
      return await RawResult.of(await runtime.server(tool.server).callTool(tool.name, args, options));
    } catch (error) {
      return callFailure(error);
    } finally {
      ended();
    }
  }

  async #subscribe(address: string): Promise<Params> {
    await this.#front.offers.withResource(address, async (view, uri) => {
      await view.subscribe(uri);
      this.#subscribed.set(key(view.name, uri), { address, server: view.name, uri });
    });
    return {};
  }

  async #unsubscribe(address: string): Promise<Params> {
    for (const [id, { address: known, server, uri }] of this.#subscribed) {
      if (known !== address) continue;
      this.#subscribed.delete(id);
      await this.#front.unsubscribe(server, uri);
    }
    return {};
  }

  async #complete(params: Params, options: CallOptions): Promise<Params> {
    const { offers } = this.#front;
    const ref = isRecord(params.ref) ? params.ref : {};
    if (ref.type === 'ref/resource') {
      return offers.withResource(text(ref, 'uri'), (view, uri) =>
        view.complete({ ...params, ref: { ...ref, uri } }, options),
      );
    }
    if (ref.type !== 'ref/prompt') throw Failure.params('ref.type: expected ref/prompt or ref/resource');
    const { view, prompt } = await offers.prompt(text(ref, 'name'), options);
    return view.complete({ ...params, ref: { ...ref, name: prompt } }, options);
  }
}

function definition(name: string, { server: _, fullName: __, ...tool }: CatalogTool): Params {
  return { ...tool, name };
}

/** The contents under the address that was asked for; parts of other addresses keep theirs. */
function readdressed(result: Params, uri: string, address: string): Params {
  if (uri === address || !Array.isArray(result.contents)) return result;
  const contents = result.contents.map((content: unknown) =>
    isRecord(content) && content.uri === uri ? { ...content, uri: address } : content,
  );
  return { ...result, contents };
}

function text(params: Params, member: string): string {
  const value = params[member];
  if (typeof value !== 'string') throw Failure.params(`${member}: expected a string`);
  return value;
}

function key(server: string, uri: string): string {
  return `${server.length}:${server}${uri}`;
}

/** The client's trace goes on through us; nothing else of its `_meta` is the server's business. */
function traceOf(meta: Params | undefined): Pick<CallOptions, 'meta'> {
  const { traceparent, tracestate } = meta ?? {};
  if (typeof traceparent !== 'string') return {};
  return { meta: { traceparent, ...(typeof tracestate === 'string' && { tracestate }) } };
}
