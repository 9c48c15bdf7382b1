/** Text that is shown again and again in the same place of a terminal. Pure. */

/** Cursor home, and clear to the end: nothing flickers, and what scrolled by stays. */
const HOME = '\u001b[H';
const CLEAR_REST = '\u001b[J';
const CLEAR_LINE_REST = '\u001b[K';
const USUAL_ROWS = 24;

/**
 * As many lines as the terminal has: one more and it would scroll at every look.
 * @param whole The command that shows the rest.
 */
export function onScreen(
  text: string,
  { rows = USUAL_ROWS }: { isTTY?: boolean; rows?: number },
  whole: string,
): string {
  const lines = text.trimEnd().split('\n');
  const most = Math.max(1, rows - 1);
  const fitting =
    lines.length <= most
      ? lines
      : [...lines.slice(0, most - 1), `… ${lines.length - most + 1} more lines (${whole} shows all)`];
  return `${HOME}${fitting.map((line) => `${line}${CLEAR_LINE_REST}\n`).join('')}${CLEAR_REST}`;
}
