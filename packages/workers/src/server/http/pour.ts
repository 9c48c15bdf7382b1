/** Feeds a body into a parser of events until it ends, breaks or is no longer wanted. */
import type { HttpReply } from './client.js';
import type { EngineHost } from './engine.js';
import type { SseParser } from './sse.js';

/** How the body ended; a break is a value here, since a reset in mid-stream is an ordinary end of a stream. */
export type Poured = { ended: true } | { broke: unknown };

/** `wanted`: looked at after every piece; false leaves the rest unread. */
export async function pour(
  body: HttpReply['body'],
  parser: SseParser,
  host: Pick<EngineHost, 'bytes' | 'turn'>,
  wanted: () => boolean = () => true,
): Promise<Poured> {
  try {
    for await (const piece of body) {
      host.bytes(piece.byteLength);
      parser.push(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
      host.turn();
      if (!wanted()) break;
    }
    return { ended: true };
  } catch (error) {
    return { broke: error };
  }
}
