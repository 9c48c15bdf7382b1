/**
 * The part of a prompt that may change between steps: what SessionStart hooks said, notes of the servers whose tools the
 * model has, and the host's own words. It stands behind everything that a provider caches.
 */
import type { ServerView } from '../api.js';
import { type InstructionOptions, instructions } from './instructions.js';
import type { AgentHooks } from './loop-call.js';
import type { Tool } from './tool.js';

type Server = Pick<ServerView, 'name' | 'instructions' | 'tools'>;

/** Hooks are those of one session, and so is what they said at its start. */
const starts = new WeakMap<AgentHooks, Promise<string | undefined>>();

/** Runs the SessionStart hooks the first time; what they said holds for every run of the session. */
export async function sessionContext(
  hooks: AgentHooks | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (hooks === undefined) return undefined;
  let start = starts.get(hooks);
  if (start === undefined) {
    start = hooks.sessionStart({ signal }).then(({ context }) => context);
    starts.set(hooks, start);
  }
  const context = await start;
  // Hooks that were stopped have not had their say.
  if (signal.aborted) starts.delete(hooks);
  return context;
}

/** Notes of servers that a filter hides altogether stay out: they would speak of tools that the model does not have. */
export function serverNotes(
  servers: readonly Server[],
  tools: readonly Tool[],
  options: InstructionOptions | undefined,
): string | undefined {
  const offered = new Set(
    tools.flatMap(({ identity }) => (identity.kind === 'mcp' ? [identity.server] : [])),
  );
  const spoken = servers.filter((server) => server.tools.length === 0 || offered.has(server.name));
  return instructions(spoken, options);
}
