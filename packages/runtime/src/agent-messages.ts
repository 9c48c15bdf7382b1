/**
 * Every message between the thread that owns a runtime and a thread attached to it, and nothing else.
 *
 *   attached agent ── control (comlink: OwnerControl) ──▶ owner
 *   attached agent ◀─ news (OwnerNews) ──────────────────── owner
 *   attached agent ── news (AgentNews) ───────────────────▶ owner, when calls are written down there
 *
 * Calls, notices and commands do not come this way: an attached agent has its own ports to the supervisor and to the
 * server threads (see `protocol.ts` of the workers). Those ports themselves arrive as news.
 */
import type { MessagePort } from 'node:worker_threads';
import type { Answer, Reason } from '@bulkhead/workers';
import type { ServerTrust } from './agent/tool.js';
import type { ReconfigureReport, ServerEntryInput } from './api.js';
import type { LoadedConfig } from './config/types.js';
import type { GatedCall } from './gate.js';
import type { CallAccount } from './witness.js';

/** What is not running because of the configuration, and other findings. */
export type Findings = Pick<LoadedConfig, 'rejected' | 'problems'> & {
  /** What the configuration says of each server. */
  readonly trust: ReadonlyMap<string, ServerTrust>;
};

export type OwnerNews =
  /** Ports to a supervisor; the first one waits in the handle, later ones follow the loss of the one before. */
  | { type: 'supervisor'; notices: MessagePort; control: MessagePort }
  /** `final`: no other supervisor will start. */
  | { type: 'supervisor-lost'; message: string; restarts: number; final?: Reason }
  | { type: 'findings'; findings: Findings }
  /** Sent before anything is taken down. */
  | { type: 'closed'; why: string };

/** How calls of an attached agent ended, those of one turn together. */
export interface AgentNews {
  accounts: CallAccount[];
}

export interface OwnerControl {
  reconfigure(
    next: { servers: Record<string, ServerEntryInput> } | { config: LoadedConfig },
  ): Promise<Answer<ReconfigureReport>>;
  /** A question of a server that came to an attached agent, for the handlers of the owner. */
  ask(
    server: string,
    method: string,
    params: Record<string, unknown>,
  ): Promise<Answer<Record<string, unknown>>>;
  /** Whether a call of an attached agent may leave; the error is the call's. */
  check(call: GatedCall): Promise<Answer<null>>;
}
