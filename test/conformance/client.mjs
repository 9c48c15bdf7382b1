/**
 * The client under test of the public conformance suite: our runtime, threads and all. The suite runs
 * `node client.mjs <server URL>` and says in the environment which scenario it plays.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const url = process.argv.at(-1);
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? '';
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
const modern = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION === '2026-07-28';
// The suite waits for a client without end; this one gives up by itself.
setTimeout(() => process.exit(3), 55_000).unref();

const directory = mkdtempSync(join(tmpdir(), 'bulkhead-conformance-'));
for (const name of ['STATE', 'CACHE', 'CONFIG']) process.env[`XDG_${name}_HOME`] = directory;
const { createRuntime } = await import('@bulkhead/runtime');

const auth = {
  ...(scenario === 'auth/basic-cimd' && {
    clientMetadataUrl: 'https://conformance-test.local/client-metadata.json',
  }),
  ...(scenario.startsWith('auth/client-credentials') && { grant: 'client_credentials' }),
  ...(context.client_id && { clientId: context.client_id }),
  ...(context.client_secret && { clientSecret: context.client_secret }),
  ...(context.private_key_pem && { privateKey: context.private_key_pem }),
  ...(context.signing_algorithm && { signingAlgorithm: context.signing_algorithm }),
};

const runtime = await createRuntime({
  servers: {
    conformance: { url, ...(scenario.startsWith('auth/') && { auth }), protocol: modern ? 'auto' : 'legacy' },
  },
  clientInfo: { name: 'bulkhead-conformance', version: '0.1.0' },
  logDir: directory,
  handlers: {
    elicitation: () => ({ action: 'accept', content: {} }),
    sampling: () => ({ role: 'assistant', model: 'test', content: { type: 'text', text: 'sampled' } }),
    authorize: browser,
  },
});
try {
  const server = runtime.server('conformance');
  const report = await runtime.ready({ timeoutMs: 40_000 });
  if (!report.ok) throw new Error(JSON.stringify(report.failed));
  for (const [name, args] of callsFor(server.tools)) {
    const result = await server.callTool(name, args).catch((error) => error);
    console.error(name, result.outcome, result.message ?? result.text?.());
  }
  if (scenario === 'auth/authorization-server-migration') await server.restart();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  await runtime.close();
  rmSync(directory, { recursive: true, force: true });
}

/** Which tools are called, and how: the suite says so, or each once with arguments that fit. */
function callsFor(tools) {
  if (context.toolCalls) return context.toolCalls.map((call) => [call.name, call.arguments]);
  // The schema of one tool as it arrived here, handed back through the other.
  const rich = tools.find(({ name }) => name === 'json_schema_2020_12_tool');
  if (rich) return [['json_schema_echo', { schema: rich.inputSchema }]];
  return tools.map(({ name, inputSchema }) => [name, sampleArguments(inputSchema)]);
}

/** What a browser does with a page that grants at once. */
async function browser(address) {
  const page = await fetch(address, { redirect: 'manual' });
  const location = page.headers.get('location');
  if (location === null) throw new Error(`no redirect, status ${page.status}`);
  await fetch(location).then((answer) => answer.text());
}

function sampleArguments({ properties = {}, required = [] }) {
  const sample = { number: 5, integer: 5, string: 'test', boolean: true, array: [], object: {} };
  return Object.fromEntries(required.map((name) => [name, sample[properties[name]?.type] ?? 'test']));
}
