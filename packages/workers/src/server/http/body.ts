/** Reads a whole body up to a limit; above it only the head is kept, while the rest is counted and dropped. */

const PREFIX_BYTES = 4 * 1024;

export type Body = { bytes: Buffer } | { oversize: { prefix: Buffer; bytes: number } };

/** @throws when the connection breaks. `onPiece` is called for every piece that arrives. */
export async function readBody(
  pieces: AsyncIterable<Uint8Array>,
  maxBytes: number,
  onPiece: (bytes: number) => void,
): Promise<Body> {
  const kept: Uint8Array[] = [];
  let bytes = 0;
  let prefix: Buffer | undefined;
  for await (const piece of pieces) {
    onPiece(piece.length);
    bytes += piece.length;
    if (prefix !== undefined) continue;
    kept.push(piece);
    if (bytes > maxBytes) {
      prefix = Buffer.from(Buffer.concat(kept).subarray(0, PREFIX_BYTES));
      kept.length = 0;
    }
  }
  return prefix === undefined ? { bytes: Buffer.concat(kept) } : { oversize: { prefix, bytes } };
}
