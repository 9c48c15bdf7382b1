/**
 * Rows of figures: the median over rounds, the spread of the leading figure, the ratio to the peer of the same round,
 * and the table a person reads.
 */
import { median } from './measure.mjs';

/** One row out of the figures of several rounds; `spread` is lowest and highest of the figure named `lead`. */
export function summarize(identity, rounds, lead) {
  const row = { ...identity };
  for (const key of Object.keys(rounds[0])) row[key] = median(rounds.map((round) => round[key]));
  const led = rounds.map((round) => round[lead]).filter((value) => value !== undefined);
  row.lead = lead;
  row.spread = [Math.min(...led), Math.max(...led)];
  return row;
}

/** Sets `ratioToSdk1`: the median of the rounds' own ratios, so that a slow moment of the machine hits both sides. */
export function withRatio(row, rounds, sdkRounds) {
  const ratios = rounds.map((round, i) => round[row.lead] / sdkRounds[i][row.lead]);
  return { ...row, ratioToSdk1: median(ratios) };
}

/**
 * Runs every peer once per round, in turn, and gives one row per peer with its ratio to `sdk1`.
 * @param measure `(peer) => figures`, called `runs` times per peer.
 */
export async function compare(identity, peers, runs, lead, measure) {
  const rounds = new Map(peers.map((peer) => [peer.name, []]));
  for (let run = 0; run < runs; run++) {
    // Every other round starts from the other end: nobody always runs after the same neighbour.
    for (const peer of run % 2 === 0 ? peers : [...peers].reverse()) {
      rounds.get(peer.name).push(await measure(peer));
    }
  }
  const sdk = rounds.get('sdk1');
  return peers.map(({ name }) => {
    const row = summarize({ name, ...identity }, rounds.get(name), lead);
    return sdk === undefined ? row : withRatio(row, rounds.get(name), sdk);
  });
}

const COLUMNS = [
  ['name', 'peer'],
  ['case', 'case'],
  ['inFlight', 'in flight'],
  ['sizeMb', 'MB'],
  ['servers', 'servers'],
  ['lines', 'lines'],
  ['callsPerSecond', 'calls/s', 0],
  ['linesPerSecond', 'lines/s', 0],
  ['loopMicrosPerCall', 'loop µs/call', 1],
  ['cpuMicrosPerCall', 'cpu µs/call', 1],
  ['p50Ms', 'p50 ms', 3],
  ['p99Ms', 'p99 ms', 3],
  ['tookMs', 'took ms', 1],
  ['firstAnswerMs', 'first answer ms', 0],
  ['readyMs', 'all ready ms', 0],
  ['maxLoopDelayMs', 'max loop delay ms', 1],
  ['rssMb', 'RSS MB', 0],
  ['ratioToSdk1', 'ratio to sdk1', 2],
  ['ratioToLane', 'ratio to lane', 2],
  ['waitShare', 'CPU wait', 'share'],
];

function cell(row, key, digits) {
  const value = row[key];
  if (value === undefined) return '';
  if (digits === 'share') return `${Math.round(value * 100)} %`;
  if (digits === undefined || typeof value !== 'number') return String(value);
  return value.toFixed(digits);
}

/** A Markdown table: columns without a figure are left out, the last column is the spread of the leading figure. */
export function table(rows) {
  const columns = COLUMNS.filter(([key]) => rows.some((row) => row[key] !== undefined));
  const head = [...columns.map(([, title]) => title), 'spread'];
  const body = rows.map((row) => {
    const lead = COLUMNS.find(([key]) => key === row.lead);
    const digits = lead?.[2] ?? 1;
    const spread = row.spread.map((value) => value.toFixed(digits)).join(' … ');
    return [
      ...columns.map(([key, , digits]) => cell(row, key, digits)),
      `${lead?.[1] ?? row.lead}: ${spread}`,
    ];
  });
  const widths = head.map((title, i) => Math.max(title.length, ...body.map((line) => line[i].length)));
  const format = (line) =>
    `| ${line.map((text, i) => (i === 0 ? text.padEnd(widths[i]) : text.padStart(widths[i]))).join(' | ')} |`;
  return [
    format(head),
    `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`,
    ...body.map(format),
  ].join('\n');
}
