/** The agent demo does what the front page shows of it. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { useCensus } from '../support/census.js';
import { useTempDir } from '../support/temp-dir.js';
import { codeBlocks, readPage, root } from './markdown.js';

useCensus();
const temp = useTempDir();
const run = promisify(execFile);

/** Without what differs from run to run: times, the place of the output, and which of parallel answers came first. */
function lines(transcript: string): string[] {
  const settled = transcript
    .replaceAll(temp('out'), 'demo-output/agent')
    .replaceAll(/\S*demo-output\/agent/g, 'demo-output/agent')
    .replaceAll(/after \d+ ms/g, 'after N ms');
  return settled.trim().split('\n').sort();
}

it('the transcript of the agent demo is what a run prints, and the run finds nothing amiss', async () => {
  const shown = codeBlocks(readPage('README.md'), 'text').find((block) =>
    block.includes('npm run demo:agent'),
  );
  const { stdout } = await run(process.execPath, [join(root, 'examples/agent-demo/run.mjs'), temp('out')], {
    cwd: root,
  });
  expect(lines(`$ npm run demo:agent\n${stdout}`)).toEqual(lines(shown ?? ''));
});
