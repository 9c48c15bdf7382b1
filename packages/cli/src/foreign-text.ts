/** Text of servers on its way to a terminal: it may be read there, but not move the cursor or turn what is around it. Pure. */

/**
 * For a terminal: several lines, with every other control and direction character replaced. For a pipe or a file: the
 * text as the server sent it, because there it is data.
 */
export function foreignText(text: string, to: { isTTY?: boolean | undefined }): string {
  return to.isTTY === true ? harmless(text) : text;
}

/** The text with line ends and tabs only. */
export function harmless(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(/(?![\n\t])[\p{Cc}\p{Surrogate}\p{Bidi_Control}]|[\u2028\u2029]/gu, '\ufffd');
}
