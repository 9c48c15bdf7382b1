/** The tables of a simulation, for a terminal and for docs/scale.md alike. */

const BEGIN = '<!-- simulate:begin -->';
const END = '<!-- simulate:end -->';

/** The real run beside the simulation of the same run. */
export function realTable(real, model) {
  return table(
    ['', 'real', 'simulated'],
    [
      ['seconds', real.seconds.toFixed(1), model.seconds.toFixed(1)],
      ['calls/s', real.callsPerSecond.toFixed(0), model.callsPerSecond.toFixed(0)],
      ['steps of the store', String(real.storeSteps), model.storeSteps.toFixed(0)],
    ],
  );
}

export function simulatedTable(rows) {
  return table(
    [
      ...['case', 'calls', 'workers', 'ms a call', 'seconds', 'calls/s', 'of the ideal', 'store busy'],
      ...['chunks taken over', 'longest takeover s', 'unknown', 'ran again'],
    ],
    rows.map((row) => [
      row.name,
      String(row.calls),
      String(row.workers),
      String(row.setting.meanMs),
      row.seconds.toFixed(1),
      row.callsPerSecond.toFixed(0),
      share(row.shareOfIdeal),
      share(row.storeBusy),
      String(row.takeovers),
      row.takeovers === 0 ? '' : (row.longestTakeoverMs / 1_000).toFixed(1),
      String(row.unknown),
      String(row.ranAgain),
    ]),
  );
}

/** @throws {Error} when the page does not have both marks */
export function page(text, { real, model, rows }) {
  const begin = text.indexOf(BEGIN);
  const end = text.indexOf(END);
  if (begin < 0 || end < begin) throw new Error(`simulate: expected ${BEGIN} and ${END} in docs/scale.md`);
  const { cpu, cores, startedAt, loadAtStart } = real.machine;
  const part = [
    `**Run** on ${startedAt.slice(0, 10)} on ${cores} cores of ${cpu}, load ${loadAtStart.toFixed(1)}: ${real.calls} calls of`,
    `${real.meanMs} ms on ${real.workers} workers (window ${real.window}) in one process against a Redis beside it. A step of the store took`,
    `${real.stepMicros.toFixed(0)} µs, a line ${real.lineMicros.toFixed(0)} µs of CPU; the simulation of this run stands beside it.`,
    '',
    realTable(real, model),
    '',
    `**Simulated** with these costs, every worker with a CPU of its own and ${rows[0].setting.window} calls in flight:`,
    '',
    simulatedTable(rows),
  ].join('\n');
  return `${text.slice(0, begin + BEGIN.length)}\n\n${part}\n\n${text.slice(end)}`;
}

function share(value) {
  return `${Math.round(value * 100)} %`;
}

function table(head, body) {
  const widths = head.map((title, i) => Math.max(title.length, 3, ...body.map((row) => row[i].length)));
  const format = (row) =>
    `| ${row.map((text, i) => (i === 0 ? text.padEnd(widths[i]) : text.padStart(widths[i]))).join(' | ')} |`;
  const line = `|${widths.map((width, i) => `${'-'.repeat(width + 1)}${i === 0 ? '-' : ':'}`).join('|')}|`;
  return [format(head), line, ...body.map(format)].join('\n');
}
