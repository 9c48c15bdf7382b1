/** Plain tables without borders, for a terminal and for a pipe alike. */
import Table from 'cli-table3';

/** Column ends of a borderless table; cli-table3 draws all of them unless each is blank. */
const borderless = Object.fromEntries(
  [
    'top',
    'top-mid',
    'top-left',
    'top-right',
    'bottom',
    'bottom-mid',
    'bottom-left',
    'bottom-right',
    'left',
    'left-mid',
    'mid',
    'mid-mid',
    'right',
    'right-mid',
  ].map((part) => [part, '']),
);

/**
 * Rows under a head, columns two blanks apart. With a `width` the last column is cut to fit it. No colours, so there
 * is nothing that NO_COLOR would have to turn off.
 */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  options: { width?: number | undefined; right?: readonly number[] } = {},
): string {
  const drawn = new Table({
    chars: { ...borderless, middle: '  ' },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
    colAligns: head.map((_, column) => (options.right?.includes(column) === true ? 'right' : 'left')),
    wordWrap: false,
  });
  drawn.push([...head]);
  for (const row of rows) drawn.push([...row]);
  const lines = drawn
    .toString()
    .split('\n')
    .map((line) => line.trimEnd());
  const { width } = options;
  return `${lines.map((line) => (width !== undefined && line.length > width ? `${line.slice(0, width - 1)}…` : line)).join('\n')}\n`;
}
