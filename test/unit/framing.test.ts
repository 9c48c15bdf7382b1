import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LineFramer } from '../../packages/workers/src/server/framing.js';

type Event = string | { prefix: string; bytes: number };

/** What a framer makes of these chunks: lines as text, oversize lines as objects. */
function frame(
  chunks: Buffer[],
  maxMessageBytes = 1_000,
  options: { end?: boolean } = { end: true },
): Event[] {
  const events: Event[] = [];
  const framer = new LineFramer(
    { maxMessageBytes },
    {
      line: (bytes) => events.push(bytes.toString()),
      oversize: ({ prefix, bytes }) => events.push({ prefix: prefix.toString('latin1'), bytes }),
    },
  );
  for (const chunk of chunks) framer.push(chunk);
  if (options.end) framer.end();
  return events;
}

function pieces(stream: Buffer, size: number): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0; at < stream.length; at += size) chunks.push(stream.subarray(at, at + size));
  return chunks;
}

const collect = (() => {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
})();

/** Bytes that are reachable, objects and buffers together. */
function held(): number {
  // Buffers are freed in the background of one collection; the next one waits for it.
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const one = (text: string) => [Buffer.from(text)];

describe('lines', () => {
  test('several messages in one chunk arrive in order', () => {
    expect(frame(one('{"a":1}\n{"b":2}\n{"c":3}\n'))).toEqual(['{"a":1}', '{"b":2}', '{"c":3}']);
  });

  test('B006: one trailing CR is dropped and blank lines are skipped', () => {
    expect(frame(one('a\r\n\r\n\nb\r\r\n\r'))).toEqual(['a', 'b\r']);
  });

  test('B021: a reply that ends without a newline is delivered once', () => {
    expect(frame(one('{"a":1}\n{"b":2}'))).toEqual(['{"a":1}', '{"b":2}']);
    expect(frame(one('{"a":1}\n{"b":2}'), 1_000, { end: false })).toEqual(['{"a":1}']);
    const events: string[] = [];
    const framer = new LineFramer(
      { maxMessageBytes: 10 },
      { line: (bytes) => events.push(bytes.toString()), oversize: () => {} },
    );
    framer.push(Buffer.from('x\r'));
    framer.end();
    framer.end();
    expect(events).toEqual(['x']);
  });

  test('B003: characters of several bytes survive being written one byte at a time', () => {
    const stream = Buffer.from('{"text":"读—🎉"}\n');
    expect(frame(pieces(stream, 1))).toEqual(['{"text":"读—🎉"}']);
  });

  test('a line inside one chunk is a view of it', () => {
    const chunk = Buffer.from('abc\ndef\n');
    const lines: Buffer[] = [];
    new LineFramer({ maxMessageBytes: 10 }, { line: (bytes) => lines.push(bytes), oversize: () => {} }).push(
      chunk,
    );
    expect(lines.map((line) => line.buffer === chunk.buffer)).toEqual([true, true]);
  });

  test('a line over several chunks owns a buffer of exactly its size, so that it can be transferred', () => {
    const lines: Buffer[] = [];
    const framer = new LineFramer(
      { maxMessageBytes: 100 },
      { line: (bytes) => lines.push(bytes), oversize: () => {} },
    );
    for (const chunk of ['ab', 'cd', 'ef\r', '\n']) framer.push(Buffer.from(chunk));
    expect(lines[0]?.toString()).toBe('abcdef');
    expect(lines[0]?.buffer.byteLength).toBe(6);
  });

  test('a sink that throws leaves the framer at the next line', () => {
    const lines: string[] = [];
    const framer = new LineFramer(
      { maxMessageBytes: 100 },
      {
        line: (bytes) => {
          lines.push(bytes.toString());
          if (lines.length === 1) throw new Error('bad line');
        },
        oversize: () => {},
      },
    );
    framer.push(Buffer.from('a'));
    expect(() => framer.push(Buffer.from('b\n'))).toThrow('bad line');
    framer.push(Buffer.from('c\n'));
    expect(lines).toEqual(['ab', 'c']);
  });
});

describe('size', () => {
  test('B009: two messages of 0.6 times the limit in one write both pass', () => {
    const message = 'x'.repeat(600);
    expect(frame(one(`${message}\n${message}\n`))).toEqual([message, message]);
  });

  test('B009: the verdict on a message does not depend on how it was cut, to the byte', () => {
    for (const length of [999, 1_000, 1_001, 1_200]) {
      for (const ending of ['\n', '\r\n', '\r', '']) {
        const stream = Buffer.from(`before\n${'x'.repeat(length)}${ending}`);
        const expected = length <= 1_000 ? 'x'.repeat(length) : { prefix: 'x'.repeat(length), bytes: length };
        for (const size of [1, 7, 400, 999, 1_000, 1_001, 4_096]) {
          const events = frame(pieces(stream, size));
          if (typeof expected === 'string') expect(events).toEqual(['before', expected]);
          else expect(events[1]).toMatchObject({ bytes: expected.bytes });
          expect(events).toHaveLength(2);
        }
      }
    }
  });

  test('B007: an oversize message is told once, with its first 4 KiB, and its neighbours are delivered', () => {
    const huge = `{"id":5,${'y'.repeat(20_000)}`;
    const stream = Buffer.from(`first\n${huge}\nlast\n`);
    for (const size of [1, 1_000, 4_096, stream.length]) {
      const events = frame(pieces(stream, size), 5_000);
      expect(events).toEqual(['first', { prefix: huge.slice(0, 4_096), bytes: huge.length }, 'last']);
    }
  });

  test('B011: lines of 70 KB, 1 MB and 8 MB work', () => {
    for (const length of [70_000, 1_000_000, 8_000_000]) {
      const stream = Buffer.alloc(length + 1, 'z');
      stream[length] = 0x0a;
      const [line] = frame(pieces(stream, 65_536), 64 * 1024 * 1024);
      expect(line).toHaveLength(length);
    }
  });

  test('B010: a line that never ends holds at most the limit, and what it has cost so far can be asked', () => {
    const framer = new LineFramer({ maxMessageBytes: 1_000_000 }, { line: () => {}, oversize: () => {} });
    const before = held();
    for (let chunk = 0; chunk < 500; chunk++) framer.push(Buffer.allocUnsafeSlow(65_536).fill('x'));
    expect(framer.pendingBytes).toBe(500 * 65_536);
    expect(held() - before).toBeLessThan(5_000_000);
  });

  test('a message in single bytes costs bytes, not an object for each', () => {
    const framer = new LineFramer({ maxMessageBytes: 1_000_000 }, { line: () => {}, oversize: () => {} });
    const before = held();
    for (let byte = 0; byte < 300_000; byte++) framer.push(Buffer.alloc(1, 'x'));
    expect(held() - before).toBeLessThan(5_000_000);
    expect(framer.pendingBytes).toBe(300_000);
  });

  test('a message in very many small pieces, or small and large ones in turn, is put together', () => {
    const stream = Buffer.alloc(300_001, 'abcdefg');
    stream[300_000] = 0x0a;
    expect(frame(pieces(stream, 1), 1_000_000)).toEqual([stream.toString('utf8', 0, 300_000)]);
    // Large pieces in between close the block of small ones.
    const mixed: Buffer[] = [];
    for (let at = 0, size = 1; at < stream.length; size = (size * 31 + 7) % 9_001) {
      mixed.push(stream.subarray(at, at + size + 1));
      at += size + 1;
    }
    expect(frame(mixed, 1_000_000)).toEqual([stream.toString('utf8', 0, 300_000)]);
  });
});

describe('every-offset cutter', () => {
  const oversize = `{"big":"${'O'.repeat(70)}"}`;
  const messages = [
    '{"jsonrpc":"2.0","id":1,"result":{"text":"读—🎉"}}',
    '\ufeff{"id":2,"note":"with a byte order mark"}',
    oversize,
    '{"jsonrpc":"2.0","method":"notifications/x"}',
    '[INFO] noise',
    '{"id":3,"last":true}',
  ];
  const stream = Buffer.concat([
    Buffer.from(`${messages[0]}\r\n\r\n`),
    Buffer.from(`${messages[1]}\n\n`),
    Buffer.from(`${messages[2]}\r\n`),
    Buffer.from(`${messages[3]}\n${messages[4]}\r\n${messages[5]}`),
  ]);
  const expected = messages.map((message) =>
    message === oversize ? { prefix: oversize, bytes: 80 } : message,
  );
  const limit = 70;
  const told = (events: Event[]) =>
    events.map((event) =>
      typeof event === 'string' ? event : { ...event, prefix: event.prefix.slice(0, 70) },
    );
  const wanted = told(expected);

  test('a stream cut at each offset gives the same lines', () => {
    for (let at = 0; at <= stream.length; at++) {
      expect(told(frame([stream.subarray(0, at), stream.subarray(at)], limit))).toEqual(wanted);
    }
  });

  test('byte by byte as well', () => {
    expect(told(frame(pieces(stream, 1), limit))).toEqual(wanted);
  });

  test('and with any number of cuts, empty chunks included', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: stream.length })), (cuts) => {
        const offsets = [0, ...cuts.sort((a, b) => a - b), stream.length];
        const chunks = offsets.slice(1).map((end, index) => stream.subarray(offsets[index], end));
        expect(told(frame(chunks, limit))).toEqual(wanted);
      }),
      { numRuns: 300 },
    );
  });
});

describe('a sink that takes lines quickly', () => {
  /** Takes lines that begin with `q`; says where it was asked. */
  function quickly(chunks: string[]) {
    const events: string[] = [];
    const framer = new LineFramer(
      { maxMessageBytes: 1_000 },
      {
        quick: (chunk, from) => {
          const newline = chunk.indexOf(0x0a, from);
          events.push(`asked:${chunk.toString('utf8', from, from + 1)}`);
          if (chunk[from] !== 0x71 || newline === -1) return 0;
          events.push(`quick:${chunk.toString('utf8', from, newline)}`);
          return newline + 1;
        },
        line: (bytes) => events.push(`line:${bytes.toString()}`),
        oversize: () => events.push('oversize'),
      },
    );
    for (const chunk of chunks) framer.push(Buffer.from(chunk));
    framer.end();
    return events;
  }

  test('is offered each line that begins in a chunk, and what it leaves is cut as ever', () => {
    expect(quickly(['q1\nx\nq2\n'])).toEqual([
      'asked:q',
      'quick:q1',
      'asked:x',
      'line:x',
      'asked:q',
      'quick:q2',
    ]);
  });

  test('is not offered the rest of a line that began in the chunk before, nor the end of a chunk', () => {
    expect(quickly(['xq', 'q\nq3\n'])).toEqual(['asked:x', 'line:xqq', 'asked:q', 'quick:q3']);
  });
});
