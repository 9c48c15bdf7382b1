/**
 * An agent's thread of the scene `agents`: attaches to the runtime whose handle it was given, or connects a peer of its
 * own; then makes echo calls whenever it is asked to.
 */
import { performance } from 'node:perf_hooks';
import { parentPort, workerData } from 'node:worker_threads';
import { load } from './load.mjs';

const { kind, directory, handle, servers } = workerData;
const peer = handle === undefined ? await connectOwn() : await attach();

async function attach() {
  const { attachRuntime } = await import('@bulkhead/runtime');
  const runtime = await attachRuntime(handle);
  const report = await runtime.ready({ servers: ['echo'] });
  if (!report.ok) throw new Error(`not ready: ${JSON.stringify(report.failed)}`);
  const echo = runtime.server('echo');
  return { call: (_, tool, args) => echo.callTool(tool, args), close: () => runtime.close() };
}

async function connectOwn() {
  const { connect } = await import(`./peers/${kind}.mjs`);
  return connect(servers, { awaited: Object.keys(servers), directory, onReady() {} });
}

parentPort.on('message', async (message) => {
  if (message === 'close') {
    await peer.close();
    parentPort.postMessage('closed');
    return;
  }
  const before = performance.eventLoopUtilization();
  const { inFlight, sampleMs } = message;
  const { latencies } = await load(() => peer.call('echo', 'echo', { text: 'hello' }), {
    inFlight,
    until: sampleMs,
  });
  const loopMs = performance.eventLoopUtilization(before).active;
  parentPort.postMessage({ latencies: Float64Array.from(latencies), loopMs });
});
parentPort.postMessage('ready');
