/** Entry of the `bulkhead` command. Loads only what the command line needs: `--version` costs one small file. */
import { version } from './version.js';

const args = process.argv.slice(2);
// Until a command takes over the streams, a reader that is gone is simply not written to.
process.stdout.on('error', () => {});

if (args.length === 1 && (args[0] === '--version' || args[0] === '-V')) {
  process.stdout.write(`${version()}\n`);
} else {
  const { main } = await import('./program.js');
  await main(args);
}
