/**
 * The agent loop while a call hangs: one step makes a call that never ends, or one to a very talkative server, and beside
 * it a tool that is an agent itself makes eight calls a step to a healthy server. Every peer is the client below the
 * same loop, so the difference is the client's.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createToolset, defineTool, runAgent, scriptedModel } from '@bulkhead/runtime/agent';
import { withHosts } from '../hosts.mjs';
import { percentile, quietSample } from '../measure.mjs';
import { ECHO, MISCHIEF } from '../places.mjs';
import { compare } from '../rows.mjs';

export const about =
  'eight parallel calls a step of the agent loop while another call hangs, or its server floods';

const PARALLEL = 8;
/** Of one run: a conversation that grew all the time would be measured with it. */
const STEPS = 20;
const SERVERS = { healthy: { args: [ECHO] }, hung: { args: [MISCHIEF] }, flood: { args: [MISCHIEF] } };
const CALLS = [
  ['healthy', 'echo'],
  ['hung', 'hang'],
  ['flood', 'flood'],
];

/** Bulkhead's tools are those of its toolset; another client's become tools of the host. */
function toolsOf(peer) {
  if (peer.runtime !== undefined) return createToolset({ runtime: peer.runtime }).allTools;
  return CALLS.map(([server, tool]) => ({
    name: `mcp__${server}__${tool}`,
    description: tool,
    inputSchema: { type: 'object' },
    identity: { kind: 'mcp', server, tool },
    capabilities: new Set(['read']),
    async execute(args) {
      return { isError: false, content: peer.decode(await peer.call(server, tool, args)) };
    },
  }));
}

/** An agent that works until the time is over; tells the time of each step, from its beginning to the last answer. */
function workerOf(tools, sampleMs, tell) {
  const echo = { name: 'mcp__healthy__echo', args: { text: 'hello' } };
  const model = () => scriptedModel(() => ({ calls: Array(PARALLEL).fill(echo) }));
  return defineTool({
    name: 'worker',
    description: 'Works.',
    inputSchema: { type: 'object' },
    capabilities: ['read'],
    async execute() {
      const endsAt = performance.now() + sampleMs;
      while (performance.now() < endsAt) {
        let startedAt = 0;
        const run = runAgent({ model: model(), toolset: tools, prompt: 'Work.', maxSteps: STEPS });
        for await (const event of run) {
          if (event.type === 'step') startedAt = performance.now();
          if (event.type === 'message' && event.message.role === 'tool') tell(performance.now() - startedAt);
          if (event.type === 'tool-result' && event.isError) throw new Error(event.parts[0]?.text);
        }
      }
    },
  });
}

/** Times of the steps that were made beside those calls. */
async function steps(tools, beside, sampleMs) {
  const times = [];
  const worker = workerOf(tools, sampleMs, (ms) => times.push(ms));
  const calls = [{ name: worker.name }, ...beside];
  const abort = new AbortController();
  let failed;
  await runAgent({
    model: scriptedModel([{ calls }]),
    toolset: [...tools, worker],
    prompt: 'Work.',
    maxSteps: 1,
    signal: abort.signal,
    onEvent(event) {
      if (event.type !== 'tool-result' || event.name !== worker.name) return;
      if (event.isError) failed = event.parts[0]?.text;
      abort.abort();
    },
  });
  if (failed !== undefined || times.length === 0) throw new Error(failed ?? 'no step came to its end');
  return times;
}

export const tasks = {
  async steps(peer, { beside, sampleMs }) {
    const tools = toolsOf(peer);
    const delay = monitorEventLoopDelay({ resolution: 1 });
    const { value, loopMs, maxLoopDelayMs, waitShare } = await quietSample(async () => {
      delay.reset();
      delay.enable();
      const times = await steps(tools, beside, sampleMs);
      delay.disable();
      return times;
    });
    // What still floods must not run into the next sample: its server answers in order.
    await peer.call('flood', 'echo', {});
    return {
      p50Ms: percentile(value, 0.5),
      p99Ms: percentile(value, 0.99),
      callsPerSecond: (value.length * PARALLEL * 1_000) / sampleMs,
      loopMicrosPerCall: (loopMs * 1_000) / (value.length * PARALLEL),
      p99LoopDelayMs: delay.percentile(99) / 1e6,
      maxLoopDelayMs,
      waitShare,
    };
  },
};

export function run({ peers, runs, sampleMs }) {
  const clients = peers.filter(({ bound }) => bound !== true);
  const cases = [
    { case: 'nothing beside', beside: [] },
    { case: 'a call hangs', beside: [{ name: 'mcp__hung__hang' }] },
    { case: 'a server floods', beside: [{ name: 'mcp__flood__flood', args: { ms: sampleMs } }] },
  ];
  return withHosts(clients, 'agent', SERVERS, async (hosts) => {
    const rows = [];
    // A first look at everything, so that no case pays for the code of the next.
    for (const host of hosts) await host.do('steps', { beside: [], sampleMs }).catch(() => {});
    for (const { beside, ...identity } of cases) {
      const measure = (host) => host.do('steps', { beside, sampleMs });
      rows.push(...(await compare({ ...identity, inFlight: PARALLEL }, hosts, runs, 'p99Ms', measure)));
    }
    return rows;
  });
}
