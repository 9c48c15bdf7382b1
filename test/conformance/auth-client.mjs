/**
 * The client of the conformance suite's `auth/*` scenarios: an SDK client over our credentials. The suite runs
 * `node auth-client.mjs <server URL>` and says in the environment what it wants. A browser is played by following the
 * authorization URL once.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { credentialsFor } from '../../packages/workers/dist/server/auth/credentials.js';
import { FileTokenStore } from '../../packages/workers/dist/server/auth/file-store.js';

// The SDKs belong to the workers package; this file does not.
const modules = new URL('../../packages/workers/node_modules/@modelcontextprotocol/', import.meta.url);
const legacy = (name) => import(new URL(`sdk/dist/esm/client/${name}.js`, modules).href);
const modern = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION === '2026-07-28';
const { Client, StreamableHTTPClientTransport } = modern
  ? await import(new URL('client/dist/index.mjs', modules).href)
  : { ...(await legacy('index')), ...(await legacy('streamableHttp')) };

const serverUrl = process.argv.at(-1);
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? '';
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
const directory = mkdtempSync(join(tmpdir(), 'bulkhead-conformance-'));
setTimeout(() => process.exit(3), 25_000).unref();

const settings = {
  ...(scenario === 'auth/basic-cimd' && {
    clientMetadataUrl: 'https://conformance-test.local/client-metadata.json',
  }),
  ...(scenario.startsWith('auth/client-credentials') && { grant: 'client_credentials' }),
  ...(context.client_id && { clientId: context.client_id }),
  ...(context.client_secret && { clientSecret: context.client_secret }),
  ...(context.private_key_pem && { privateKey: context.private_key_pem }),
  ...(context.signing_algorithm && { signingAlgorithm: context.signing_algorithm }),
};

/** What a browser does with a page that grants at once. */
async function browser(url) {
  const page = await fetch(url, { redirect: 'manual' });
  const location = page.headers.get('location');
  if (location === null) throw new Error(`no redirect, status ${page.status}`);
  // The listener answers the code as well as the refusal; what counts is told elsewhere.
  await fetch(location).then((answer) => answer.text());
}

const credentials = credentialsFor({
  server: 'conformance',
  serverUrl,
  headers: [],
  settings,
  store: new FileTokenStore(directory),
  open: browser,
});
const client = new Client(
  { name: 'bulkhead-auth-conformance', version: '0.0.0' },
  modern ? { versionNegotiation: { mode: 'auto' } } : {},
);
try {
  await client.connect(new StreamableHTTPClientTransport(new URL(serverUrl), { fetch: credentials.wrap() }));
  await client.listTools();
  await client.callTool({ name: 'test-tool', arguments: {} });
  if (scenario === 'auth/authorization-server-migration') await client.listTools();
  await client.close();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(directory, { recursive: true, force: true });
}
