/** Which config file a command writes: that of a scope, or one that is named. */
import {
  type ConfigPlace,
  configPlace,
  filePlace,
  type WritableScope,
  writableScopes,
} from '@bulkhead/runtime';
import { type CommonOptions, choice, usageError } from './context.js';

export interface TargetOptions extends CommonOptions {
  scope?: string;
}

export interface ConfigTarget extends ConfigPlace {
  /** Undefined for a file that was named. */
  scope: WritableScope | undefined;
}

/** @throws {BulkheadError} `BAD_INPUT` for options that name no single file. */
export function configTarget({ scope, config = [] }: TargetOptions, preset: WritableScope): ConfigTarget {
  const [file, ...more] = config;
  if (file === undefined) {
    const chosen = scope === undefined ? preset : choice('--scope', scope, writableScopes);
    return { ...configPlace(chosen, process.cwd()), scope: chosen };
  }
  if (scope !== undefined)
    throw usageError('expected either --scope or --config, not both: each names the file');
  if (more.length > 0) throw usageError('--config: expected one file to write, got several');
  return { ...filePlace(file, process.cwd()), scope: undefined };
}

/** Private files hold what is for one person; a project's file is for everyone unless a secret stands in it. */
export function modeFor({ scope }: ConfigTarget, holdsSecret: boolean): number {
  return scope === 'project' && !holdsSecret ? 0o644 : 0o600;
}
