/** Servers of a resident, with the face of a runtime of one's own: what `call` and `tools` need of one. */
import type { CallOptions, CatalogTool, RawArguments, RuntimeApi, ServerView } from '@bulkhead/runtime';
import { type ControlClient, isGone, isMismatch, isUnsent } from '@bulkhead/runtime/control/client';
import { BulkheadError } from '@bulkhead/workers/errors';

/** What a command needs of the servers that it uses, wherever they run. */
export type ToolHost = Pick<RuntimeApi, 'ready' | 'tools'> & {
  server(name: string): Pick<ServerView, 'name' | 'callTool'>;
};

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
    server: (name) => ({
      name,
      callTool: (tool, args, options = {}) =>
        client.call({ server: name, tool, ...sent(args, options) }, options.signal),
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
