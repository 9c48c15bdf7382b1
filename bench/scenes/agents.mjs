/**
 * Several agent threads: with Bulkhead they share the sessions of one runtime (`attach()`), with a bare client each thread
 * has a client and a server of its own. The load is the same in sum.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { withHosts } from '../hosts.mjs';
import { percentile, quietSample } from '../measure.mjs';
import { ECHO } from '../places.mjs';
import { compare } from '../rows.mjs';

export const about =
  'one, two and four agent threads, 64 calls in flight in sum; with Bulkhead on one runtime';

const IN_FLIGHT = 64;
const THREAD = new URL('../agent-thread.mjs', import.meta.url);

/** A thread for `peer` that makes echo calls on request: it attaches to the runtime, or connects by itself. */
async function agentThread(peer, { kind, directory }) {
  const handle = peer.runtime?.attach();
  const workerData = { kind, directory, handle, servers: { echo: { args: [ECHO] } } };
  const worker = new Worker(THREAD, { workerData, transferList: handle?.transfer ?? [] });
  await once(worker, 'message');
  return worker;
}

async function ask(worker, message) {
  worker.postMessage(message);
  const [answer] = await once(worker, 'message');
  return answer;
}

export const tasks = {
  async agents(peer, { kind, directory, agents, sampleMs }) {
    const threads = await Promise.all(
      Array.from({ length: agents }, () => agentThread(peer, { kind, directory })),
    );
    const loadAll = (ms) =>
      Promise.all(
        threads.map((thread) => ask(thread, { inFlight: Math.ceil(IN_FLIGHT / agents), sampleMs: ms })),
      );
    try {
      await loadAll(sampleMs);
      const { value, cpuMs, wallMs, waitShare } = await quietSample(() => loadAll(sampleMs));
      const latencies = value.flatMap((one) => [...one.latencies]);
      const loopMs = value.reduce((sum, one) => sum + one.loopMs, 0);
      return {
        callsPerSecond: (latencies.length / wallMs) * 1_000,
        loopMicrosPerCall: (loopMs * 1_000) / latencies.length,
        cpuMicrosPerCall: (cpuMs * 1_000) / latencies.length,
        p50Ms: percentile(latencies, 0.5),
        p99Ms: percentile(latencies, 0.99),
        waitShare,
      };
    } finally {
      await Promise.all(threads.map((thread) => ask(thread, 'close').then(() => thread.terminate())));
    }
  },
};

export function run({ peers, runs, sampleMs, counts = [1, 2, 4] }) {
  const clients = peers.filter(({ bound }) => bound !== true);
  return withHosts(clients, 'agents', { echo: { args: [ECHO] } }, async (hosts) => {
    const rows = [];
    for (const agents of counts) {
      const measure = (host) =>
        host.do('agents', { kind: host.peer.name, directory: host.directory, agents, sampleMs });
      rows.push(...(await compare({ agents, inFlight: IN_FLIGHT }, hosts, runs, 'callsPerSecond', measure)));
    }
    return rows;
  });
}
