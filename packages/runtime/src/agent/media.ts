/**
 * What a base64 text really holds: cleaned of the forms that servers send it in, and named by its first bytes instead
 * of by its label, because one wrong label makes a provider refuse the whole conversation.
 */

/** Bytes that are looked at; formats with tags in front (MP3) need more than the first few. */
const HEAD_BYTES = 48 * 1024;

export interface Media {
  /** Standard base64 without white space. */
  base64: string;
  /** By the bytes, else by the label, else `application/octet-stream`. */
  type: string;
  /** For a file name. */
  extension: string;
  /** The bytes said what they are. */
  isSure: boolean;
}

/** Names that differ from those which providers use. */
const USUAL = new Map([
  ['image/jpg', 'image/jpeg'],
  ['image/x-png', 'image/png'],
  ['image/apng', 'image/png'],
  ['audio/x-flac', 'audio/flac'],
  ['audio/x-wav', 'audio/wav'],
  ['audio/vnd.wave', 'audio/wav'],
  ['audio/mp3', 'audio/mpeg'],
  ['audio/opus', 'audio/ogg'],
]);

/** Undefined when the text is no base64, or empty. */
export async function readMedia(data: string, label: unknown): Promise<Media | undefined> {
  const base64 = cleanBase64(data);
  if (base64 === undefined) return undefined;
  const head = Buffer.from(base64.slice(0, (HEAD_BYTES / 3) * 4), 'base64');
  const named = typeof label === 'string' ? usual(label) : dataUrlType(data);
  const sniffed = await sniff(head);
  if (sniffed !== undefined) {
    return { base64, type: usual(sniffed.mime), extension: sniffed.ext, isSure: true };
  }
  const type = named ?? 'application/octet-stream';
  return { base64, type, extension: extensionOf(type), isSure: false };
}

async function sniff(head: Uint8Array): Promise<{ mime: string; ext: string } | undefined> {
  // Loaded with the first picture: most agents never need it.
  const { fileTypeFromBuffer } = await import('file-type');
  try {
    return await fileTypeFromBuffer(head);
  } catch {
    // A parser that stumbles over broken bytes has not recognised them.
    return undefined;
  }
}

/**
 * As providers take it: no data URL in front, no line breaks, the standard alphabet, padded. Most texts are that already
 * and only checked.
 */
function cleanBase64(data: string): string | undefined {
  const start = data.startsWith('data:') ? data.indexOf(',') + 1 : 0;
  let text = start === 0 ? data : data.slice(start);
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text)) {
    text = text.replaceAll(/\s/g, '').replaceAll('-', '+').replaceAll('_', '/');
    if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  }
  const digits = text.length - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0);
  if (digits === 0 || digits % 4 === 1) return undefined;
  return text.slice(0, digits) + '='.repeat((4 - (digits % 4)) % 4);
}

/** The text in a base64 text that is labelled as text: servers that read files often send everything that way. */
export function textOfBase64(data: string, label: unknown): string | undefined {
  if (typeof label !== 'string') return undefined;
  if (!/^text\/|[/+](?:json|xml|yaml|javascript|toml|sql)\b/i.test(label) || /svg/i.test(label))
    return undefined;
  const base64 = cleanBase64(data);
  if (base64 === undefined) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(base64, 'base64'));
  } catch {
    return undefined;
  }
}

function dataUrlType(data: string): string | undefined {
  const type = /^data:([\w.+-]+\/[\w.+-]+)[;,]/.exec(data)?.[1];
  return type === undefined ? undefined : usual(type);
}

function usual(type: string): string {
  const plain = type.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return USUAL.get(plain) ?? (plain === '' ? 'application/octet-stream' : plain);
}

function extensionOf(type: string): string {
  return /^[\w-]+\/(?:x-)?([a-z0-9]{1,8})(?:$|\+)/.exec(type)?.[1] ?? 'bin';
}

/** Decoded size of base64 text. */
export function decodedBytes(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0;
  return (base64.length / 4) * 3 - padding;
}

export function shownSize(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  if (bytes < 1024 * 1024) return `${Math.round(bytes / 1024)} KB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}
