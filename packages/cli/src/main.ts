/** Entry of the `bulkhead` command. Loads only what the command line needs: `--version` costs one small file. */
import { statSync } from 'node:fs';
import { version } from './version.js';

const BUNDLES = new Map([
  ['call', './program.bundle.js'],
  ['batch', './program.batch.js'],
]);
const args = process.argv.slice(2);
// Until a command takes over the streams, a reader that is gone is simply not written to.
process.stdout.on('error', () => {});

if (args.length === 1 && (args[0] === '--version' || args[0] === '-V')) {
  process.stdout.write(`${version()}\n`);
} else {
  const { main } = (await import(programFor(args))) as typeof import('./program.js');
  await main(args);
}

/** The bundle of `build.mjs` for a command that must be quick, unless it is missing or older than the modules. */
function programFor([command = '']: readonly string[]): string {
  const bundle = BUNDLES.get(command);
  return bundle !== undefined && writtenAt(bundle) >= writtenAt('./.tsbuildinfo') ? bundle : './program.js';
}

/** 0 when it is not there; a missing bundle is older than anything. */
function writtenAt(name: string): number {
  const found = statSync(new URL(name, import.meta.url), { throwIfNoEntry: false });
  return found?.mtimeMs ?? (name.endsWith('.js') ? -1 : 0);
}
