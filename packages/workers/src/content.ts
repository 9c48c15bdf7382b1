/**
 * Content blocks as servers really send them, made into blocks that hosts can rely on: null optional fields are absent,
 * unknown and broken blocks become placeholders, nothing is dropped and the order stays. Pure.
 */
/** A known MCP content block, or any other object a server sent. */
export type ContentBlock = { type: string } & Record<string, unknown>;

/** Optional fields of MCP blocks and of what they embed; null in them means absent. Foreign fields are kept as they are. */
const OPTIONAL = new Set([
  '_meta',
  'annotations',
  'audience',
  'description',
  'icons',
  'lastModified',
  'mimeType',
  'name',
  'priority',
  'size',
  'title',
]);

/**
 * Blocks of a `content` member. What is not a list of objects is made one: null is empty, a string is a text block, a
 * block outside a list is a list of one.
 */
export function contentBlocks(content: unknown): ContentBlock[] {
  if (content === undefined || content === null) return [];
  return (Array.isArray(content) ? content : [content]).map(contentBlock);
}

function contentBlock(raw: unknown): ContentBlock {
  if (typeof raw === 'string') return { type: 'text', text: raw };
  if (!isRecord(raw) || !isWhole(raw)) return { type: 'unknown', raw };
  const block = withoutNulls(raw);
  for (const part of ['annotations', 'resource']) {
    if (isRecord(block[part])) block[part] = withoutNulls(block[part]);
  }
  return block as ContentBlock;
}

/** Whether it is a block of a known type with everything that its type needs. */
function isWhole(block: Record<string, unknown>): boolean {
  switch (block.type) {
    case 'text':
      return typeof block.text === 'string';
    case 'image':
    case 'audio':
      return typeof block.data === 'string';
    case 'resource_link':
      return typeof block.uri === 'string';
    case 'resource':
      return (
        isRecord(block.resource) &&
        (typeof block.resource.text === 'string' || typeof block.resource.blob === 'string')
      );
    default:
      return false;
  }
}

/** One block as text for a model or a terminal: text as it is, everything else as a short note in brackets. */
export function blockText(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return String(block.text);
    case 'image':
    case 'audio':
      return `[${words(block.type, block.mimeType, size(String(block.data)))}]`;
    case 'resource_link':
      return `[${words('resource', block.name, block.uri)}]`;
    case 'resource': {
      const resource = isRecord(block.resource) ? block.resource : {};
      if (typeof resource.text === 'string') return resource.text;
      return `[${words('resource', resource.uri, resource.mimeType, size(String(resource.blob)))}]`;
    }
    default: {
      const type = isRecord(block.raw) ? block.raw.type : undefined;
      return `[${words('unknown block', type)}]`;
    }
  }
}

/** Whether the blocks say nothing: none at all, or only blank text. */
export function saysNothing(blocks: readonly ContentBlock[]): boolean {
  return blocks.every((block) => block.type === 'text' && String(block.text).trim() === '');
}

/**
 * A copy in which no string and no key holds half a surrogate pair: strict parsers refuse a whole request for one.
 * Recursive: the depth was limited when the message came in.
 */
export function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key.toWellFormed(), wellFormed(member)]),
  );
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function withoutNulls(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).filter(([key, member]) => member !== null || !OPTIONAL.has(key)),
  );
}

function words(...parts: unknown[]): string {
  return parts.filter((part) => typeof part === 'string' && part !== '').join(' ');
}

/** Decoded size of base64 text, for people. */
function size(base64: string): string {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0;
  const bytes = Math.floor((base64.length * 3) / 4) - padding;
  if (bytes < 1024) return `${Math.max(0, bytes)} B`;
  if (bytes < 1024 * 1024) return `${Math.round(bytes / 1024)} KB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}
