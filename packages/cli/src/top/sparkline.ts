/** A line of figures as a line of blocks, the last one on the right. Pure. */

const BLOCKS = '▁▂▃▄▅▆▇█';

/**
 * Scaled to the largest of what is shown, from zero on. A figure that is not there is a blank.
 * @param width columns; figures that do not fit fall off on the left.
 */
export function sparkline(values: readonly (number | undefined)[], width: number): string {
  if (width <= 0) return '';
  const shown = values.slice(-width);
  const most = Math.max(0, ...shown.map((value) => value ?? 0));
  const blocks = shown.map((value) => (value === undefined ? ' ' : block(value, most)));
  return blocks.join('').padStart(width);
}

function block(value: number, most: number): string {
  const step = most <= 0 ? 0 : Math.ceil((Math.max(0, value) / most) * BLOCKS.length) - 1;
  return BLOCKS[Math.min(BLOCKS.length - 1, Math.max(0, step))] ?? '';
}
