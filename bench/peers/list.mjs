/**
 * Everyone who is measured: who they are, which packages they need, and in which runs they take part. Peers that are not
 * dependencies of the workspace are installed on demand, see `installed.mjs`.
 */

/** Versions whose engines allow Node 20; newer majors stand below with `node: 24`. */
const ON_DEMAND = [
  { name: 'client2', set: 'default', http: true, install: { '@modelcontextprotocol/client': '2.4.0' } },
  { name: 'mcporter', set: 'default', http: true, install: { mcporter: '0.9.0' } },
  {
    name: 'langchain',
    set: 'all',
    http: true,
    install: {
      '@langchain/mcp-adapters': '1.1.4',
      '@langchain/core': '^1.4.0',
      '@langchain/langgraph': '^1.7.3',
    },
  },
  { name: 'ai-sdk', set: 'all', http: true, install: { '@ai-sdk/mcp': '1.0.102', zod: '^4.0.0' } },
  {
    name: 'mastra',
    set: 'all',
    http: true,
    install: { '@mastra/mcp': '0.14.5', '@mastra/core': '0.24.8', zod: '^4.0.0' },
  },
  { name: 'openai', set: 'all', http: true, install: { '@openai/agents': '0.20.0', zod: '^4.0.0' } },
  {
    name: 'mcp-use',
    set: 'all',
    http: true,
    // Its client imports langchain although it is an optional peer.
    install: { 'mcp-use': '1.34.6', langchain: '^1.2.10', '@langchain/core': '^1.4.0', zod: '^4.0.0' },
  },
];

const NEWER_MAJORS = [
  { name: 'mcporter', set: 'all', node: 24, http: true, install: { mcporter: '0.12.3' } },
  { name: 'ai-sdk', set: 'all', node: 24, http: true, install: { '@ai-sdk/mcp': '2.0.99', zod: '^4.0.0' } },
  {
    name: 'mastra',
    set: 'all',
    node: 24,
    http: true,
    install: { '@mastra/mcp': '2.0.0', '@mastra/core': '1.71.0', zod: '^4.0.0' },
  },
];

/**
 * `set`: `default` runs always, `all` with `--all-peers`. `bound`: no MCP client, only where a scene asks for the upper
 * bound. `http`: can speak Streamable HTTP. `node`: a major other than the bench's own.
 */
export const PEERS = [
  { name: 'sdk1', set: 'default', http: true },
  { name: 'bulkhead', set: 'default', http: true },
  { name: 'raw-pipe', set: 'default', bound: true },
  ...ON_DEMAND,
  { name: 'sdk1', set: 'all', node: 24, http: true },
  { name: 'bulkhead', set: 'all', node: 24, http: true },
  ...NEWER_MAJORS,
];

const OWN_MAJOR = Number(process.versions.node.split('.')[0]);

/**
 * @param names only these, when given
 * @param all the whole set instead of the default one
 * @param node24 also the default peers under Node 24
 * @throws {Error} for a name that is nobody's
 */
export function choose({ names, all = false, node24 = false }) {
  const unknown = names?.find((name) => !PEERS.some((peer) => peer.name === name));
  if (unknown !== undefined) {
    const known = [...new Set(PEERS.map((peer) => peer.name))].join(', ');
    throw new Error(`bench: no peer ${unknown}; there are ${known}`);
  }
  return PEERS.filter((peer) => {
    // Under Node 24 itself the rows of other majors would only repeat their neighbours.
    if (peer.node === OWN_MAJOR) return false;
    if (names !== undefined && !names.includes(peer.name)) return false;
    if (peer.node !== undefined) return all || (node24 && peer.install === undefined);
    return peer.set === 'default' || all || names !== undefined;
  });
}

/** What sets a peer's rows apart from those of the same name under another Node. */
export function labelOf({ name, node }) {
  return node === undefined ? { name } : { name, node: `Node ${node}` };
}
