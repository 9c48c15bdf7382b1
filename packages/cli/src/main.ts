/** Entry of the `bulkhead` command. Loads only what the command line needs: `--version` costs one small file. */
import { readFileSync } from 'node:fs';

const args = process.argv.slice(2);

if (args.length === 1 && (args[0] === '--version' || args[0] === '-V')) {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  process.stdout.write(`${(manifest as { version: string }).version}\n`);
} else {
  const { main } = await import('./program.js');
  await main(args);
}
