/**
 * A file that came as the blob of a resource, and is text all the same: servers that read files often send every one
 * of them in base64. Pure.
 */
import { decodeText } from '../config/document.js';

/** The text, when the label says that it is text and the bytes agree. */
export function textOfBlob(blob: string | undefined, mimeType: string | undefined): string | undefined {
  if (blob === undefined || mimeType === undefined) return undefined;
  const isText = /^text\/|[/+](json|xml|yaml|javascript|toml|sql)\b/i.test(mimeType);
  return isText ? decodeText(Buffer.from(blob, 'base64')) : undefined;
}
