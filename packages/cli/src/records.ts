/** What a resident or a worker leaves written of its servers and calls: its log, its audit, and the port of its metrics. */
import type { LogOptions, RuntimeOptions } from '@bulkhead/runtime';
import { choice, usageError } from './context.js';
import { auditOf, type RecordOptions } from './record-options.js';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const satisfies LogOptions['level'][];
const FORMATS = ['json', 'pretty'] as const;
const HOSTS = ['127.0.0.1', '::1', 'localhost'] as const;

/** @throws {BulkheadError} `BAD_INPUT` naming the option. */
export async function recordsOf(
  options: RecordOptions,
): Promise<Pick<RuntimeOptions, 'audit' | 'logger' | 'metrics'>> {
  const metrics = portOf(options.metricsPort);
  return {
    ...auditOf(options),
    ...(await loggerOf(options)),
    ...(metrics === undefined ? {} : { metrics }),
  };
}

async function loggerOf({ logLevel, logFile, logFormat }: RecordOptions): Promise<{ logger?: LogOptions }> {
  const format = choice('--log-format', logFormat ?? 'json', FORMATS);
  if (logLevel === undefined && logFile === undefined) {
    if (logFormat !== undefined) throw usageError('--log-format goes with --log-level or --log-file');
    return {};
  }
  const level = choice('--log-level', logLevel ?? 'info', LEVELS);
  return {
    logger: {
      level,
      ...(logFile === undefined ? {} : { file: logFile }),
      ...(format === 'json' ? {} : { format: await prettyFormat(logFile === undefined) }),
    },
  };
}

async function prettyFormat(isForTerminal: boolean): Promise<(line: string) => string> {
  const { prettyFactory } = await import('pino-pretty');
  const colorize = isForTerminal && process.stderr.isTTY === true && process.env.NO_COLOR === undefined;
  return prettyFactory({ colorize, ignore: 'pid,name', translateTime: 'SYS:HH:MM:ss.l' });
}

function portOf(text: string | undefined): RuntimeOptions['metrics'] {
  if (text === undefined) return undefined;
  const [, hostText, port = ''] = /^(?:(.+):)?(\d{1,5})$/.exec(text) ?? [];
  const host = HOSTS.find((one) => one === hostText?.replace(/^\[(.*)\]$/, '$1'));
  if (port === '' || Number(port) > 65_535 || (hostText !== undefined && host === undefined)) {
    const expected = 'a port from 0 to 65535 or one of them after 127.0.0.1:, [::1]: or localhost:';
    throw usageError(`--metrics-port: expected ${expected}, got "${text}"`);
  }
  return { port: Number(port), ...(host === undefined ? {} : { host }) };
}
