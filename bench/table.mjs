/** The table that a person reads: columns with their titles, units and digits. */

/** Key of the row, title, digits (`share`: per cent). */
export const COLUMNS = [
  ['name', 'peer'],
  ['node', 'Node'],
  ['case', 'case'],
  ['inFlight', 'in flight'],
  ['sizeMb', 'MB'],
  ['servers', 'servers'],
  ['agents', 'agent threads'],
  ['lines', 'lines'],
  ['workers', 'workers'],
  ['chunkLines', 'lines a chunk'],
  ['callsPerSecond', 'calls/s', 0],
  ['linesPerSecond', 'lines/s', 0],
  ['loopMicrosPerCall', 'loop µs/call', 1],
  ['cpuMicrosPerCall', 'cpu µs/call', 1],
  ['redisMicrosPerCall', 'Redis cpu µs/call', 1],
  ['p50Ms', 'p50 ms', 3],
  ['p99Ms', 'p99 ms', 3],
  ['tookMs', 'took ms', 1],
  ['firstReadyMs', 'first ready ms', 0],
  ['readyMs', 'all ready ms', 0],
  ['firstAnswerMs', 'first answer ms', 0],
  ['maxLoopDelayMs', 'max loop delay ms', 1],
  ['p99LoopDelayMs', 'p99 loop delay ms', 1],
  ['rssMb', 'RSS MB', 0],
  ['rssGrowthMb', 'RSS growth MB', 0],
  ['ratioToAlone', 'ratio to alone', 2],
  ['refused', 'refused', 0],
  ['closeMs', 'close ms', 0],
  ['pidsLeft', 'processes left', 0],
  ['ratioToSdk1', 'ratio to sdk1', 2],
  ['ratioToLane', 'ratio to lane', 2],
  ['ratioToNode', 'ratio to Node alone', 2],
  ['ratioToOff', 'ratio to off', 2],
  ['waitShare', 'CPU wait', 'share'],
  ['failed', 'failed'],
];

function cell(row, [key, , digits]) {
  const value = row[key];
  if (value === undefined) return '';
  if (digits === 'share') return `${Math.round(value * 100)} %`;
  if (digits === undefined || typeof value !== 'number') return String(value).replaceAll('|', '\\|');
  return value.toFixed(digits);
}

function spreadOf(row) {
  if (row.spread === undefined) return '';
  const lead = COLUMNS.find(([key]) => key === row.lead);
  return `${lead?.[1] ?? row.lead}: ${row.spread.map((value) => value.toFixed(lead?.[2] ?? 1)).join(' … ')}`;
}

/** A Markdown table: columns without a figure are left out, the last column is the spread of the leading figure. */
export function table(rows) {
  const columns = COLUMNS.filter(([key]) => rows.some((row) => row[key] !== undefined));
  const head = [...columns.map(([, title]) => title), 'spread'];
  const body = rows.map((row) => [...columns.map((column) => cell(row, column)), spreadOf(row)]);
  const widths = head.map((title, i) => Math.max(title.length, ...body.map((line) => line[i].length)));
  const format = (line) =>
    `| ${line.map((text, i) => (i === 0 ? text.padEnd(widths[i]) : text.padStart(widths[i]))).join(' | ')} |`;
  return [
    format(head),
    `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`,
    ...body.map(format),
  ].join('\n');
}
