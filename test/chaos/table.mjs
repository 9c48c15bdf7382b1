/** The table of a run: a line per server, a column per outcome that occurred, and the other counts below it. */

/** @param {{name: string, book: import('./book.mjs').Book}[]} rows @param {Map<string, number>} counts */
export function table(rows, counts) {
  const outcomes = [...new Set(rows.flatMap(({ book }) => [...book.outcomes.keys()]))].sort();
  const lines = [
    ['server', 'calls', ...outcomes],
    ...rows.map(({ name, book }) => [
      name,
      String(book.calls),
      ...outcomes.map((outcome) => String(book.outcomes.get(outcome) ?? '·')),
    ]),
  ];
  const widths = lines[0].map((_, column) => Math.max(...lines.map((line) => line[column].length)));
  const aligned = lines.map((line) =>
    line
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column])))
      .join('  '),
  );
  const names = [...counts.keys()].sort();
  const widest = Math.max(0, ...names.map((name) => name.length));
  return [...aligned, '', ...names.map((name) => `${name.padEnd(widest)}  ${counts.get(name)}`)].join('\n');
}
