/** Overrides of the defaults, checked by name and range. */
import { BulkheadError, runtimeDefaults, supervisorDefaults } from '@bulkhead/workers';

export type Limits = { [K in keyof typeof runtimeDefaults | keyof typeof supervisorDefaults]: number };

/** @throws {BulkheadError} `BAD_CONFIG` naming the limit, what was expected and what was given. */
export function limitsFrom(overrides: Readonly<Record<string, number>>): Limits {
  const limits: Limits = { ...supervisorDefaults, ...runtimeDefaults };
  for (const [name, value] of Object.entries(overrides)) {
    if (!Object.hasOwn(limits, name)) {
      throw new BulkheadError(
        'BAD_CONFIG',
        `there is no limit "${name}"; known: ${Object.keys(limits).join(', ')}`,
      );
    }
    if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) {
      throw new BulkheadError(
        'BAD_CONFIG',
        `expected limit "${name}" to be a number of at least 0, got ${value}`,
      );
    }
    limits[name as keyof Limits] = value;
  }
  return limits;
}
