/**
 * A neighbour that is stopped (SIGSTOP) and given calls with arguments of 100 kB: what it does to a healthy server's rate,
 * how many calls are refused, how much memory the host takes, how long closing lasts, and whether a process is left.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { PeerHost } from '../hosts.mjs';
import { figuresOf, load } from '../load.mjs';
import { quietSample } from '../measure.mjs';
import { labelOf } from '../peers/list.mjs';
import { ECHO, MISCHIEF } from '../places.mjs';
import { compare } from '../rows.mjs';

export const about = 'a stopped neighbour given 200 and 600 calls of 100 kB: rate, refusals, memory, closing';

const IN_FLIGHT = 16;
const ARGUMENT_BYTES = 100_000;
const GONE_LOOKS = 50;
const GONE_EVERY_MS = 10;
const MB = 1024 * 1024;

function alive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

export const tasks = {
  async backlog(peer, { calls, sampleMs }) {
    const echo = () => peer.call('healthy', 'echo', { text: 'hello' });
    const measured = () => quietSample(() => load(echo, { inFlight: IN_FLIGHT, until: sampleMs }));
    await load(echo, { inFlight: IN_FLIGHT, until: sampleMs });
    const alone = figuresOf(await measured());
    const pid = Number(peer.decode(await peer.call('stopped', 'pid', {}))[0].text);
    process.kill(pid, 'SIGSTOP');
    const rssBefore = process.memoryUsage.rss();
    let refused = 0;
    const text = 'x'.repeat(ARGUMENT_BYTES);
    for (let i = 0; i < calls; i++) {
      // What fails later, at closing, was not refused: the count is read before.
      peer.call('stopped', 'echo', { text }).catch(() => {
        refused++;
      });
    }
    const beside = figuresOf(await measured());
    const rssGrowthMb = (process.memoryUsage.rss() - rssBefore) / MB;
    const refusedInTime = refused;
    const startedAt = performance.now();
    await peer.close();
    const closeMs = performance.now() - startedAt;
    // A peer may kill and not wait: what the kernel needs for it is not held against anyone.
    for (let i = 0; i < GONE_LOOKS && alive(pid); i++) await delay(GONE_EVERY_MS);
    const pidsLeft = alive(pid) ? 1 : 0;
    if (pidsLeft > 0) process.kill(pid, 'SIGKILL');
    return {
      ...beside,
      ratioToAlone: beside.callsPerSecond / alone.callsPerSecond,
      refused: refusedInTime,
      rssGrowthMb,
      closeMs,
      pidsLeft,
    };
  },
};

export async function run({ peers, runs, sampleMs, counts = [200, 600] }) {
  if (process.platform === 'win32')
    throw new Error('bench: the scene backlog needs signals; leave it out here');
  const clients = peers.filter(({ bound }) => bound !== true);
  const hosts = clients.map((peer) => ({ label: labelOf(peer), peer }));
  const rows = [];
  for (const calls of counts) {
    const identity = { case: `${calls} × 100 kB`, inFlight: IN_FLIGHT };
    // A closed peer cannot be used again: every round has its own host.
    const measure = async ({ peer }) => {
      const host = new PeerHost(peer, 'backlog', {
        healthy: { args: [ECHO] },
        stopped: { args: [MISCHIEF] },
      });
      try {
        return await host.do('backlog', { calls, sampleMs });
      } finally {
        await host.renew();
      }
    };
    rows.push(...(await compare(identity, hosts, runs, 'ratioToAlone', measure)));
  }
  return rows;
}
