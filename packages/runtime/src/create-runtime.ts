/** From options to a runtime that stands: what must be known before it, and what is opened beside it. */
import { BulkheadError } from '@bulkhead/workers';
import type { RuntimeOptions } from './api.js';
import { ApprovalDesk } from './approval-desk.js';
import { resolveServers } from './config/load.js';
import type { MetricsOptions } from './control/metrics-port.js';
import type { Books } from './log-and-audit.js';
import { recordFile } from './recording-file.js';
import { Runtime } from './runtime.js';
import { openTelemetry } from './telemetry/open.js';

/**
 * Starts a runtime. Resolves as soon as the supervisor has the list; the servers join in the background
 * (`ready()` waits for them).
 * @throws {BulkheadError} `BAD_CONFIG` when the options name neither `servers` nor `config`, or a limit is not a number;
 * `BAD_INPUT` when the name of `control` is taken, or the port of `metrics` cannot be had.
 */
export async function createRuntime(options: RuntimeOptions): Promise<Runtime> {
  if ((options.servers === undefined) === (options.config === undefined)) {
    throw new BulkheadError('BAD_CONFIG', 'createRuntime expects either "servers" or "config"');
  }
  // Before anything is made that would have to be taken away again.
  if (options.record !== undefined) recordFile(options.record.file);
  const approvals = new ApprovalDesk(options.onApproval);
  const config = await approvals.review(options.config ?? resolveServers(options.servers ?? {}, {}));
  const telemetry = await openTelemetry(options.telemetry, { owner: true });
  const runtime = new Runtime(config, options, approvals, { telemetry, books: await booksFor(options) });
  runtime.tellStart();
  await runtime.begin();
  if (options.control !== undefined) await openNamed(runtime, options.control.name);
  if (options.metrics !== undefined) await openPort(runtime, options.metrics);
  approvals.ask();
  return runtime;
}

/** Nothing of them is loaded for a runtime that writes nothing. */
async function booksFor(options: RuntimeOptions): Promise<Books | undefined> {
  if (options.logger === undefined && options.audit === undefined) return undefined;
  const { openBooks } = await import('./log-and-audit.js');
  return openBooks(options);
}

async function openNamed(runtime: Runtime, name: string): Promise<void> {
  await orClose(runtime, async () => {
    const { openControl } = await import('./control/open.js');
    const { logger } = runtime;
    await openControl(runtime, { name, ...(logger === undefined ? {} : { logger }) });
  });
}

async function openPort(runtime: Runtime, options: MetricsOptions): Promise<void> {
  await orClose(runtime, async () => {
    const { openMetrics } = await import('./control/metrics-port.js');
    await openMetrics(runtime, options);
  });
}

/** A program that asked for a socket or a port and cannot have it has no runtime either. */
async function orClose(runtime: Runtime, open: () => Promise<void>): Promise<void> {
  try {
    await open();
  } catch (error) {
    await runtime.close();
    throw error;
  }
}
