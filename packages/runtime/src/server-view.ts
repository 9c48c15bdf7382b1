/** One server as an agent sees it: a live view of its state and tools, its calls and requests, and its commands. */
import { BulkheadError } from '@bulkhead/workers';
import type { ServerTrust } from './agent/tool.js';
import type { CallOptions, RawArguments, ServerView, ToolResult } from './api.js';
import type { Catalog } from './catalog.js';
import { requestsOf, type SendRequest, type SessionWishes } from './requests.js';
import type { ServerCommands } from './server-commands.js';
import type { ServerRef } from './server-ref.js';

/** Names in the error about an unknown tool. */
const SHOWN_TOOLS = 20;

/** What the runtime lends to its views. */
export interface ViewContext {
  catalog: Catalog;
  commands: ServerCommands;
  call: (
    ref: ServerRef,
    tool: string,
    args: Record<string, unknown> | RawArguments | undefined,
    options: CallOptions | undefined,
  ) => Promise<ToolResult>;
  request: (ref: ServerRef) => SendRequest;
  wishes: (name: string) => SessionWishes;
  trust: (name: string) => ServerTrust | undefined;
  warn: (warning: { server: string; message: string }) => void;
}

export function viewOf(ref: ServerRef, context: ViewContext): ServerView {
  const { catalog, commands, call, request, wishes, trust, warn } = context;
  return {
    name: ref.name,
    get state() {
      return ref.state;
    },
    get reason() {
      return ref.reason;
    },
    get generation() {
      return ref.generation;
    },
    get instructions() {
      return catalog.of(ref.name)?.instructions;
    },
    get tools() {
      return catalog.ofServer(ref.name);
    },
    get trust() {
      return trust(ref.name);
    },
    callTool: (tool, args, options) => {
      // Known to be missing only once the list is known; before that the call waits like any other.
      if (ref.state === 'ready' && catalog.byOrigin(ref.name, tool) === undefined) {
        return Promise.reject(unknownTool(catalog, ref.name, tool));
      }
      return call(ref, tool, args, options);
    },
    ...requestsOf(ref.name, catalog, wishes(ref.name), request(ref), (message) =>
      warn({ server: ref.name, message }),
    ),
    start: () => commands.start(ref),
    stop: () => commands.stop(ref),
    restart: () => commands.restart(ref),
    enable: () => commands.enable(ref),
    disable: () => commands.disable(ref),
    drain: (options) => commands.drain(ref, options?.timeoutMs),
  };
}

function unknownTool(catalog: Catalog, server: string, tool: string): BulkheadError {
  const names = catalog.ofServer(server).map((known) => known.name);
  const shown = names.slice(0, SHOWN_TOOLS).join(', ');
  return new BulkheadError(
    'UNKNOWN_TOOL',
    `server "${server}" has no tool "${tool}"; it has: ${shown || 'none'}${names.length > SHOWN_TOOLS ? ', …' : ''}`,
    { server, tool },
  );
}
