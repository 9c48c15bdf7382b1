/** Figures as a table shows them: short, and with their unit. Pure. */
import type { ServerRow } from '@bulkhead/runtime/control/client';

export function age(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m${String(seconds % 60).padStart(2, '0')}s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours}h${String(minutes % 60).padStart(2, '0')}m`;
  return `${Math.floor(hours / 24)}d${hours % 24}h`;
}

/** Ended calls that were not `ok`. */
export function errorsOf({ outcomes }: ServerRow['stats']): number {
  return Object.entries(outcomes).reduce(
    (sum, [outcome, count]) => (outcome === 'ok' ? sum : sum + count),
    0,
  );
}

export function milliseconds(value: number | undefined): string {
  if (value === undefined) return '-';
  return value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : value.toFixed(0);
}

export function mebibytes(bytes: number | undefined): string {
  return bytes === undefined ? '-' : `${(bytes / 1_048_576).toFixed(1)} MB`;
}
