/**
 * `@server:uri` in what a user writes: which resources are meant, and their contents as context for the model, within
 * a budget. The user's own text is never changed; what cannot be read is a warning beside it.
 */
import type { RuntimeApi, ServerView } from '../api.js';
import { isRecord } from '../content.js';
import { fenced, head, oneLine } from './fence.js';
import { decodedBytes, readMedia } from './media.js';
import { OutputFiles } from './output-files.js';
import { textOfBlob } from './resource-file.js';

/** `@server:uri` in what a user wrote. */
export interface Mention {
  server: string;
  uri: string;
}

/** The mentions of a text; nothing was read yet. */
export interface FoundMentions {
  /** In order of appearance, each once. */
  mentions: Mention[];
  /** Looked like mentions, but no server has that name. */
  unknown: string[];
}

/** Limits of what mentions may bring into a prompt. */
export interface MentionOptions {
  /** Characters of text that all mentions together may add. Default 60 000. */
  maxChars?: number;
  /** Mentions that are read; more are named in a warning. Default 20. */
  maxMentions?: number;
  /** Directory for binary contents. Default: a private one below the system's temporary directory. */
  directory?: string;
  signal?: AbortSignal;
  /** Of one read. Default: the server's `callTimeoutMs`. */
  timeoutMs?: number;
}

/** A resource that was read for a mention. */
export interface MentionedResource extends Mention {
  /** Characters that went into the context. */
  chars: number;
  /** Characters that found no room. */
  left: number;
  /** Where binary contents lie. */
  files: string[];
}

/** What the mentions of a text stand for, read from the servers. */
export interface ExpandedMentions {
  /** For the prompt, beside the user's text; undefined when nothing was mentioned or readable. */
  context: string | undefined;
  /** What was read, for instance for a permission gate's data flow. */
  resources: MentionedResource[];
  /** Sentences for the user. */
  warnings: string[];
}

/**
 * A mention starts at the text's start or behind anything but a letter, digit, `_`, `@` or `.`, so mail addresses are
 * none. Its URI ends at white space or a quote; punctuation that ends the sentence is not part of it.
 */
export function findMentions(text: string, servers: readonly string[]): FoundMentions {
  // `a:b` may be a server too: the longest name that fits is meant.
  const names = [...servers].sort((a, b) => b.length - a.length);
  const mentions = new Map<string, Mention>();
  const unknown = new Set<string>();
  // The search goes on behind what was found: an `@` inside a URI starts nothing, and the whole stays linear.
  const start = /(?<![\w@.])@/g;
  while (start.exec(text) !== null) {
    const at = start.lastIndex;
    const server = names.find((name) => name !== '' && text.startsWith(`${name}:`, at));
    if (server === undefined) {
      const lookalike = matchAt(/[\w.-]{1,64}:[a-z][a-z0-9+.-]{0,30}:[^\s"'`<>]+/iy, text, at);
      if (lookalike === undefined) continue;
      unknown.add(withoutPunctuation(lookalike));
      start.lastIndex = at + lookalike.length;
      continue;
    }
    const from = at + server.length + 1;
    const written = matchAt(/[^\s"'`<>]+/y, text, from) ?? '';
    start.lastIndex = from + written.length;
    const uri = withoutPunctuation(written);
    if (uri !== '') mentions.set(JSON.stringify([server, uri]), { server, uri });
  }
  return { mentions: [...mentions.values()], unknown: [...unknown] };
}

/** Reads what is mentioned, all at once. Never rejects for a resource; an abort is a warning too. */
export async function expandMentions(
  runtime: Pick<RuntimeApi, 'servers' | 'server'>,
  text: string,
  options: MentionOptions = {},
): Promise<ExpandedMentions> {
  const { maxChars = 60_000, maxMentions = 20 } = options;
  const names = runtime.servers().map(({ name }) => name);
  const { mentions, unknown } = findMentions(text, names);
  const warnings = unknown.map(
    (mention) =>
      `@${mention} stays as it is: no server has that name (there are: ${names.join(', ') || 'none'})`,
  );
  for (const { server, uri } of mentions.slice(maxMentions)) {
    warnings.push(`@${server}:${uri} was not read: one prompt may mention ${maxMentions} resources`);
  }
  const reads = await Promise.all(
    mentions.slice(0, maxMentions).map(async (mention) => ({
      mention,
      read: await readOne(runtime.server(mention.server), mention.uri, options),
    })),
  );
  const files = new OutputFiles(options.directory);
  const resources: MentionedResource[] = [];
  const sections: string[] = [];
  let room = maxChars;
  for (const { mention, read } of reads) {
    if ('failure' in read) {
      warnings.push(`@${mention.server}:${mention.uri} could not be read: ${read.failure}`);
      continue;
    }
    const resource: MentionedResource = { ...mention, chars: 0, left: 0, files: [] };
    resources.push(resource);
    for (const content of read.contents) {
      const section = await render(content, resource, files, room);
      room -= section.chars;
      sections.push(section.text);
      if (section.warning !== undefined) warnings.push(section.warning);
    }
  }
  return { context: sections.length === 0 ? undefined : sections.join('\n\n'), resources, warnings };
}

async function readOne(
  server: ServerView,
  uri: string,
  { signal, timeoutMs }: MentionOptions,
): Promise<{ contents: Record<string, unknown>[] } | { failure: string }> {
  try {
    const result = await server.readResource(uri, {
      ...(signal === undefined ? {} : { signal }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });
    const contents = Array.isArray(result.contents) ? result.contents.filter(isRecord) : [];
    return contents.length === 0 ? { failure: 'the server gave no contents for it' } : { contents };
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) };
  }
}

/** One content of a resource as a section; a directory-like resource has several. */
async function render(
  content: Record<string, unknown>,
  resource: MentionedResource,
  files: OutputFiles,
  room: number,
): Promise<{ text: string; chars: number; warning?: string }> {
  const uri = typeof content.uri === 'string' ? content.uri : resource.uri;
  const mimeType = typeof content.mimeType === 'string' ? content.mimeType : undefined;
  const kind = mimeType === undefined ? '' : `, ${mimeType}`;
  const label = oneLine(
    `Resource ${uri} from the MCP server "${resource.server}"${kind}, mentioned by the user`,
  );
  const blob = typeof content.blob === 'string' ? content.blob : undefined;
  const text = typeof content.text === 'string' ? content.text : textOfBlob(blob, mimeType);
  if (text !== undefined) {
    const { text: start, left } = head(text, Math.max(0, room));
    resource.chars += start.length;
    resource.left += left;
    if (left === 0) return { text: fenced(label, start), chars: start.length };
    const marker = `[… ${left} more characters left out: the prompt has no room for them]`;
    const warning = `@${resource.server}:${resource.uri}: ${left} characters found no room in the prompt`;
    return { text: `${fenced(label, start)}\n${marker}`, chars: start.length, warning };
  }
  if (blob === undefined) return { text: `${label}\n[it is empty]`, chars: 0 };
  try {
    const media = await readMedia(blob, mimeType);
    if (media === undefined) throw new Error('its contents are no base64');
    const path = await files.saveBase64(media.base64, media.extension);
    resource.files.push(path);
    return { text: `${label}\n[${decodedBytes(media.base64)} bytes, saved as ${path}]`, chars: 0 };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const warning = `@${resource.server}:${resource.uri} could not be saved: ${why}`;
    return { text: `${label}\n[binary, not saved]`, chars: 0, warning };
  }
}

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

/** `(see @notes:list://all).` means `list://all`; a bracket that opens inside the URI is its own. */
function withoutPunctuation(uri: string): string {
  const own = new Set([...openings].flatMap(([close, open]) => (uri.includes(open) ? [close] : [])));
  let end = uri.length;
  while (end > 0) {
    const last = uri.charAt(end - 1);
    if (!'.,;!?'.includes(last) && (!openings.has(last) || own.has(last))) break;
    end--;
  }
  return uri.slice(0, end);
}

const openings = new Map([
  [')', '('],
  [']', '['],
  ['}', '{'],
]);
