/**
 * Bar charts as SVG: groups of horizontal bars, one colour per peer, the spread of the rounds as a thin line. They carry
 * their own background, so that they read the same on a light and on a dark page.
 */

const WIDTH = 760;
const LABEL_WIDTH = 190;
const VALUE_WIDTH = 90;
const BAR = 16;
const GAP = 4;
const GROUP_GAP = 14;
const TOP = 52;

/** Colours that differ in brightness too; Bulkhead stands out, the bound stays back. */
const COLOURS = new Map([
  ['bulkhead', '#c2410c'],
  ['bulkhead batch', '#7c2d12'],
  ['sdk1', '#1d4ed8'],
  ['client2', '#60a5fa'],
  ['mcporter', '#0f766e'],
  ['raw-pipe', '#9ca3af'],
]);
const OTHERS = ['#6d28d9', '#a16207', '#be185d', '#4d7c0f', '#0369a1'];

/** What the chart of a scene shows: one group per value of `by`. */
export const CHARTS = new Map([
  ['throughput', { key: 'callsPerSecond', title: 'Calls per second over stdio', by: inFlightOf }],
  ['latency', { key: 'p50Ms', title: 'Median latency with one call in flight, ms', by: inFlightOf }],
  [
    'loop',
    { key: 'loopMicrosPerCall', title: 'Time of the agent’s loop per call, µs (64 in flight)', by: caseOf },
  ],
  [
    'big',
    {
      key: 'maxLoopDelayMs',
      title: 'Longest stop of the agent’s loop during a large answer, ms (logarithmic)',
      by: (row) => `${row.sizeMb} MB ${row.case}`,
      logarithmic: true,
    },
  ],
  [
    'isolation',
    {
      key: 'callsPerSecond',
      title: 'Noisy neighbour: calls per second of the healthy server, 16 callers',
      by: caseOf,
      only: (row) => row.inFlight === 16,
    },
  ],
  ['start', { key: 'readyMs', title: 'Time until all servers are ready, ms', by: serversOf }],
  [
    'hung',
    {
      key: 'firstAnswerMs',
      title: 'Hung start: first answer of the healthy server, ms (logarithmic)',
      by: caseOf,
      logarithmic: true,
    },
  ],
  [
    'backlog',
    {
      key: 'ratioToAlone',
      title: 'Stopped neighbour with a backlog: rate of the healthy server, 1 = alone',
      by: caseOf,
    },
  ],
  [
    'servers',
    { key: 'callsPerSecond', title: 'Calls per second over all servers, 64 in flight each', by: serversOf },
  ],
  ['http', { key: 'callsPerSecond', title: 'Calls per second over HTTP', by: inFlightOf }],
  [
    'agents',
    {
      key: 'callsPerSecond',
      title: 'Calls per second over all agent threads',
      by: (row) => `${row.agents} agent thread${row.agents === 1 ? '' : 's'}`,
    },
  ],
  ['agent', { key: 'p99Ms', title: 'Slowest of 100 steps of eight parallel calls, ms', by: caseOf }],
  [
    'batch',
    {
      key: 'linesPerSecond',
      title: 'Lines per second, JSONL to JSONL',
      by: (row) => `${row.lines} lines`,
      only: (row) => row.lines !== undefined,
    },
  ],
  [
    'cluster',
    {
      key: 'linesPerSecond',
      title: 'Lines per second, JSONL to JSONL, all on one machine',
      by: (row) =>
        row.workers === undefined
          ? 'without a store'
          : `${row.workers} worker${row.workers === 1 ? '' : 's'}, chunks of ${row.chunkLines}`,
    },
  ],
  [
    'telemetry',
    { key: 'callsPerSecond', title: 'OpenTelemetry: calls per second (64 in flight)', by: caseOf },
  ],
  [
    'cli',
    {
      key: 'tookMs',
      title: 'One command with warm servers, start to end, ms',
      by: caseOf,
      only: (row) => row.callsPerSecond === undefined,
    },
  ],
]);

function inFlightOf(row) {
  return `${row.inFlight} in flight`;
}

function caseOf(row) {
  return row.case;
}

function serversOf(row) {
  return `${row.servers} server${row.servers === 1 ? '' : 's'}`;
}

/** @returns the chart of the scene's rows as SVG text; undefined for a scene without one, or without figures */
export function chartOf(scene, rows) {
  const chart = CHARTS.get(scene);
  if (chart === undefined) return undefined;
  const { key, title, by, only = () => true, logarithmic = false } = chart;
  const groups = new Map();
  for (const row of rows.filter(only)) {
    if (row[key] === undefined && row.failed === undefined) continue;
    const group = groups.get(by(row)) ?? [];
    const name = row.node === undefined ? row.name : `${row.name}, ${row.node}`;
    const spread = row.lead === key ? row.spread : undefined;
    group.push({ name, peer: row.name, value: row[key], spread, failed: row.failed });
    groups.set(by(row), group);
  }
  return groups.size === 0 ? undefined : barChart({ title, groups, logarithmic });
}

/**
 * @param groups bars by the title of their group: `{name, peer, value?, spread?, failed?}`
 * @param logarithmic bars then begin at a tenth of the smallest value's decade
 */
export function barChart({ title, groups, logarithmic = false }) {
  const bars = [...groups.values()].flat();
  const values = bars.flatMap(({ value, spread }) => [value, ...(spread ?? [])]).filter(Number.isFinite);
  const scale = scaleOf(values, logarithmic);
  const colours = coloursOf(bars);
  const parts = [];
  let y = TOP;
  for (const [name, group] of groups) {
    parts.push(text(16, y, name, 'font-weight="600"'));
    y += GAP + 6;
    for (const bar of group) {
      parts.push(...barOf(bar, y, scale, colours.get(bar.peer)));
      y += BAR + GAP;
    }
    y += GROUP_GAP + 6;
  }
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${y}" viewBox="0 0 ${WIDTH} ${y}" role="img" font-family="system-ui, sans-serif" font-size="12">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${WIDTH}" height="${y}" fill="#ffffff"/>`,
    text(16, 24, title, 'font-size="15" font-weight="600"'),
    ...parts,
    '</svg>',
    '',
  ].join('\n');
}

function barOf({ name, value, spread, failed }, y, scale, colour) {
  const middle = y + BAR / 2 + 4;
  const label = text(LABEL_WIDTH - 8, middle, name, 'text-anchor="end"');
  if (!Number.isFinite(value)) {
    return [label, text(LABEL_WIDTH, middle, shortened(failed ?? 'no figure'), 'fill="#b91c1c"')];
  }
  const end = LABEL_WIDTH + scale(value);
  const parts = [
    label,
    `<rect x="${LABEL_WIDTH}" y="${y}" width="${px(scale(value))}" height="${BAR}" fill="${colour}"/>`,
  ];
  let labelX = end;
  if (spread !== undefined && spread[1] > spread[0]) {
    const [low, high] = spread.map((bound) => LABEL_WIDTH + scale(bound));
    parts.push(
      `<line x1="${px(low)}" y1="${y + BAR / 2}" x2="${px(high)}" y2="${y + BAR / 2}" stroke="#111827" stroke-width="1.5"/>`,
    );
    labelX = Math.max(end, high);
  }
  parts.push(text(labelX + 6, middle, shown(value)));
  return parts;
}

function scaleOf(values, logarithmic) {
  const width = WIDTH - LABEL_WIDTH - VALUE_WIDTH;
  const highest = Math.max(...values, Number.MIN_VALUE);
  if (!logarithmic) return (value) => (Math.max(0, value) / highest) * width;
  const floor = 10 ** (Math.floor(Math.log10(Math.min(...values.filter((value) => value > 0)))) - 1);
  const decades = Math.log10(highest / floor);
  return (value) => (value <= floor ? 0 : (Math.log10(value / floor) / decades) * width);
}

function coloursOf(bars) {
  const unknown = [...new Set(bars.map(({ peer }) => peer))].filter((peer) => !COLOURS.has(peer));
  const others = unknown.map((peer, i) => [peer, OTHERS[i % OTHERS.length]]);
  return new Map([...COLOURS, ...others]);
}

function text(x, y, content, attributes = '') {
  return `<text x="${px(x)}" y="${px(y)}"${attributes === '' ? '' : ` ${attributes}`}>${escaped(content)}</text>`;
}

/** Three digits are all that such a figure is worth. */
function shown(value) {
  if (value >= 1_000) return Math.round(value).toLocaleString('en');
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

/** What fits beside the label; the table has the whole reason. */
function shortened(reason) {
  return reason.length <= 80 ? reason : `${reason.slice(0, 79)}…`;
}

function px(value) {
  return String(Math.round(value * 10) / 10);
}

function escaped(content) {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
