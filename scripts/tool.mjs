/** Runs a tool of this workspace (a package's command) with this Node, from the root, without a launcher. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

/** Runs the command `name` of `packageName`; its output goes where ours goes. @returns {boolean} whether it exited with 0 */
export function runTool(packageName, name, args) {
  return runNode([programOf(packageName, name), ...args]);
}

/** @returns {boolean} whether the script exited with 0 */
export function runNode(args, cwd = root) {
  // No stdin: a tool must neither wait for a key nor eat what was meant for somebody else.
  const { status, error } = spawnSync(process.execPath, args, {
    cwd,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (error) throw error;
  return status === 0;
}

function programOf(packageName, name) {
  const directory = join(root, 'node_modules', packageName);
  let manifest;
  try {
    manifest = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
  } catch (cause) {
    throw new Error(`${packageName} is not installed. Run: npm run setup`, { cause });
  }
  return join(directory, typeof manifest.bin === 'string' ? manifest.bin : manifest.bin[name]);
}
