/** `bulkhead batch-status`: how far a submitted batch is and what it waits for; once, or until it is done. */
import { setTimeout as wait } from 'node:timers/promises';
import type { BatchStatus, Cluster } from '@bulkhead/cluster';
import { statusOf } from '../cluster/batch-figures.js';
import { RateMeter } from '../cluster/rate-meter.js';
import { statusText } from '../cluster/status-text.js';
import { warningsOf } from '../cluster/status-warnings.js';
import type { StoreOptions } from '../cluster/store-location.js';
import { withCluster } from '../cluster/with-cluster.js';
import type { Context } from '../context.js';
import { exitCode } from '../exit-codes.js';
import { onScreen } from '../screen.js';

export interface StatusOptions extends StoreOptions {
  watch?: boolean;
}

const EVERY_MS = 1_000;
const CLEAR_SCREEN = '\u001b[2J';

export async function batchStatus(id: string, options: StatusOptions, context: Context): Promise<number> {
  return withCluster(options, context, async (cluster) => {
    const status = await (options.watch === true ? watch(cluster, id, context) : once(cluster, id, context));
    if (status.finished) return statusOf(status);
    return context.output.closed.aborted ? exitCode.closedPipe : exitCode.unreachable;
  });
}

async function once(cluster: Cluster, id: string, context: Context): Promise<BatchStatus> {
  const status = await context.interrupt.race(cluster.status(id));
  await context.output.data(shown(status, undefined, context));
  return status;
}

/** Where nothing can be redrawn, only what changed is shown. */
async function watch(cluster: Cluster, id: string, context: Context): Promise<BatchStatus> {
  const { output, interrupt } = context;
  const screen = output.stdout.isTTY === true && process.env.TERM !== 'dumb' && !output.json;
  const rate = new RateMeter();
  let last: number | undefined;
  if (screen) await output.data(CLEAR_SCREEN);
  for (;;) {
    const status = await interrupt.race(cluster.status(id));
    const perSecond = rate.look(status.answered, performance.now());
    const text = shown(status, perSecond, context);
    if (screen) await output.data(onScreen(text, output.stdout, `bulkhead batch-status ${id}`));
    else if (output.json || status.answered !== last || status.finished) await output.data(text);
    last = status.answered;
    if (status.finished || output.closed.aborted) return status;
    const signal = AbortSignal.any([interrupt.signal, output.closed]);
    await interrupt.race(wait(EVERY_MS, undefined, { signal }).catch(() => {}));
  }
}

function shown(status: BatchStatus, perSecond: number | undefined, { output }: Context): string {
  if (!output.json) return statusText(status, { nowMs: Date.now(), perSecond });
  const warnings = status.finished ? [] : warningsOf(status);
  return `${JSON.stringify({ ...status, perSecond: perSecond ?? null, warnings })}\n`;
}
