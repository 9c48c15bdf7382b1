/** Line numbers as PostgreSQL's pages of bits, and long lines as pieces. Pure. */
/** Bits of one row of `line_page`. */
export const PAGE_LINES = 4096;

/** The pages on which the lines are, in order, and for each the bits of its lines as a `bit` literal. */
export function masksOf(lines: readonly number[]): { pages: number[]; masks: string[] } {
  const found = new Map<number, Buffer>();
  for (const line of lines) {
    const page = Math.floor(line / PAGE_LINES);
    let bits = found.get(page);
    if (!bits) {
      bits = Buffer.alloc(PAGE_LINES / 8);
      found.set(page, bits);
    }
    // Bit 0 of a bit string is its leftmost.
    const bit = line % PAGE_LINES;
    bits[bit >> 3] = (bits[bit >> 3] ?? 0) | (0x80 >> (bit & 7));
  }
  const pages = [...found.keys()].sort((a, b) => a - b);
  return { pages, masks: pages.map((page) => `X${found.get(page)?.toString('hex') ?? ''}`) };
}

export function* cutText(text: string, pieceBytes: number): Generator<Buffer> {
  const all = Buffer.from(text);
  for (let start = 0; start < all.length; start += pieceBytes) yield all.subarray(start, start + pieceBytes);
}
