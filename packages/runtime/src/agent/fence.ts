/**
 * Foreign text inside a prompt: said to be foreign, and fenced so that nothing in it can end the fence. A fence is no
 * wall against a model that obeys what it reads; it only makes sure that the model can see whose words they are. Pure.
 */

/**
 * `text` between two fences of backticks, longer than any run of backticks in it, under one line that labels it.
 * Equal inputs give equal bytes.
 */
export function fenced(label: string, text: string): string {
  const clean = visible(text).trim();
  const longest = Math.max(2, ...[...clean.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${oneLine(label)}\n${fence}\n${clean}\n${fence}`;
}

/**
 * Without what a person who reads along would not see: control characters except tab and line break, marks that turn
 * the writing direction, and the tag characters in which instructions can be hidden.
 */
export function visible(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(/[\u202a-\u202e\u2066-\u2069\u200e\u200f\u{e0000}-\u{e007f}]/gu, '')
    .replaceAll(/[^\P{Cc}\t\n]/gu, '');
}

/** Foreign text as part of a sentence. */
export function oneLine(text: string): string {
  return visible(text).replaceAll(/\s+/g, ' ').trim();
}

/**
 * The start of `text`, at most `maxChars` UTF-16 units, and whether something was left out. Never half a character.
 */
export function head(text: string, maxChars: number): { text: string; left: number } {
  if (text.length <= maxChars) return { text, left: 0 };
  const last = text.charCodeAt(maxChars - 1);
  const end = last >= 0xd800 && last <= 0xdbff ? maxChars - 1 : maxChars;
  const start = text.slice(0, Math.max(0, end));
  return { text: start, left: text.length - start.length };
}
