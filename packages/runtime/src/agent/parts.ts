/**
 * The answer of a tool as parts for a model: all text in order, images and sounds that the model takes, and a line of
 * text for everything else, with the path of a file where there is something to open. Nothing is dropped silently.
 */
import { memberSpans } from '@bulkhead/workers';
import type { ContentBlock, ToolResult } from '../api.js';
import { contentBlocks, isRecord } from '../content.js';
import { oneLine } from './fence.js';
import { decodedBytes, type Media, readMedia, shownSize, textOfBase64 } from './media.js';
import type { OutputFiles } from './output-files.js';
import type { MediaRules } from './providers/profile.js';
import type { ResultPart, ToolOutput } from './tool.js';

/** Images and sounds of one answer that a model is shown; the others become files. */
const MAX_MEDIA = 20;
/** Of a block that nobody knows, as JSON. */
const MAX_UNKNOWN_CHARS = 2_000;
/** Shorter texts are not taken for a copy of a picture. */
const MIN_COPY_CHARS = 64;

/** How a result's contents become parts for a model. */
export interface PartsOptions {
  /** What the model's provider takes: `profile.media`. */
  media: MediaRules;
  files: OutputFiles;
}

/** @throws When a file cannot be written. */
export async function resultParts(output: ToolOutput, options: PartsOptions): Promise<ResultPart[]> {
  const blocks = output.result?.content ?? contentBlocks(output.content);
  const writer = new PartWriter(options);
  for (const block of blocks) await writer.block(block);
  // Of text and data that say the same the text counts; the data speaks when there is no text.
  if (output.result?.structuredContent !== undefined && !blocks.some(saysSomething)) {
    writer.text(structuredText(output.result, blocks));
  }
  return writer.parts;
}

class PartWriter {
  readonly parts: ResultPart[] = [];
  readonly #options: PartsOptions;
  #media = 0;

  constructor(options: PartsOptions) {
    this.#options = options;
  }

  async block(block: ContentBlock): Promise<void> {
    switch (block.type) {
      case 'text':
        this.text(String(block.text));
        break;
      case 'image':
      case 'audio':
        await this.#medium(String(block.data), block.mimeType, `${block.type}`);
        break;
      case 'resource_link':
        this.text(linkText(block));
        break;
      case 'resource':
        await this.#resource(isRecord(block.resource) ? block.resource : {});
        break;
      default:
        this.text(unknownText(block));
    }
  }

  /** Text that follows text is one part. */
  text(text: string): void {
    const whole = text.toWellFormed();
    const last = this.parts.at(-1);
    if (last?.type === 'text')
      this.parts[this.parts.length - 1] = { type: 'text', text: `${last.text}\n${whole}` };
    else this.parts.push({ type: 'text', text: whole });
  }

  async #resource(resource: Record<string, unknown>): Promise<void> {
    const { uri, mimeType, text, blob } = resource;
    const name = ['resource', uri, mimeType].filter((word) => typeof word === 'string').join(' ');
    if (typeof text === 'string') {
      this.text(`[${oneLine(name)}]\n${text}`);
      return;
    }
    const data = typeof blob === 'string' ? blob : '';
    const decoded = textOfBase64(data, mimeType);
    if (decoded !== undefined) this.text(`[${oneLine(name)}]\n${decoded}`);
    else await this.#medium(data, mimeType, name);
  }

  async #medium(data: string, label: unknown, name: string): Promise<void> {
    const media = await readMedia(data, label);
    const what = oneLine(name);
    if (media === undefined) {
      this.text(`[${what}: its data is empty or not base64]`);
      return;
    }
    const kind = this.#shownAs(media);
    if (kind === undefined) {
      const path = await this.#options.files.saveBase64(media.base64, media.extension);
      const size = shownSize(decodedBytes(media.base64));
      this.text(`[${what}: ${media.type}, ${size}, not shown; saved as ${path}]`);
      return;
    }
    this.#media++;
    // A picture by itself needs no words; one of a resource has a name.
    if (what !== 'image' && what !== 'audio') this.text(`[${what}]`);
    this.parts.push({ type: kind, mediaType: media.type, data: media.base64 });
  }

  /** Only what the bytes prove is shown: a provider looks at them too. */
  #shownAs({ base64, type, isSure }: Media): 'image' | 'audio' | undefined {
    const { images, audio, maxEncodedBytes } = this.#options.media;
    if (!isSure || base64.length > maxEncodedBytes || this.#media >= MAX_MEDIA) return undefined;
    if (images.has(type)) return 'image';
    return audio.has(type) ? 'audio' : undefined;
  }
}

/** Whether a block holds text of its own, beside names and labels. */
function saysSomething(block: ContentBlock): boolean {
  if (block.type === 'text') return String(block.text).trim() !== '';
  if (block.type === 'resource') return isRecord(block.resource) && typeof block.resource.text === 'string';
  return false;
}

/** The source text, in which large integers keep their digits, without copies of media that stand beside it. */
function structuredText(result: ToolResult, blocks: readonly ContentBlock[]): string {
  let text = sourceOf(result, 'structuredContent') ?? JSON.stringify(result.structuredContent);
  for (const block of blocks) {
    const resource = isRecord(block.resource) ? block.resource : block;
    const data = resource.data ?? resource.blob;
    if (typeof data !== 'string' || data.length < MIN_COPY_CHARS) continue;
    for (const copy of new Set([data, data.replaceAll('/', '\\/')])) {
      text = text.replaceAll(copy, '(shown or saved above)');
    }
  }
  return text;
}

function sourceOf(result: ToolResult, member: string): string | undefined {
  try {
    const span = memberSpans(result.raw).get(member);
    return span === undefined ? undefined : result.raw.slice(span.start, span.end);
  } catch {
    return undefined;
  }
}

function linkText(block: ContentBlock): string {
  const size = typeof block.size === 'number' ? shownSize(block.size) : undefined;
  const words = [block.title ?? block.name, block.uri, block.mimeType, size].filter(
    (word): word is string => typeof word === 'string' && word !== '',
  );
  const about = typeof block.description === 'string' ? `: ${oneLine(block.description)}` : '';
  return `[resource link ${oneLine(words.join(', '))}${about}]`;
}

function unknownText(block: ContentBlock): string {
  const raw = 'raw' in block ? block.raw : block;
  const type = isRecord(raw) && typeof raw.type === 'string' ? ` "${oneLine(raw.type)}"` : '';
  const json = JSON.stringify(raw) ?? String(raw);
  const points =
    json.length > MAX_UNKNOWN_CHARS ? `${[...json.slice(0, MAX_UNKNOWN_CHARS)].join('')}…` : json;
  return `[block of unknown type${type}: ${points}]`;
}
