#!/usr/bin/env node
/**
 * `npm run api`: the reference of everything public, made of the comments in the sources by TypeDoc, into `api/`, which
 * is never committed. Fails when something public has no comment or a link in one leads nowhere.
 */
import { join } from 'node:path';
import { publicEntries } from './public-entries.mjs';
import { root, runNode } from './tool.mjs';

const program = join(root, 'scripts/node_modules/typedoc/bin/typedoc');
const entries = publicEntries().flatMap(({ source }) => ['--entryPoints', source]);
if (!runNode([program, '--options', 'typedoc.json', ...entries, ...process.argv.slice(2)])) {
  process.exitCode = 1;
}
