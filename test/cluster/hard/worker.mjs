// A worker with limits of a test's own, where the command has the defaults: shorter locks make a lost worker's chunks come
// back sooner. Arguments: a JSON object {redis, config, concurrency, limits}. SIGTERM ends it as it ends the command.
import { openCluster } from '@bulkhead/cluster';
import { createRuntime, loadConfig } from '@bulkhead/runtime';

const { redis, config, concurrency, limits } = JSON.parse(process.argv[2]);
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());

const runtime = await createRuntime({ config: await loadConfig({ files: [config] }) });
const cluster = await openCluster({ redis, patienceMs: Number.POSITIVE_INFINITY });
await cluster.worker({ runtime, concurrency, limits, signal: stop.signal }).run();
await cluster.close();
await runtime.close();
