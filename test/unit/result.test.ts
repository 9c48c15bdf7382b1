import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ContentBlock } from '../../packages/runtime/src/api.js';
import { LaneToolResult } from '../../packages/runtime/src/result.js';

function resultOf(
  payload: string | ArrayBuffer,
  init: { start?: number; end?: number; isError?: boolean } = {},
) {
  const { isError = false, ...span } = init;
  const call = { server: 'files', tool: 'read', attempts: 1, startedAt: 4, postedAt: 5 };
  return new LaneToolResult(call, payload, isError, { ...span, warnings: ['seen before'] }, 2);
}

const ofContent = (content: unknown) => resultOf(JSON.stringify({ content }));
const text = (value: string): ContentBlock => ({ type: 'text', text: value });

describe('what is there at once', () => {
  test('outcome, timing, attempts and warnings need no decoding', () => {
    const result = resultOf('not even JSON', { isError: true });
    expect(result).toMatchObject({ outcome: 'tool_error', isError: true, attempts: 1 });
    expect(result.timing).toEqual({ queueMs: 1, callMs: 2 });
    expect(result.warnings).toEqual(['seen before']);
    expect(resultOf('{}').outcome).toBe('ok');
  });

  test('content is decoded once', () => {
    const result = ofContent([text('a')]);
    expect(result.content).toBe(result.content);
  });
});

describe('raw', () => {
  test('it is the exact text, from a string or from a part of transferred bytes', () => {
    const exact = '{ "content":[{"type":"text","text":"读—🎉"}], "n": 1.0 }';
    const frame = Buffer.from(`{"jsonrpc":"2.0","id":1,"note":"读","result":${exact}}`);
    const buffer = new Uint8Array(frame).buffer;
    const start = frame.indexOf('{ "content"');
    const result = resultOf(buffer, { start, end: frame.length - 1 });
    expect(result.raw).toBe(exact);
    expect(result.text()).toBe('读—🎉');
    expect(resultOf(exact).raw).toBe(exact);
    expect(resultOf(new Uint8Array(Buffer.from(exact)).buffer).raw).toBe(exact);
  });
});

describe('B089, B090: blocks', () => {
  const all = [
    text('one'),
    { type: 'image', data: 'aGVsbG8=', mimeType: 'image/png' },
    { type: 'audio', data: 'A'.repeat(16_384), mimeType: 'audio/wav' },
    { type: 'resource_link', uri: 'file:///a.txt', name: 'a.txt' },
    { type: 'resource', resource: { uri: 'file:///b.txt', text: 'two' } },
    {
      type: 'resource',
      resource: { uri: 'file:///c.bin', mimeType: 'application/pdf', blob: 'A'.repeat(4 * 2 ** 20) },
    },
    { type: 'hologram', data: 1 },
    null,
    'three',
    7,
    { type: 'text' },
    { type: 'resource', resource: null },
    text('four'),
  ];

  test('all are kept, in order; unknown and broken ones as placeholders with what was sent', () => {
    expect(ofContent(all).content).toEqual([
      ...all.slice(0, 6),
      { type: 'unknown', raw: { type: 'hologram', data: 1 } },
      { type: 'unknown', raw: null },
      text('three'),
      { type: 'unknown', raw: 7 },
      { type: 'unknown', raw: { type: 'text' } },
      { type: 'unknown', raw: { type: 'resource', resource: null } },
      text('four'),
    ]);
  });

  test('text() has every text in order and a note for what is not text', () => {
    expect(ofContent(all).text()).toBe(
      [
        'one',
        '[image image/png 5 B]',
        '[audio audio/wav 12 KB]',
        '[resource a.txt file:///a.txt]',
        'two',
        '[resource file:///c.bin application/pdf 3.0 MB]',
        '[unknown block hologram]',
        '[unknown block]',
        'three',
        '[unknown block]',
        '[unknown block text]',
        '[unknown block resource]',
        'four',
      ].join('\n'),
    );
  });

  test('content that is no list is taken as one block, with a warning', () => {
    expect(ofContent('plain').content).toEqual([text('plain')]);
    const result = ofContent(text('alone'));
    expect(result.content).toEqual([text('alone')]);
    expect(result.warnings[1]).toBe('files.read: its content is not a list; it was taken as one block');
  });
});

describe('B091: null counts as absent', () => {
  test('in optional fields at each level; foreign fields are kept, null or not', () => {
    const result = resultOf(
      JSON.stringify({
        _meta: null,
        isError: null,
        structuredContent: null,
        content: [
          { type: 'text', text: 'a', annotations: null, _meta: null, extra: null, more: 1 },
          { type: 'text', text: 'b', annotations: { audience: null, priority: 1 } },
          { type: 'resource', resource: { uri: 'u', text: 't', mimeType: null, _meta: null } },
        ],
      }),
    );
    expect(result.content).toEqual([
      { type: 'text', text: 'a', extra: null, more: 1 },
      { type: 'text', text: 'b', annotations: { priority: 1 } },
      { type: 'resource', resource: { uri: 'u', text: 't' } },
    ]);
    expect(result.structuredContent).toBeUndefined();
    expect(result.warnings).toEqual(['seen before']);
  });

  test.each(['{}', '{"content":null}', '{"content":[]}'])('%s has no content and no text', (raw) => {
    expect(resultOf(raw).content).toEqual([]);
    expect(resultOf(raw).text()).toBe('');
  });
});

describe('B083, B085: one canonical text', () => {
  const structured = '{"answer": 42}';
  test.each([
    ['empty content', '"content":[],'],
    ['missing content', ''],
    ['null content', '"content":null,'],
    ['blank text', '"content":[{"type":"text","text":" \\n"},{"type":"text","text":""}],'],
  ])('%s falls back to the structured content', (_name, content) => {
    const result = resultOf(`{${content}"structuredContent":${structured}}`);
    expect(result.text()).toBe(structured);
    expect(result.structuredContent).toEqual({ answer: 42 });
  });

  test('text wins over its structured mirror, and an image is not dumped again as text', () => {
    expect(
      resultOf(`{"content":[{"type":"text","text":"x"}],"structuredContent":${structured}}`).text(),
    ).toBe('x');
    const image = '{"type":"image","data":"AAAA","mimeType":"image/png"}';
    expect(resultOf(`{"content":[${image}],"structuredContent":{"data":"AAAA"}}`).text()).toBe(
      '[image image/png 3 B]',
    );
  });

  test('structured content that is no object is left out, with a warning', () => {
    const result = resultOf('{"content":[],"structuredContent":[1]}');
    expect(result.structuredContent).toBeUndefined();
    expect(result.text()).toBe('');
    expect(result.warnings[1]).toMatch(/^files\.read: its structuredContent is not an object/);
  });

  test('B086: text without structured content is a good result', () => {
    expect(ofContent([text('fine')]).text()).toBe('fine');
  });
});

test('B094: integers above 2^53 keep their digits in text() and raw', () => {
  const raw =
    '{"structuredContent":{"id":1},"content":[],"structuredContent":{"id": 1915883588174806058, "x":1.10}}';
  const result = resultOf(raw);
  expect(result.text()).toBe('{"id": 1915883588174806058, "x":1.10}');
  expect(result.raw).toBe(raw);
});

describe('B093: lone surrogates', () => {
  test('they become U+FFFD in texts and keys, at every level; whole pairs stay', () => {
    const result = resultOf(
      String.raw`{"content":[{"type":"text","text":"a\ud83d b \uD83C\uDF89"}],"structuredContent":{"k\udc00":[{"x":"\uDBFFz"}],"__proto__":"\ud83d"}}`,
    );
    expect(result.content).toEqual([text('a\ufffd b 🎉')]);
    expect(Object.entries(result.structuredContent ?? {})).toEqual([
      ['k\ufffd', [{ x: '\ufffdz' }]],
      ['__proto__', '\ufffd'],
    ]);
    expect(result.raw).toContain('\\ud83d');
  });

  test('whatever a server sends, what comes out can be put into a strict JSON body', () => {
    const half = fc.string({ unit: fc.constantFrom('a', '\ud83d', '\udf89', '🎉', '"', '\\') });
    fc.assert(
      fc.property(fc.array(half), fc.dictionary(half, half), (texts, object) => {
        const result = resultOf(JSON.stringify({ content: texts.map(text), structuredContent: object }));
        for (const part of [
          result.text(),
          JSON.stringify(result.content),
          JSON.stringify(result.structuredContent),
        ]) {
          expect(Buffer.from(part).toString()).toBe(part);
        }
        expect(JSON.stringify([result.content, result.structuredContent])).not.toMatch(/\\ud[89a-f]/i);
      }),
    );
  });

  test('the escape may be written in capitals', () => {
    expect(resultOf(String.raw`{"content":[{"type":"text","text":"\uDBFF"}]}`).text()).toBe('\ufffd');
  });

  test('a string payload that is itself not well-formed is mended', () => {
    expect(resultOf('{"content":[{"type":"text","text":"\ud83d"}]}').text()).toBe('\ufffd');
  });
});

describe('B095: tool errors', () => {
  test.each([
    ['text', '{"isError":true,"content":[{"type":"text","text":"no such file"}]}', 'no such file'],
    ['empty content', '{"isError":true,"content":[]}', ''],
    [
      'an image only',
      '{"isError":true,"content":[{"type":"image","data":"AAAA","mimeType":"image/png"}]}',
      '[image image/png 3 B]',
    ],
  ])('with %s it stays an error', (_name, raw, expected) => {
    const result = resultOf(raw, { isError: true });
    expect(result.outcome).toBe('tool_error');
    expect(result.text()).toBe(expected);
  });
});

describe('payloads that are no result', () => {
  test.each(['[]', '"text"', 'null', '7'])('%s has no content and a warning', (raw) => {
    const result = resultOf(raw);
    expect(result.content).toEqual([]);
    expect(result.text()).toBe('');
    expect(result.warnings[1]).toBe('files.read: its result is not an object');
  });

  test('text that is not JSON does not throw either', () => {
    const result = resultOf('{"content":');
    expect(result.content).toEqual([]);
    expect(result.warnings[1]).toMatch(/its result is not JSON/);
  });
});
