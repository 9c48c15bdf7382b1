/** The pure parts of HTTP: events from bytes, when to listen again, what tells a lost session, versions, redirects. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { afterStream, listenStart } from '../../packages/workers/src/server/http/listen-policy.js';
import { redirectOf } from '../../packages/workers/src/server/http/redirect.js';
import { errorTellsLoss, statusTellsLoss } from '../../packages/workers/src/server/http/session-loss.js';
import { SseParser } from '../../packages/workers/src/server/http/sse.js';
import { versionToTry } from '../../packages/workers/src/server/http/version-step.js';

function parse(pieces: Buffer[], maxMessageBytes = 1_000) {
  const events: unknown[] = [];
  const parser = new SseParser(
    { maxMessageBytes },
    {
      event: ({ data, name }) => events.push([name, data.toString()]),
      oversize: ({ prefix, bytes }) => events.push({ prefix: prefix.toString(), bytes }),
    },
  );
  for (const piece of pieces) parser.push(piece);
  return { events, id: parser.lastEventId, retryMs: parser.retryMs, rest: parser.end()?.toString() };
}

const stream =
  '\ufeff: comment\r\n\r\nretry: 1500\nid: 7\ndata:\n\nevent: message\rdata: {"a":\rdata: "读🎉"}\r\rdata: x\r\ndata\r\ndata:y\r\n\r\nid: 8\nevent: z\n\n';
const whole = parse([Buffer.from(stream)]);

describe('a stream of events', () => {
  it('is read with any line ends, comments, empty data and ids', () => {
    expect(whole).toMatchObject({ id: '8', retryMs: 1_500, rest: undefined });
    expect(whole.events.filter((event) => (event as string[])[1] !== '')).toEqual([
      ['message', '{"a":\n"读🎉"}'],
      ['', 'x\n\ny'],
    ]);
  });

  it('is the same cut at every offset (B131)', () => {
    const bytes = Buffer.from(stream);
    for (let at = 0; at <= bytes.length; at++) {
      expect(parse([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(whole);
    }
  });

  it('is the same in any pieces', () => {
    const bytes = Buffer.from(stream);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), (sizes) => {
        const pieces: Buffer[] = [];
        for (let at = 0, i = 0; at < bytes.length; i++) {
          const size = sizes[i % sizes.length] ?? 1;
          pieces.push(bytes.subarray(at, at + size));
          at += size;
        }
        expect(parse(pieces)).toEqual(whole);
      }),
    );
  });

  it('counts data above the limit, keeps its head, and goes on', () => {
    const bytes = Buffer.from(`data: ${'x'.repeat(1_001)}\n\ndata: ${'y'.repeat(1_000)}\n\n`);
    for (const pieces of [[bytes], [...bytes].map((byte) => Buffer.of(byte))]) {
      const [large, fits] = parse(pieces).events;
      expect(large).toMatchObject({ bytes: 1_001 });
      expect(fits).toEqual(['', 'y'.repeat(1_000)]);
    }
  });

  it('is linear: 32 MiB in pieces of 16 KiB take no time', () => {
    const piece = Buffer.alloc(16 * 1024, 'x');
    const startedAt = performance.now();
    const { rest } = parse([Buffer.from('data: '), ...Array<Buffer>(2_048).fill(piece)], 64 * 1024 * 1024);
    expect(rest).toHaveLength(32 * 1024 * 1024);
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });
});

describe('the listening stream', () => {
  it('is given up after five useless ones, never sooner than a second apart (B126)', () => {
    let state = listenStart;
    const waits: number[] = [];
    for (;;) {
      const next = afterStream(state, { useful: false, uptimeMs: 5, retryMs: 0 });
      if ('giveUp' in next) break;
      waits.push(next.waitMs);
      state = next.state;
    }
    expect(waits).toEqual([1_000, 1_000, 1_000, 1_000]);
  });

  it('counts anew after a message or half a minute; a wait asked for holds up to a minute (B133)', () => {
    const tired = { failures: 4 };
    const after = (useful: boolean, uptimeMs: number, retryMs?: number) =>
      afterStream(tired, { useful, uptimeMs, retryMs });
    expect(after(true, 1)).toEqual({ waitMs: 1_000, state: { failures: 0 } });
    expect(after(false, 30_000)).toEqual({ waitMs: 1_000, state: { failures: 0 } });
    expect(after(true, 1, 1_500)).toMatchObject({ waitMs: 1_500 });
    expect(after(true, 1, 3_600_000)).toMatchObject({ waitMs: 60_000 });
    expect(after(false, 1)).toEqual({ giveUp: true });
  });
});

describe('words', () => {
  it('that tell a lost session are told from others (B123)', () => {
    expect(statusTellsLoss(404, '')).toBe(true);
    expect(statusTellsLoss(400, 'Bad Request: No valid session ID provided')).toBe(true);
    expect(statusTellsLoss(400, 'Bad Request: bad arguments')).toBe(false);
    expect(statusTellsLoss(401, 'session expired')).toBe(false);
    expect(errorTellsLoss({ code: -32001, message: 'Session not found' })).toBe(true);
    expect(errorTellsLoss({ code: -32602, message: 'shopping session not found' })).toBe(false);
    expect(errorTellsLoss({ code: -32001, message: 'Unauthorized' })).toBe(false);
  });

  it('about versions give the one to try next (B045)', () => {
    const known = ['2025-11-25', '2025-06-18', '2025-03-26'];
    const next = (text: string) => versionToTry('2025-11-25', text, known);
    expect(next('unsupported version; supported: 2024-01-01, 2025-03-26')).toBe('2025-03-26');
    expect(next('Unsupported protocol version')).toBe('2025-06-18');
    expect(next('Invalid params')).toBeUndefined();
    expect(versionToTry('2025-03-26', 'bad version', known)).toBeUndefined();
  });
});

describe('a redirect', () => {
  it('is followed on the same origin only, and never turns a POST into a GET (B138, B139)', () => {
    const from = new URL('http://a.test/mcp');
    const hop = (status: number, to: string, method = 'POST', hops = 0) =>
      redirectOf(status, to, from, method, hops);
    expect(hop(200, '/x')).toBeUndefined();
    expect(hop(307, '/x')).toMatchObject({ follow: new URL('http://a.test/x') });
    expect(hop(302, '/x', 'GET')).toMatchObject({ follow: new URL('http://a.test/x') });
    expect(hop(302, '/x')).toMatchObject({ refuse: expect.stringContaining('http://a.test/x') });
    expect(hop(307, 'https://a.test/x')).toMatchObject({ refuse: expect.stringContaining('another origin') });
    expect(hop(307, '/x', 'POST', 3)).toHaveProperty('refuse');
  });
});
