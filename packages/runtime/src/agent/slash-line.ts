/** One line of a slash command, taken apart: `/name word "two words" key=value`. Pure, in linear time. */

export interface SlashWord {
  /** Of `key=value`. */
  key: string | undefined;
  value: string;
}

export interface SlashLine {
  /** Without the slash. */
  name: string;
  words: SlashWord[];
  /** The last word may go on: the line ends in it, or inside its quotes. */
  open: boolean;
}

// A quote counts only where a word or a value starts: an apostrophe inside a word is a letter.
const word = /\s*(?:([^\s="']+)=)?(?:"((?:[^"\\]|\\[\s\S])*)("?)|'([^']*)('?)|(\S*))/y;

/** Undefined when the line is no slash command. */
export function parseSlashLine(line: string): SlashLine | undefined {
  const head = /^\s*\/(\S*)/.exec(line);
  if (head === null) return undefined;
  const words: SlashWord[] = [];
  let open = false;
  let at = head[0].length;
  while (at < line.length) {
    word.lastIndex = at;
    const match = word.exec(line);
    // Only white space was left.
    if (match === null || match[0].trim() === '') break;
    const [, key, double, doubleEnd, single, singleEnd, bare] = match;
    at = word.lastIndex;
    if (double !== undefined) {
      words.push({ key, value: double.replaceAll(/\\(["\\])/g, '$1') });
      open = doubleEnd === '';
    } else if (single !== undefined) {
      words.push({ key, value: single });
      open = singleEnd === '';
    } else {
      words.push({ key, value: bare ?? '' });
      open = at === line.length;
    }
  }
  return { name: head[1] ?? '', words, open };
}
