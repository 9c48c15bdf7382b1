import { describe, expect, test } from 'vitest';
import { renderText } from '../../packages/cli/src/render.js';
import { resultOf } from './fake-runtime.js';

const render = (result: object | string): string =>
  renderText(resultOf(typeof result === 'string' ? result : JSON.stringify(result)));

describe('a result as text', () => {
  test('all text blocks in order', () => {
    expect(
      render({
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      }),
    ).toBe('a\nb');
  });

  test.each([
    ['{"content":[],"structuredContent":{"id": 1915883588174806058}}'],
    ['{"structuredContent":{"id": 1915883588174806058}}'],
    ['{"content":[{"type":"text","text":" \\n"}],"structuredContent":{"id": 1915883588174806058}}'],
  ])('a structured payload alone is printed as the server wrote it (B171, B094): %s', (raw) => {
    expect(render(raw)).toBe('{"id": 1915883588174806058}');
  });

  test('text wins over its structured copy, media too', () => {
    expect(render({ content: [{ type: 'text', text: 'a' }], structuredContent: { a: 1 } })).toBe('a');
    const image = { type: 'image', mimeType: 'image/png', data: 'AAAA' };
    expect(render({ content: [image], structuredContent: { data: 'AAAA' } })).toBe(
      '[image image/png, 3 bytes; --json prints it]',
    );
  });

  test('nothing at all is empty', () => {
    expect(render({ content: [] })).toBe('');
    expect(render({ content: [], structuredContent: null })).toBe('');
    expect(render({})).toBe('');
  });

  test('links, embedded resources and unknown blocks have a line each', () => {
    const text = render({
      content: [
        { type: 'resource_link', uri: 'file:///a', name: 'a' },
        { type: 'resource', resource: { uri: 'file:///b', text: 'inner' } },
        { type: 'resource', resource: { uri: 'file:///c', mimeType: 'application/pdf', blob: 'AAAAAAAA' } },
        { type: 'hologram', depth: 3 },
        null,
        'bare',
        { type: 'text', text: 5 },
      ],
    });
    expect(text.split('\n')).toEqual([
      '[resource a file:///a]',
      'inner',
      '[resource application/pdf, 6 bytes; --json prints it]',
      '[unknown content {"type":"hologram","depth":3}]',
      '[unknown content null]',
      'bare',
      '[unknown content {"type":"text","text":5}]',
    ]);
  });
});
