/** What can be asked of the bench on its command line, and the help that says so. */
import { parseArgs } from 'node:util';

/** Names of the scenes, in the order of a full run; each is a file of `scenes/` that says what it is about. */
export const SCENES = [
  'throughput',
  'latency',
  'loop',
  'big',
  'isolation',
  'start',
  'hung',
  'backlog',
  'servers',
  'http',
  'agents',
  'agent',
  'batch',
  'cluster',
  'telemetry',
  'cli',
];

const OPTIONS = {
  help: { type: 'boolean', short: 'h', default: false },
  runs: { type: 'string', default: '5' },
  sample: { type: 'string', default: '1000' },
  lines: { type: 'string', default: '100000' },
  chunks: { type: 'string', default: '256' },
  peers: { type: 'string' },
  'all-peers': { type: 'boolean', default: false },
  node24: { type: 'boolean', default: false },
  json: { type: 'string' },
  from: { type: 'string', multiple: true },
  charts: { type: 'string' },
  docs: { type: 'boolean', default: false },
};

/** @param abouts what each scene is about, by name */
export function help(abouts) {
  const list = SCENES.map((name) => `  ${name.padEnd(12)}${abouts.get(name)}`).join('\n');
  return `Usage: npm run bench -- [scene…] [options]

  --runs N       rounds per case, all peers in each (default 5)
  --sample MS    length of one sample (default 1000)
  --lines N,N    sizes of the batch files (default 100000)
  --chunks N,N   lines of a chunk in the scene cluster (default 256)
  --peers A,B    only these
  --all-peers    also agent frameworks, and newer majors under Node 24 with Bulkhead beside them;
                 installs over a gigabyte into bench/.peers
  --node24       also sdk1 and Bulkhead under Node 24
  --json FILE    write machine, versions and all figures
  --from FILE    take figures from such a file instead of measuring; repeat it to join several
  --charts DIR   write a chart of each scene that has one, as SVG
  --docs         write tables into docs/benchmarks.md and charts beside it

Scenes (default all):
${list}`;
}

function positive(name, value) {
  const number = Number(value);
  if (!Number.isInteger(number) || number < 1) {
    throw new Error(`bench: expected --${name} to be a whole number of 1 or more, got ${value}`);
  }
  return number;
}

/** @throws {Error} naming the option or the scene that is not understood */
export function readOptions(args) {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: OPTIONS });
  const unknown = positionals.find((name) => !SCENES.includes(name));
  if (unknown !== undefined) {
    throw new Error(`bench: no scene ${unknown}; there are ${SCENES.join(', ')}`);
  }
  if (values.from !== undefined && positionals.length > 0) {
    throw new Error('bench: --from measures nothing; leave out the scenes');
  }
  return {
    help: values.help,
    scenes: positionals.length === 0 ? SCENES : positionals,
    runs: positive('runs', values.runs),
    sampleMs: positive('sample', values.sample),
    lines: values.lines.split(',').map((value) => positive('lines', value)),
    chunks: values.chunks.split(',').map((value) => positive('chunks', value)),
    peers: { names: values.peers?.split(','), all: values['all-peers'], node24: values.node24 },
    json: values.json,
    from: values.from,
    charts: values.charts,
    docs: values.docs,
  };
}
