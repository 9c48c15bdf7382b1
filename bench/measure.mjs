/**
 * One measured stretch of work: wall time, the loop's busy time (event loop utilization), the CPU time of the whole
 * process, the loop's longest delay, and how long the process's threads stood ready without getting a CPU (Linux).
 * Nothing here knows what is measured. Medians and percentiles live here too.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';

/** Above this share of waiting a sample says more about the machine than about the peer. */
const NOISY_SHARE = 0.1;
const MORE_TRIES = 3;
/** What takes this long waits for something else than a CPU; a second look would only take as long again. */
const LONG_MS = 5_000;

/** Sums of all threads of this process, in ns; undefined where the kernel does not tell. */
function schedule() {
  let ran = 0;
  let waited = 0;
  try {
    for (const task of readdirSync('/proc/self/task')) {
      const fields = readFileSync(`/proc/self/task/${task}/schedstat`, 'utf8').split(' ');
      ran += Number(fields[0]);
      waited += Number(fields[1]);
    }
  } catch {
    return undefined;
  }
  return { ran, waited };
}

/** @returns what `work` gave, and what it cost; `waitShare` is waiting ÷ (running + waiting) over all threads. */
export async function sample(work) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const scheduleBefore = schedule();
  const cpuBefore = process.cpuUsage();
  delay.enable();
  const loopBefore = performance.eventLoopUtilization();
  const startedAt = performance.now();
  const value = await work();
  const wallMs = performance.now() - startedAt;
  const loopMs = performance.eventLoopUtilization(loopBefore).active;
  // The delay timer must fire once more, or a block at the very end is not seen.
  await new Promise((resolve) => setTimeout(resolve, 3));
  delay.disable();
  const cpu = process.cpuUsage(cpuBefore);
  const scheduleAfter = schedule();
  let waitShare;
  if (scheduleBefore !== undefined && scheduleAfter !== undefined) {
    const ran = scheduleAfter.ran - scheduleBefore.ran;
    const waited = scheduleAfter.waited - scheduleBefore.waited;
    waitShare = waited / Math.max(1, ran + waited);
  }
  const cpuMs = (cpu.user + cpu.system) / 1_000;
  return { value, wallMs, loopMs, cpuMs, maxLoopDelayMs: delay.max / 1e6, waitShare };
}

/** Takes the sample again, a bounded number of times, while its threads waited much; gives the quietest. */
export async function quietSample(work) {
  let best = await sample(work);
  for (
    let more = 0;
    more < MORE_TRIES && best.wallMs < LONG_MS && (best.waitShare ?? 0) > NOISY_SHARE;
    more++
  ) {
    const next = await sample(work);
    if (next.waitShare < best.waitShare) best = next;
  }
  return best;
}

export function percentile(values, share) {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

export function median(values) {
  const sorted = values.filter((value) => value !== undefined).sort((a, b) => a - b);
  if (sorted.length === 0) return undefined;
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
