/** What every command gets beside its own options. */
import { parseDuration } from '@bulkhead/runtime/duration';
import { BulkheadError } from '@bulkhead/workers/errors';
import type { Interrupt } from './interrupt.js';
import type { Output } from './output.js';

export interface Context {
  output: Output;
  interrupt: Interrupt;
}

/** Options that all commands share, as commander gives them. */
export interface CommonOptions {
  config?: string[];
  trustProject?: boolean;
  json?: boolean;
  verbose?: boolean;
  timeout?: string;
  connectTimeout?: string;
  /** Calls are written down, so servers must be this command's own. */
  audit?: string;
  /** The resident that must be used; false: none may be. */
  resident?: string | false;
}

/** The person vouches for servers of the project's own files. */
export function trustsProject({ trustProject }: CommonOptions): boolean {
  return trustProject === true || process.env.BULKHEAD_TRUST_PROJECT === '1';
}

/** A mistake in the command line: exit 1, nothing was called. */
export function usageError(message: string): BulkheadError {
  return new BulkheadError('BAD_INPUT', message);
}

/**
 * A time such as `500ms`, `30s`, `2m`; a bare number is milliseconds. Undefined stays undefined.
 * @throws {BulkheadError} `BAD_INPUT` naming the option.
 */
export function time(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  try {
    const ms = parseDuration(text);
    if (ms > 0) return ms;
  } catch {
    // Told below, with the name of the option.
  }
  throw usageError(`${option}: expected a time above 0 such as 500ms, 30s or 2m, got "${text}"`);
}

/** @throws {BulkheadError} `BAD_INPUT` naming the option. */
export function count(option: string, text: string | undefined, most: number): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > most) {
    throw usageError(`${option}: expected a whole number from 1 to ${most}, got "${text}"`);
  }
  return value;
}

/** @throws {BulkheadError} `BAD_INPUT` naming the option and what it takes. */
export function choice<const T extends string>(option: string, text: string, choices: readonly T[]): T {
  const found = choices.find((one) => one === text);
  if (found === undefined) throw usageError(`${option}: expected ${choices.join(', ')}, got "${text}"`);
  return found;
}
