/** What every command gets beside its own options. */
import { BulkheadError } from '@bulkhead/workers';
import type { Interrupt } from './interrupt.js';
import type { Output } from './output.js';

export interface Context {
  output: Output;
  interrupt: Interrupt;
}

/** Options that all commands share, as commander gives them. */
export interface CommonOptions {
  config?: string[];
  json?: boolean;
  verbose?: boolean;
  timeout?: string;
  connectTimeout?: string;
}

/** A mistake in the command line: exit 1, nothing was called. */
export function usageError(message: string): BulkheadError {
  return new BulkheadError('BAD_INPUT', message);
}

const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;

/**
 * A time such as `500ms`, `30s`, `2m`, `1.5h`; a bare number is milliseconds. Undefined stays undefined.
 * @throws {BulkheadError} `BAD_INPUT` naming the option.
 */
export function time(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text.trim());
  const value = Number(match?.[1]) * units[(match?.[2] ?? 'ms') as keyof typeof units];
  if (match === null || !(value > 0)) {
    throw usageError(`${option}: expected a time such as 500ms, 30s or 2m, got "${text}"`);
  }
  return value;
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
