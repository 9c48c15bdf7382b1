/**
 * What a run hands down to the runs that its tools start: a sub-agent stands under the gate and the hooks of the run that
 * called it, without a word of its author.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { AgentHooks } from './loop-call.js';
import type { Usage } from './models/model.js';
import type { Gate } from './tool.js';

export interface RunScope {
  readonly gate: Gate | undefined;
  readonly hooks: AgentHooks | undefined;
  /** Adds to the tokens of the run. */
  spend(usage: Usage): void;
}

const scopes = new AsyncLocalStorage<RunScope>();

export function withinScope<T>(scope: RunScope, work: () => T): T {
  return scopes.run(scope, work);
}

/** Of the run whose tool is running; undefined outside of any. */
export function outerScope(): RunScope | undefined {
  return scopes.getStore();
}
