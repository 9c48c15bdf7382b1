/** What the demo's servers work on: files, a database, a graph, and the config that starts the five of them. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { seed } from '../sqlite/seed.mjs';

const FOLDERS = ['harbour', 'orchard', 'archive', 'island'];
const CHAPTERS = 10;

/** Every process of a run carries this variable, so that the end can look for what is left of it. */
export const RUN_VARIABLE = 'BULKHEAD_DEMO_RUN';

/** Makes `output` anew. The config names absolute paths: it can be tried again from anywhere. */
export function makeSetting(output, run) {
  rmSync(output, { recursive: true, force: true });
  const directory = join(output, 'files');
  const files = FOLDERS.flatMap((folder) => makeChapters(directory, folder));
  mkdirSync(join(directory, 'written'));
  const database = join(output, 'library.sqlite');
  seed(database);
  const graph = join(output, 'memory.jsonl');
  const seeds = makeGraph(graph);

  const node = process.execPath;
  const env = { [RUN_VARIABLE]: run };
  const example = (name) => fileURLToPath(new URL(`../${name}/server.mjs`, import.meta.url));
  const mcpServers = {
    everything: { command: node, args: [programOf('@modelcontextprotocol/server-everything'), 'stdio'], env },
    filesystem: {
      command: node,
      args: [programOf('@modelcontextprotocol/server-filesystem'), directory],
      env,
    },
    // It reads, changes and rewrites its file on each call: two at once would lose one of the changes.
    memory: {
      command: node,
      args: [programOf('@modelcontextprotocol/server-memory')],
      env: { ...env, MEMORY_FILE_PATH: graph },
      window: 1,
    },
    sqlite: { command: node, args: [example('sqlite'), database], env },
    hang: { command: node, args: [example('hang')], env, callTimeoutMs: '3s' },
  };
  const config = join(output, '.mcp.json');
  writeFileSync(config, `${JSON.stringify({ mcpServers }, null, 2)}\n`);
  return { config, directory, files, graph, seeds };
}

function makeChapters(directory, folder) {
  const path = join(directory, folder);
  mkdirSync(path, { recursive: true });
  return Array.from({ length: CHAPTERS }, (_, i) => {
    const mark = `The ${folder}, chapter ${i + 1}.`;
    const file = join(path, `chapter-${i + 1}.txt`);
    writeFileSync(file, `${mark}\n${`Nothing much happened by the ${folder} that day.\n`.repeat(20 + i)}`);
    return { path: file, folder: path, mark };
  });
}

function makeGraph(path) {
  const seeds = Array.from({ length: 12 }, (_, i) => `author-${String.fromCharCode(97 + i)}`);
  const lines = seeds.map((name) =>
    JSON.stringify({ type: 'entity', name, entityType: 'author', observations: ['writes'] }),
  );
  writeFileSync(path, lines.join('\n'));
  return seeds;
}

/** The script behind a package's command. Started with this Node: no launcher, no download. */
function programOf(name) {
  const manifest = findManifest(name);
  const { bin } = JSON.parse(readFileSync(manifest, 'utf8'));
  const [script] = typeof bin === 'string' ? [bin] : Object.values(bin);
  return join(dirname(manifest), script);
}

function findManifest(name) {
  try {
    return fileURLToPath(import.meta.resolve(`${name}/package.json`));
  } catch (cause) {
    throw new Error(`${name} is not installed. Run: npm run setup`, { cause });
  }
}
