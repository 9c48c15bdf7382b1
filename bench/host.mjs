/**
 * A host process: one peer, connected to its servers, that does what the bench asks over the IPC channel. A peer of its
 * own process has its own heap, its own CPU time and its own memory, and may run under another Node.
 *
 *   bench ── {id, task, args} ──▶ host
 *   bench ◀─ {id, value} or {id, error} ── host
 *
 * Arguments: peer, scene, directory of the peer's packages (or nothing).
 */
import { figuresOf, load } from './load.mjs';
import { quietSample, sample } from './measure.mjs';

const [kind, scene, directory] = process.argv.slice(2);
const { connect } = await import(`./peers/${kind}.mjs`);
const { tasks: sceneTasks } = await import(`./scenes/${scene}.mjs`);
const MB = 1024 * 1024;

let peer;

const tasks = {
  /** Connects and makes one call: times from the first line to the first ready server, to all, to the first answer. */
  async connect({ servers, awaited = Object.keys(servers), first }) {
    let firstReadyMs;
    let readyMs = 0;
    const startedAt = performance.now();
    const onReady = (name) => {
      if (awaited.includes(name)) firstReadyMs ??= performance.now() - startedAt;
    };
    const opened = await sample(async () => {
      peer = await connect(servers, { awaited, directory, onReady });
      readyMs = performance.now() - startedAt;
      if (first !== undefined) await peer.call(first, 'echo', { text: 'hello' });
    });
    firstReadyMs ??= readyMs;
    const rssMb = process.memoryUsage.rss() / MB;
    return { firstReadyMs, readyMs, firstAnswerMs: opened.wallMs, rssMb, waitShare: opened.waitShare };
  },

  /** Echo calls, `inFlight` on each of the servers. */
  async load({ servers, inFlight, sampleMs, text = 'hello' }) {
    return figuresOf(
      await quietSample(() =>
        load((i) => peer.call(servers[i % servers.length], 'echo', { text }), {
          inFlight: inFlight * servers.length,
          until: sampleMs,
        }),
      ),
    );
  },

  async close() {
    await peer?.close();
    peer = undefined;
  },
};

process.on('message', async ({ id, task, args }) => {
  try {
    const own = sceneTasks?.[task];
    const value = own === undefined ? await tasks[task](args) : await own(peer, args);
    process.send({ id, value });
  } catch (error) {
    process.send({ id, error: error instanceof Error ? error.message : String(error) });
  }
});
// Peers reject in the background when a server goes down under them; what counts is the task's own end.
process.on('unhandledRejection', () => {});
// A peer that throws out of a stream's event ends its host; the bench needs to know why.
process.on('uncaughtException', (error) => {
  process.send({ lost: error.message }, () => process.exit(1));
});
process.once('disconnect', () => process.exit(0));
process.send({ ready: true });
