/**
 * Foreign text made safe for one line of a terminal. A config file of a cloned project must not be able to move the
 * cursor, turn the writing direction or add lines where a person reads what is about to run. Pure.
 */

/** `text` with control, format and separator characters written as escapes. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) => {
    if (character === '\n') return '\\n';
    if (character === '\t') return '\\t';
    return `\\u{${character.codePointAt(0)?.toString(16) ?? ''}}`;
  });
}
