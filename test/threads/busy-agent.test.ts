/** An agent that computes hears everything late and at once: no call may be lost in that. */
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { useCensus } from '../support/census.js';
import { failureOf, useRuntime } from '../support/runtime.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus();
const directory = useTempDir();
const start = useRuntime(directory);

/** The loop stands still, as under a long computation. */
function compute(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

it('a call in flight ends when its server is restarted while the agent computes, and later calls are served', async () => {
  const runtime = await start({ s: { ...scripted({}), callTimeoutMs: 20_000 } });
  await runtime.ready();
  const server = runtime.server('s');
  for (let round = 1; round <= 3; round++) {
    const flying = failureOf(server.callTool('hang'));
    await server.callTool('echo', { text: 'on its way' });
    const restarted = server.restart();
    await turn();
    // Long enough for the old port's end and the new port to be there both.
    compute(1_500);
    await restarted;
    const answers = await Promise.all(
      Array.from({ length: 5 }, (_, i) => server.callTool('echo', { text: `${i}` })),
    );
    expect(answers.map((answer) => answer.text())).toEqual(['0', '1', '2', '3', '4']);
    expect(await flying).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
  }
});

it('a call right after start() waits for the server, however late the agent hears of the stop before', async () => {
  const runtime = await start({ s: scripted({}) });
  await runtime.ready();
  const server = runtime.server('s');
  for (let round = 1; round <= 10; round++) {
    await server.stop();
    compute(40);
    await server.start();
    expect((await server.callTool('echo', { text: `round ${round}` })).text()).toBe(`round ${round}`);
  }
});
