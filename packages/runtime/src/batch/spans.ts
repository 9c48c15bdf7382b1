/** Where the members of a JSON object stand in its text, so that a value can be passed on digit by digit. Pure. */

export interface Span {
  start: number;
  /** Exclusive. */
  end: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Spans of the member values of `text`, which must be one valid JSON object. Of a repeated name the last counts. */
export function memberSpans(text: string): Map<string, Span> {
  const spans = new Map<string, Span>();
  let at = blank(text, 0) + 1;
  for (;;) {
    at = blank(text, at);
    if (text.charCodeAt(at) !== QUOTE) return spans;
    const nameEnd = stringEnd(text, at);
    const name = JSON.parse(text.slice(at, nameEnd)) as string;
    const start = blank(text, blank(text, nameEnd) + 1);
    const end = valueEnd(text, start);
    spans.set(name, { start, end });
    at = blank(text, end) + 1;
  }
}

function valueEnd(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const char = text[at];
    if (char === '"') at = stringEnd(text, at) - 1;
    else if (char === '{' || char === '[') depth++;
    else if (char === '}' || char === ']') depth--;
    else if (depth > 0 || (char !== ',' && char !== ' ' && char !== '\t' && char !== '\r' && char !== '\n'))
      continue;
    else return at;
    if (depth < 0) return at;
    if (depth === 0) return at + 1;
  }
  return text.length;
}

function stringEnd(text: string, start: number): number {
  let at = start;
  for (;;) {
    at = text.indexOf('"', at + 1);
    if (at === -1) return text.length;
    let slashes = 0;
    while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return at + 1;
  }
}

function blank(text: string, from: number): number {
  let at = from;
  while (at < text.length && ' \t\r\n'.includes(text.charAt(at))) at++;
  return at;
}
