/** What the supervisor lends to each of its children. */
import type { MessagePort } from 'node:worker_threads';
import type { Board } from '../board.js';
import type { HandlerSet, SupervisorNotice, SupervisorOptions } from '../protocol.js';
import type { EraCache } from '../server/era-cache.js';
import type { CatalogCache } from './catalog-cache.js';
import type { StartGate } from './gate.js';
import type { Spares } from './spares.js';

/** What an agent's data port leads to. */
export interface PortTarget {
  name: string;
  slot: number;
  generation: number;
}

export interface ChildContext {
  board: Board;
  options: SupervisorOptions;
  gate: StartGate;
  clientInfo: { name: string; version: string; title?: string };
  runDir: string;
  logDir: string;
  /** Where threads come from: the one that waits, or a new one. */
  spares: Spares;
  transferBytes: number;
  spillDir: string;
  handlers: HandlerSet;
  recordFile: string | undefined;
  /** Tells every attached agent. */
  tell: (notice: SupervisorNotice) => void;
  /** Gives each attached agent its own data port to this generation; calls `add` once per agent. */
  connectAgents: (target: PortTarget, add: (port: MessagePort, sent: SharedArrayBuffer) => void) => void;
  /** Records a process group beyond this process's own life: guard and run file. */
  groups: { add: (pgid: number) => void; remove: (pgid: number) => void };
  catalogs: CatalogCache;
  eras: EraCache;
  random: () => number;
}
