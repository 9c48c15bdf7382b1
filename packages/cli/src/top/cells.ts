/** Text in columns of a terminal: a wide character takes two, a combining one none. Pure. */
import stringWidth from 'string-width';

/** Columns that `text` takes. */
export function widthOf(text: string): number {
  return stringWidth(text);
}

/** `text` cut to `width` columns, with `…` in the last one when something is missing. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  return width <= 0 ? '' : `${head(text, width - 1)}…`;
}

/** `text` in exactly `width` columns. */
export function fit(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const short = cut(text, width);
  const blanks = ' '.repeat(Math.max(0, width - widthOf(short)));
  return align === 'right' ? blanks + short : short + blanks;
}

/** `text` over at most `lines` lines of `width` columns, broken at blanks where there are any. The last may be cut. */
export function wrapped(text: string, width: number, lines: number): string[] {
  const broken: string[] = [];
  let rest = text.trim();
  while (rest !== '' && broken.length < lines - 1 && widthOf(rest) > width) {
    const piece = head(rest, width) || rest;
    const blank = piece.lastIndexOf(' ');
    const end = blank > width / 2 ? blank : piece.length;
    broken.push(rest.slice(0, end).trimEnd());
    rest = rest.slice(end).trimStart();
  }
  return rest === '' ? broken : [...broken, cut(rest, width)];
}

const segmenter = new Intl.Segmenter();

/** As many whole characters as fit. */
function head(text: string, width: number): string {
  let taken = '';
  let used = 0;
  for (const { segment } of segmenter.segment(text)) {
    used += widthOf(segment);
    if (used > width) break;
    taken += segment;
  }
  return taken;
}
