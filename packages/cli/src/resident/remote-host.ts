/** Servers of a resident, with the face of a runtime of one's own: what the everyday commands need of one. */
import type { CallOptions, CatalogTool, RawArguments, RuntimeApi, ServerView } from '@bulkhead/runtime';
import {
  type ControlClient,
  isGone,
  isMismatch,
  isUnsent,
  type ResourceUpdate,
} from '@bulkhead/runtime/control/client';
import { BulkheadError } from '@bulkhead/workers/errors';

/** What a command needs of the servers that it uses, wherever they run. */
export type ToolHost = Pick<RuntimeApi, 'ready' | 'tools'> & {
  server(name: string): HostedServer;
  /** Resolves once the server has taken the subscription; the loop ends with `signal` or with the servers. */
  updates(server: string, uri: string, signal: AbortSignal): Promise<AsyncIterable<ResourceUpdate>>;
};

export type HostedServer = Pick<
  ServerView,
  | 'name'
  | 'callTool'
  | 'listResources'
  | 'listResourceTemplates'
  | 'readResource'
  | 'listPrompts'
  | 'getPrompt'
>;

type Rows = Record<string, unknown>[];
type Row = Record<string, unknown>;

export function remoteHost(client: ControlClient): ToolHost {
  let tools: readonly CatalogTool[] = [];
  return {
    ready: async (options = {}) => {
      const report = await client.ready(options);
      const asked = new Set(options.servers ?? [...report.ready, ...report.failed.map(({ name }) => name)]);
      tools = (await client.tools()).filter(({ server }) => asked.has(server));
      return report;
    },
    tools: () => tools,
    updates: (server, uri) => client.updates(server, uri),
    server: (name) => ({
      name,
      callTool: (tool, args, options = {}) =>
        client.call({ server: name, tool, ...sent(args, options) }, options.signal),
      listResources: () => client.offer<Rows>(name, { ask: 'resources' }),
      listResourceTemplates: () => client.offer<Rows>(name, { ask: 'templates' }),
      readResource: (uri) => client.offer<Row>(name, { ask: 'read', uri }),
      listPrompts: () => client.offer<Rows>(name, { ask: 'prompts' }),
      getPrompt: (prompt, args = {}) => client.offer<Row>(name, { ask: 'prompt', prompt, args }),
    }),
  };
}

function sent(args: Record<string, unknown> | RawArguments | undefined, options: CallOptions) {
  const { timeoutMs, maxMs, idempotent } = options;
  const raw = (args as Partial<RawArguments> | undefined)?.json;
  return {
    args: typeof raw === 'string' ? raw : JSON.stringify(args ?? {}),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(maxMs === undefined ? {} : { maxMs }),
    ...(idempotent === undefined ? {} : { idempotent }),
  };
}

/**
 * Whether servers of one's own may do what the resident did not: it is gone or closing and has sent nothing, was only
 * asked to look something up, or is not the right one. What was sent is never repeated.
 */
export function mayGoElsewhere(error: unknown): boolean {
  if (!(error instanceof BulkheadError)) return false;
  if (isUnsent(error) || isMismatch(error)) return true;
  return error.code === 'CLOSED' || (isGone(error) && error.code === 'CONNECTION_LOST');
}
