// A server that never answers costs its own call and nothing else.
import { createRuntime } from '@bulkhead/runtime';

const runtime = await createRuntime({
  servers: {
    echo: { command: 'node', args: ['examples/echo/server.mjs'] },
    hang: { command: 'node', args: ['examples/hang/server.mjs'] }, // answers no call, ever
  },
});
const stuck = runtime.server('hang').callTool('wait', {}, { timeoutMs: 1_000 });
const how = stuck.catch((error) => error.code);
console.log((await runtime.server('echo').callTool('echo', { text: 'still here' })).text());
console.log(await how);
await runtime.close();
