/** Loader for the suite on Node 20: it imports `fs.globSync` by name, which came with Node 22. */
import { register } from 'node:module';

if (Number(process.versions.node.split('.')[0]) < 22) register('./node20-hooks.mjs', import.meta.url);
