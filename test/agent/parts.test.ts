/** What a tool answered, as parts for a model: text in order, media by their bytes, and a word about everything else. */
import { readFileSync, statSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { OutputFiles } from '../../packages/runtime/src/agent/output-files.js';
import { resultParts } from '../../packages/runtime/src/agent/parts.js';
import { anthropic } from '../../packages/runtime/src/agent/providers/anthropic.js';
import { gemini } from '../../packages/runtime/src/agent/providers/gemini.js';
import type { ResultPart, ToolOutput } from '../../packages/runtime/src/agent/tool.js';
import type { ContentBlock } from '../../packages/runtime/src/api.js';
import { LaneToolResult } from '../../packages/runtime/src/result.js';
import { useTempDir } from '../support/temp-dir.js';
import { gif, pdf, pngOf, wav } from './media.js';

const directory = useTempDir();

/** What an MCP server's answer, given as exact JSON text, becomes. */
async function partsOf(raw: string, options: { isError?: boolean; media?: typeof anthropic.media } = {}) {
  const call = { server: 'web', tool: 'get', attempts: 1, startedAt: 0, postedAt: 0 };
  const result = new LaneToolResult(call, raw, options.isError ?? false, null, 1);
  return toParts({ isError: result.isError, result }, options.media);
}

function toParts(output: ToolOutput, media = anthropic.media): Promise<ResultPart[]> {
  return resultParts(output, { media, files: new OutputFiles(directory('out')) });
}

const ofContent = (content: unknown, more = {}) => partsOf(JSON.stringify({ content, ...more }));
const text = (value: string): ResultPart => ({ type: 'text', text: value });
const png = (data = pngOf()): ResultPart => ({ type: 'image', mediaType: 'image/png', data });

/** The text of an answer that is text only, and the file it names. */
function savedIn(parts: ResultPart[]): { words: string; path: string; bytes: Buffer } {
  expect(parts.map((part) => part.type)).toEqual(['text']);
  const words = parts[0]?.type === 'text' ? parts[0].text : '';
  const path = /saved as (\S+)\]/.exec(words)?.[1] ?? '';
  return { words, path, bytes: readFileSync(path) };
}

describe('text', () => {
  test('all blocks are kept in order, text that follows text is one part', async () => {
    const parts = await ofContent([
      { type: 'text', text: 'status' },
      { type: 'resource', resource: { uri: 'file:///a.txt', mimeType: 'text/plain', text: 'the data' } },
      { type: 'image', data: pngOf(), mimeType: 'image/png' },
      { type: 'text', text: 'end' },
    ]);
    expect(parts).toEqual([
      text('status\n[resource file:///a.txt text/plain]\nthe data'),
      png(),
      text('end'),
    ]);
  });

  test.each([
    ['no content', { structuredContent: { answer: 42 } }],
    ['empty content', { content: [], structuredContent: { answer: 42 } }],
    ['null content', { content: null, structuredContent: { answer: 42 } }],
  ])('%s: the structured content speaks', async (_, result) => {
    expect(await partsOf(JSON.stringify(result))).toEqual([text('{"answer":42}')]);
  });

  test('blank text does not silence the structured content', async () => {
    const parts = await ofContent([{ type: 'text', text: ' \n' }], { structuredContent: { answer: 42 } });
    expect(parts).toEqual([text(' \n\n{"answer":42}')]);
  });

  test('of text and structured content that say the same only the text is passed on', async () => {
    const parts = await ofContent([{ type: 'text', text: '{"a":1}' }], { structuredContent: { a: 1 } });
    expect(parts).toEqual([text('{"a":1}')]);
  });

  test('an image and its copy in the structured content: the image once, the rest as text', async () => {
    const data = pngOf(500);
    const parts = await ofContent([{ type: 'image', data, mimeType: 'image/png' }], {
      structuredContent: { image: data, width: 1 },
    });
    expect(parts).toEqual([png(data), text('{"image":"(shown or saved above)","width":1}')]);
  });

  test('integers above 2^53 keep their digits', async () => {
    const raw = '{"content":[],"structuredContent":{"id":1915883588174806058}}';
    expect(await partsOf(raw)).toEqual([text('{"id":1915883588174806058}')]);
  });

  test('half a surrogate pair is replaced, in text of servers and of local tools', async () => {
    const [remote] = await partsOf('{"content":[{"type":"text","text":"a\\ud83d"}]}');
    expect(remote).toEqual(text('a\ufffd'));
    const [local] = await toParts({ isError: false, content: [{ type: 'text', text: '\ude00b' }] });
    expect(local).toEqual(text('\ufffdb'));
  });

  test('nulls in optional fields are as if they were not there', async () => {
    const raw = {
      content: [{ type: 'text', text: 'x', annotations: null, _meta: null }],
      isError: null,
      extra: 1,
    };
    expect(await partsOf(JSON.stringify(raw))).toEqual([text('x')]);
  });

  test('the text of an error comes whole, whatever its structured content looks like', async () => {
    const raw = JSON.stringify({
      content: [{ type: 'text', text: 'no table x' }],
      structuredContent: { wrong: 1 },
      isError: true,
    });
    expect(await partsOf(raw, { isError: true })).toEqual([text('no table x')]);
  });

  test('an error without content has no parts, one with an image only has the image', async () => {
    expect(await partsOf('{"content":[],"isError":true}', { isError: true })).toEqual([]);
    const raw = JSON.stringify({
      content: [{ type: 'image', data: pngOf(), mimeType: 'image/png' }],
      isError: true,
    });
    expect(await partsOf(raw, { isError: true })).toEqual([png()]);
  });
});

describe('blocks of every kind', () => {
  test('links, unknown, null and string blocks become text in their places', async () => {
    const parts = await ofContent([
      {
        type: 'resource_link',
        uri: 'file:///r.md',
        name: 'r.md',
        mimeType: 'text/markdown',
        size: 2_048,
        description: 'Read\nme.',
      },
      { type: 'hologram', beam: 7 },
      null,
      'plain',
    ]);
    expect(parts).toEqual([
      text(
        [
          '[resource link r.md, file:///r.md, text/markdown, 2 KB: Read me.]',
          '[block of unknown type "hologram": {"type":"hologram","beam":7}]',
          '[block of unknown type: null]',
          'plain',
        ].join('\n'),
      ),
    ]);
  });

  test('a block that nobody knows is shown up to a bound', async () => {
    const [part] = await ofContent([{ type: 'hologram', data: 'x'.repeat(10_000) }]);
    expect(part?.type === 'text' && part.text.length).toBeLessThan(2_100);
  });

  test('an embedded image is shown with its address, an embedded text in base64 is read', async () => {
    const parts = await ofContent([
      { type: 'resource', resource: { uri: 'shot://1', mimeType: 'image/gif', blob: gif } },
      {
        type: 'resource',
        resource: {
          uri: 'file:///b.json',
          mimeType: 'application/json',
          blob: Buffer.from('{"b":1}').toString('base64'),
        },
      },
    ]);
    expect(parts).toEqual([
      text('[resource shot://1 image/gif]'),
      { type: 'image', mediaType: 'image/gif', data: gif },
      text('[resource file:///b.json application/json]\n{"b":1}'),
    ]);
  });

  test('an embedded document goes to a file that only the user reads', async () => {
    const parts = await ofContent([
      {
        type: 'resource',
        resource: { uri: 'file:///../../etc/x.pdf', mimeType: 'application/pdf', blob: pdf },
      },
    ]);
    const { words, path, bytes } = savedIn(parts);
    expect(words).toMatch(
      /^\[resource file:\/\/\/\.\.\/\.\.\/etc\/x\.pdf application\/pdf: application\/pdf, 35 bytes, not shown/,
    );
    expect(path.startsWith(directory('out'))).toBe(true);
    expect(path).toMatch(/media-[0-9a-f-]+\.pdf$/);
    expect(bytes.toString('base64')).toBe(pdf);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(directory('out')).mode & 0o777).toBe(0o700);
  });

  test('local tools may give the same blocks', async () => {
    const content: ContentBlock[] = [
      { type: 'text', text: 'a' },
      { type: 'image', data: gif, mimeType: 'image/gif' },
    ];
    expect(await toParts({ isError: false, content })).toEqual([
      text('a'),
      { type: 'image', mediaType: 'image/gif', data: gif },
    ]);
    expect(await toParts({ isError: false })).toEqual([]);
  });
});

describe('media', () => {
  const image = (data: string, mimeType: unknown = 'image/png') =>
    ofContent([{ type: 'image', data, mimeType }]);

  test.each(['image/png', 'image/jpeg', 'text/plain', '', null, undefined, 7])(
    'a picture labelled %s is what its bytes say',
    async (label) => {
      expect(await image(pngOf(), label)).toEqual([png()]);
    },
  );

  test('base64 comes clean, whether it came as a data URL, in lines, URL-safe or without padding', async () => {
    const data = pngOf();
    const forms = [
      `data:image/png;base64,${data}`,
      data.replace(/(.{20})/g, '$1\r\n'),
      data.replaceAll('+', '-').replaceAll('/', '_'),
      data.replace(/=+$/, ''),
    ];
    for (const form of forms) expect(await image(form)).toEqual([png(data)]);
  });

  test.each(['', '====', 'not base64 !', 'A'])('data that is none (%j) is a line of text', async (data) => {
    expect(await image(data)).toEqual([text('[image: its data is empty or not base64]')]);
  });

  test('a document that is labelled as a picture goes to a file', async () => {
    const { words, bytes } = savedIn(await image(pdf));
    expect(words).toContain('[image: application/pdf, 35 bytes, not shown; saved as');
    expect(bytes.toString('base64')).toBe(pdf);
  });

  test('a drawing in SVG goes to a file: no provider takes it', async () => {
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>').toString('base64');
    const { path } = savedIn(await image(svg, 'image/svg+xml'));
    expect(path).toMatch(/\.(svg|xml)$/);
  });

  test('sound goes to a file where the model hears nothing, and is shown where it does', async () => {
    const content = [{ type: 'audio', data: wav(), mimeType: 'audio/x-wav' }];
    const { words } = savedIn(await ofContent(content));
    expect(words).toContain('[audio: audio/wav, 52 bytes, not shown');
    expect(await partsOf(JSON.stringify({ content }), { media: gemini.media })).toEqual([
      { type: 'audio', mediaType: 'audio/wav', data: wav() },
    ]);
  });

  test('a picture above the limit goes to a file, whole', async () => {
    const data = pngOf(5 * 1024 * 1024);
    const { words, bytes } = savedIn(await image(data));
    expect(words).toContain('[image: image/png, 5.0 MB, not shown');
    expect(bytes.equals(Buffer.from(data, 'base64'))).toBe(true);
  });

  test('of many pictures twenty are shown and the others are files', async () => {
    const parts = await ofContent(
      Array.from({ length: 22 }, () => ({ type: 'image', data: gif, mimeType: 'image/gif' })),
    );
    expect(parts.filter((part) => part.type === 'image')).toHaveLength(20);
    expect(parts.at(-1)).toMatchObject({
      type: 'text',
      text: expect.stringMatching(/saved as .*\n.*saved as/),
    });
  });
});
