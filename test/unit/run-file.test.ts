import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { RunFile, reapLeftovers } from '../../packages/workers/src/supervisor/run-file.js';
import { useTempDir } from '../support/temp-dir.js';

const directory = useTempDir();

test('a state directory that cannot be made costs the safety net, not the start', () => {
  writeFileSync(directory('state'), 'a file where a directory should be');
  const runFile = new RunFile(directory('state'), 'run');
  runFile.add(process.pid);
  runFile.remove(process.pid);
  runFile.end();
  expect(reapLeftovers(directory('state'))).toEqual([]);
});
