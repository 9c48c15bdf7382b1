/** Start-up, each host in a fresh process: time until the first and all of 1, 10 and 50 servers are ready, and memory. */
import { PeerHost } from '../hosts.mjs';
import { labelOf } from '../peers/list.mjs';
import { ECHO } from '../places.mjs';
import { compare } from '../rows.mjs';

export const about = 'time to ready and memory of the host for 1, 10 and 50 servers';

export async function run({ peers, runs, counts = [1, 10, 50] }) {
  const clients = peers.filter(({ bound }) => bound !== true);
  const starters = clients.map((peer) => ({ label: labelOf(peer), peer }));
  const rows = [];
  for (const servers of counts) {
    const measure = ({ peer }) => startOnce(peer, servers);
    rows.push(...(await compare({ servers }, starters, runs, 'readyMs', measure)));
  }
  return rows;
}

async function startOnce(peer, count) {
  const host = new PeerHost(peer, 'start');
  const servers = Object.fromEntries(Array.from({ length: count }, (_, i) => [`echo${i}`, { args: [ECHO] }]));
  try {
    return await host.do('connect', { servers, first: 'echo0' });
  } finally {
    await host.end();
  }
}
