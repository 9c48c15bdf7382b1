/**
 * Start-up, each host in a fresh process: time until all of 1 and 10 servers are ready and the host's memory then, and
 * the first answer of a healthy server while 9 others never answer `initialize`.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { START_HOST } from '../places.mjs';
import { compare } from '../rows.mjs';

const exec = promisify(execFile);
const PEERS = [
  { name: 'sdk1', module: 'sdk1' },
  { name: 'bulkhead', module: 'bulkhead' },
];

export async function run({ runs }) {
  const cases = [
    { identity: { case: 'all healthy', servers: 1 }, healthy: 1, deaf: 0 },
    { identity: { case: 'all healthy', servers: 10 }, healthy: 10, deaf: 0 },
    { identity: { case: '9 hang at start', servers: 10 }, healthy: 1, deaf: 9 },
  ];
  const rows = [];
  for (const { identity, healthy, deaf } of cases) {
    const measure = async ({ module }) => {
      const { stdout } = await exec(process.execPath, [START_HOST, module, String(healthy), String(deaf)]);
      return JSON.parse(stdout);
    };
    rows.push(...(await compare(identity, PEERS, runs, 'firstAnswerMs', measure)));
  }
  return rows;
}
