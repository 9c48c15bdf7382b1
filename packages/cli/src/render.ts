/**
 * A tool's result as text for a person or a pipe: all blocks in order; the structured payload, cut from the server's
 * own text, when there is nothing else; media named, not dumped. Pure.
 */
import type { ToolResult } from '@bulkhead/runtime';
import { memberSpans } from '@bulkhead/workers/json-span';

export function renderText(result: ToolResult): string {
  const text = result.content.map(blockText).join('\n');
  if (text.trim() !== '') return text;
  const span = memberSpans(result.raw).get('structuredContent');
  const structured = span === undefined ? 'null' : result.raw.slice(span.start, span.end);
  return structured === 'null' ? '' : structured;
}

/** One block. It comes from a server: every field may be missing or of another type. */
export function blockText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return placeholder(value);
  const { type, text, resource, uri, name, data, mimeType } = value as Record<string, unknown>;
  switch (type) {
    case 'text':
      return typeof text === 'string' ? text : placeholder(value);
    case 'image':
    case 'audio':
      return media(type, mimeType, data);
    case 'resource_link':
      return typeof uri === 'string'
        ? `[resource ${typeof name === 'string' ? `${name} ` : ''}${uri}]`
        : placeholder(value);
    case 'resource': {
      const inner = (resource ?? {}) as Record<string, unknown>;
      if (typeof inner.text === 'string') return inner.text;
      return media('resource', inner.mimeType ?? inner.uri, inner.blob);
    }
    default:
      return placeholder(value);
  }
}

function media(kind: string, mimeType: unknown, base64: unknown): string {
  const size = typeof base64 === 'string' ? `, ${Math.floor((base64.length * 3) / 4)} bytes` : '';
  return `[${kind}${typeof mimeType === 'string' ? ` ${mimeType}` : ''}${size}; --json prints it]`;
}

function placeholder(value: unknown): string {
  return `[unknown content ${JSON.stringify(value)}]`;
}
