/** Options about what a command leaves written of its servers and calls. Loads nothing: every command line sees them. */
import type { CallAuditOptions, RuntimeOptions } from '@bulkhead/runtime';
import type { Command } from 'commander';
import { choice, usageError } from './context.js';

export interface AuditOption {
  audit?: string;
  auditArgs?: string;
}

export interface RecordOptions extends AuditOption {
  logLevel?: string;
  logFile?: string;
  logFormat?: string;
  metricsPort?: string;
}

const ARGUMENTS = ['hash', 'redacted', 'none'] as const satisfies CallAuditOptions['arguments'][];

/** For commands that make calls. */
export function auditOption(command: Command): Command {
  return command
    .option('--audit <file>', 'add a line for every call to this file')
    .option('--audit-args <kind>', 'what it tells of arguments: hash, redacted or none (default: hash)');
}

/** For commands that stay. */
export function recordOptions(command: Command): Command {
  return auditOption(command)
    .option(
      '--log-level <level>',
      'write a log: trace, debug, info, warn, error or silent (default: no log, with --log-file info)',
    )
    .option('--log-file <file>', 'file of the log (default: stderr)')
    .option('--log-format <format>', 'json or pretty (default: json)')
    .option('--metrics-port <port>', 'metrics for Prometheus on this port of 127.0.0.1, or on [host:]port');
}

/** @throws {BulkheadError} `BAD_INPUT` naming the option. */
export function auditOf({ audit, auditArgs }: AuditOption): Pick<RuntimeOptions, 'audit'> {
  if (audit === undefined) {
    if (auditArgs !== undefined) throw usageError('--audit-args goes with --audit');
    return {};
  }
  return { audit: { file: audit, arguments: choice('--audit-args', auditArgs ?? 'hash', ARGUMENTS) } };
}
