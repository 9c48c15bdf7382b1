/** Sizes as people write and read them. Pure. */
import { usageError } from '../context.js';

const KIBIBYTE = 1024;
const units = ['B', 'KB', 'MB', 'GB', 'TB'] as const;

/**
 * Bytes of `500KB`, `64MB`, `2GB`; a bare number is bytes. Undefined stays undefined.
 * @throws {BulkheadError} `BAD_INPUT` naming the option.
 */
export function size(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, digits, letter = 'B'] = /^(\d+(?:\.\d+)?) ?(?:([kmgt])?i?b)?$/i.exec(text) ?? [];
  const power = units.findIndex((unit) => unit.charAt(0) === letter.toUpperCase());
  const bytes = Math.floor(Number(digits) * KIBIBYTE ** power);
  if (bytes > 0 && Number.isSafeInteger(bytes)) return bytes;
  throw usageError(`${option}: expected a size such as 500KB, 64MB or 2GB, got "${text}"`);
}

/** `0 B`, `1.5 KB`, `256 MB`. */
export function sizeText(bytes: number): string {
  let power = 0;
  while (bytes >= KIBIBYTE ** (power + 1) && power < units.length - 1) power++;
  const value = bytes / KIBIBYTE ** power;
  return `${value < 10 && power > 0 ? value.toFixed(1) : Math.floor(value)} ${units[power]}`;
}
