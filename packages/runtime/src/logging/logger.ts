/**
 * Where a runtime writes what happens: any logger with the methods of pino, or options for one that is made here, with
 * pino, when it is first wanted. A library that was given none loads and writes nothing.
 */
import { LineFile } from '../audit/line-file.js';

/** The methods of pino that are used; bunyan and winston adapters have them too. */
export interface Logger {
  /** Every call. */
  trace(fields: object, message: string): void;
  /** What helps to find a mistake. */
  debug(fields: object, message: string): void;
  /** What happens to servers. */
  info(fields: object, message: string): void;
  /** What somebody should look at. */
  warn(fields: object, message: string): void;
  /** What failed. */
  error(fields: object, message: string): void;
  /** Asked once for `trace`; without it calls are not logged. */
  isLevelEnabled?(level: string): boolean;
}

/** `RuntimeOptions.logger`, when it is no logger itself. */
export interface LogOptions {
  /** Least level that is written. `trace` writes a line for every call. Default `info`. */
  level?: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** File of JSON lines, 0600. Default: stderr. */
  file?: string;
  /** Size at which the file becomes `<file>.1`, in bytes. Default 16 MiB, at least 1 KiB. */
  maxBytes?: number;
  /** Older files that are kept. Default 3, at least 1. */
  keep?: number;
  /** Makes another text of a line; gets and gives one with its newline. Default: JSON as it is. */
  format?: (line: string) => string;
}

/** A logger and its end. */
export interface OpenLogger {
  logger: Logger;
  close: () => Promise<void>;
}

const DEFAULT_MAX_BYTES = 16 * 1024 * 1024;
const DEFAULT_KEEP = 3;

/**
 * Members whose values never belong into a log. Nothing that is logged here has them; this is the second net, below
 * texts without secrets.
 */
const SECRET_FIELDS = [
  'env',
  'headers',
  'auth',
  'authorization',
  'cookie',
  'password',
  'secret',
  'clientSecret',
  'privateKey',
  'token',
  'accessToken',
  'refreshToken',
  'apiKey',
  'api_key',
];

/** @param warn told once when the file cannot be written. */
export async function openLogger(
  wanted: Logger | LogOptions,
  warn: (message: string) => void,
): Promise<OpenLogger> {
  if (isLogger(wanted)) return { logger: wanted, close: async () => {} };
  const { pino, stdTimeFunctions } = await import('pino');
  const { level = 'info', file, maxBytes = DEFAULT_MAX_BYTES, keep = DEFAULT_KEEP, format } = wanted;
  const lines = file === undefined ? undefined : new LineFile({ file, maxBytes, keep, warn });
  const write = (line: string): void => {
    const text = format === undefined ? line : format(line);
    if (lines === undefined) process.stderr.write(text);
    else lines.write(text);
  };
  const paths = SECRET_FIELDS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);
  const logger = pino(
    {
      level,
      base: { name: 'bulkhead', pid: process.pid },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths, censor: '[redacted]' },
    },
    { write },
  );
  return { logger, close: async () => lines?.close() };
}

function isLogger(wanted: Logger | LogOptions): wanted is Logger {
  return 'info' in wanted && typeof wanted.info === 'function';
}
