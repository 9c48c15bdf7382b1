/** A small project as an agent finds it: a file with a mistake in it, and an `.mcp.json` that came with the project. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const example = (name) => fileURLToPath(new URL(`../${name}/server.mjs`, import.meta.url));

/** Every process of a run carries this variable, so that the end can look for what is left of it. */
export const RUN_VARIABLE = 'BULKHEAD_DEMO_RUN';

/** Makes `output` anew. @returns the project's directory and the files that the run changes */
export function makeSetting(output, run) {
  rmSync(output, { recursive: true, force: true });
  const project = join(output, 'project');
  mkdirSync(project, { recursive: true });
  const greeting = join(project, 'greeting.txt');
  writeFileSync(greeting, 'Helo, and welcome to the library.\n');
  const tracker = join(project, 'tracker.json');
  const env = { [RUN_VARIABLE]: run };
  const mcpServers = {
    issues: { command: process.execPath, args: [example('issues'), tracker], env },
    hang: { command: process.execPath, args: [example('hang')], env, callTimeoutMs: '1s' },
  };
  writeFileSync(join(project, '.mcp.json'), `${JSON.stringify({ mcpServers }, null, 2)}\n`);
  return { project, greeting, tracker };
}
