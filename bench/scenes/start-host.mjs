/**
 * A host process of the scene `start`, so that its time and memory are its own: opens servers with one peer and prints
 * `{firstAnswerMs, readyMs, rssMb, waitShare}`. Arguments: peer, number of healthy servers, number of deaf ones.
 */
import { sample } from '../measure.mjs';
import { ECHO, MISCHIEF } from '../places.mjs';

const [kind, healthy, deaf] = process.argv.slice(2);
const { open } = await import(`../peers/${kind}.mjs`);
const servers = {};
for (let i = 0; i < Number(deaf); i++) servers[`deaf${i}`] = [MISCHIEF, '--deaf'];
const awaited = [];
for (let i = 0; i < Number(healthy); i++) {
  servers[`echo${i}`] = [ECHO];
  awaited.push(`echo${i}`);
}
let readyMs = 0;
const opened = await sample(async () => {
  const startedAt = performance.now();
  const peer = await open(servers, awaited);
  readyMs = performance.now() - startedAt;
  await peer.call('echo0', 'echo', { text: 'hello' });
  return peer;
});
const rssMb = process.memoryUsage.rss() / 1024 / 1024;
const figures = { firstAnswerMs: opened.wallMs, readyMs, rssMb, waitShare: opened.waitShare };
// Deaf servers of a bare client end with their host; what counts is measured already.
process.stdout.write(JSON.stringify(figures), async () => {
  await opened.value.close();
  process.exit(0);
});
