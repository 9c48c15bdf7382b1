import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type InputLine, LineSplitter } from '../../packages/runtime/src/batch/lines.js';
import { parseRecord } from '../../packages/runtime/src/batch/record.js';
import { Scheduler } from '../../packages/runtime/src/batch/schedule.js';
import { LatencyRecorder } from '../../packages/runtime/src/latency.js';

function split(pieces: readonly Uint8Array[], maxBytes = 1_000_000): InputLine[] {
  const splitter = new LineSplitter(maxBytes);
  return [...pieces.flatMap((piece) => splitter.push(piece)), ...splitter.end()];
}

describe('lines', () => {
  test('a stream cut at any byte gives the same lines', () => {
    const text = '\ufeff{"a":"ä€😀"}\r\n\n  \n{"b":1}\nlast';
    const bytes = Buffer.from(text);
    const whole = split([bytes]);
    expect(whole.map(({ line, text }) => [line, text])).toEqual([
      [1, '{"a":"ä€😀"}\r'],
      [4, '{"b":1}'],
      [5, 'last'],
    ]);
    for (let at = 0; at <= bytes.length; at++) {
      expect(split([bytes.subarray(0, at), bytes.subarray(at)]), `cut at ${at}`).toEqual(whole);
    }
    expect(split([...bytes].map((byte) => Buffer.from([byte])))).toEqual(whole);
  });

  test('a piece whose buffer is filled again afterwards has been copied', () => {
    const splitter = new LineSplitter(100);
    splitter.push(Buffer.from('first\n'));
    const piece = Buffer.from('abc');
    splitter.push(piece);
    piece.fill('x');
    expect(splitter.end()[0]?.text).toBe('abc');
  });

  test('a line above the limit is counted, not kept, and only it is lost', () => {
    const lines = split(
      [Buffer.from('ok\n'), ...[60, 60, 60].map((size) => Buffer.alloc(size, 'x')), Buffer.from('\nok')],
      100,
    );
    expect(lines.map(({ text }) => text)).toEqual(['ok', undefined, 'ok']);
    expect(lines[1]).toMatchObject({ line: 2, problem: 'the line has 180 bytes, the limit is 100' });
  });

  test('bytes that are no UTF-8 are refused, an honest replacement character is not', () => {
    const lines = split([Buffer.from([0x22, 0xff, 0x22, 0x0a]), Buffer.from('"\ufffd"\n')]);
    expect(lines.map(({ problem }) => problem)).toEqual(['the line is not valid UTF-8', undefined]);
  });

  test('the bytes of all lines are the bytes of the input without its blank lines', () => {
    const lines = split([Buffer.from('ab\n\ncd\r\ne')]);
    expect(lines.map(({ bytes }) => bytes)).toEqual([3, 4, 1]);
  });
});

describe('one record', () => {
  test.each([
    ['{"tool":"t"}', 'field "server" is missing'],
    ['{"server":"s"}', 'field "tool": expected the name of a tool, got nothing'],
    ['{"server":5,"tool":"t"}', 'field "server": expected the name of a server, got the number 5'],
    ['{"server":"s","tool":"t","timeoutMs":"5s"}', 'field "timeoutMs"'],
    ['{"server":"s","tool":"t","timeoutMs":0}', 'field "timeoutMs"'],
    ['{"server":"s","tool":"t","idempotent":1}', 'field "idempotent"'],
    ['{"server":"s","tool":"t","arguments":null}', 'field "arguments": expected an object, got null'],
    ['{"server":"s","tool":"t","args":{}}', 'did you mean "arguments"'],
    ['"text"', 'expected an object'],
    ['{"server":"s",', 'not JSON'],
  ])('%s is refused', (text, problem) => {
    expect(parseRecord(text)).toMatchObject({ kind: 'bad', problem: expect.stringContaining(problem) });
  });

  test('any id is given back as it was written', () => {
    fc.assert(
      fc.property(fc.json(), (id) => {
        const record = parseRecord(`{"tool":"t","id": ${id} ,"server":"s"}`);
        expect(record).toMatchObject({ kind: 'call', id: id.trim().replace(/[\r\n]/g, ' ') });
      }),
    );
  });

  test('a long foreign line is shown in part, never with half a character', () => {
    const record = parseRecord(`${'x'.repeat(79)}😀${'y'.repeat(100)}`);
    expect(record.kind === 'bad' && record.problem.endsWith('x\ufffd…')).toBe(true);
  });
});

describe('the schedule', () => {
  function filled(slots: number, lanes: Record<string, number>, window = 1_000): Scheduler<string> {
    const scheduler = new Scheduler<string>(slots);
    for (const [name, items] of Object.entries(lanes)) {
      scheduler.addLane(name, window);
      scheduler.setOpen(name, true);
      for (let i = 0; i < items; i++) scheduler.push(name, name);
    }
    return scheduler;
  }

  function startAll(scheduler: Scheduler<string>): Map<string, number> {
    const started = new Map<string, number>();
    for (let name = scheduler.next(); name !== undefined; name = scheduler.next()) {
      started.set(name, (started.get(name) ?? 0) + 1);
    }
    return started;
  }

  test('a server alone uses all slots, up to its window', () => {
    expect(startAll(filled(8, { a: 20 }))).toEqual(new Map([['a', 8]]));
    expect(startAll(filled(8, { a: 20 }, 3))).toEqual(new Map([['a', 3]]));
  });

  test('servers share evenly while all of them have work, and take what others leave', () => {
    expect(startAll(filled(8, { a: 20, b: 20 }))).toEqual(
      new Map([
        ['a', 4],
        ['b', 4],
      ]),
    );
    expect(startAll(filled(9, { a: 20, b: 1 }))).toEqual(
      new Map([
        ['a', 8],
        ['b', 1],
      ]),
    );
  });

  test('a server above its share gets nothing while the other waits', () => {
    const scheduler = filled(4, { a: 20 });
    startAll(scheduler);
    scheduler.addLane('b', 10);
    scheduler.setOpen('b', true);
    for (let i = 0; i < 3; i++) scheduler.push('b', 'b');
    for (let i = 0; i < 2; i++) scheduler.done('a');
    expect(startAll(scheduler)).toEqual(new Map([['b', 2]]));
  });

  test('while more may come, a server leaves slots for those not seen yet', () => {
    const scheduler = filled(64, { hung: 200 });
    scheduler.moreMayCome = true;
    expect(startAll(scheduler).get('hung')).toBe(56);
    for (const [lane, expected] of [
      ['b', 7],
      ['c', 1],
    ] as const) {
      scheduler.addLane(lane, 64);
      scheduler.setOpen(lane, true);
      for (let i = 0; i < 50; i++) scheduler.push(lane, lane);
      expect(startAll(scheduler).get(lane), lane).toBe(expected);
    }
  });

  test('a held lane waits, keeps its order, and can be emptied', () => {
    const scheduler = new Scheduler<number>(1);
    scheduler.addLane('a', 5);
    for (const n of [1, 2, 3]) scheduler.push('a', n);
    expect(scheduler.next()).toBeUndefined();
    scheduler.setOpen('a', true);
    expect(scheduler.next()).toBe(1);
    scheduler.done('a');
    scheduler.unshift('a', 1);
    expect(scheduler.next()).toBe(1);
    scheduler.done('a');
    expect(scheduler.drain('a')).toEqual([2, 3]);
    expect(scheduler.waiting).toBe(0);
  });

  test('every item starts exactly once, in order within its lane, inside all limits', () => {
    const plan = fc.record({
      slots: fc.integer({ min: 1, max: 6 }),
      windows: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 }),
      items: fc.array(fc.nat(), { maxLength: 60 }),
      more: fc.boolean(),
    });
    fc.assert(
      fc.property(plan, ({ slots, windows, items, more }) => {
        const scheduler = new Scheduler<{ lane: string; n: number }>(slots);
        scheduler.moreMayCome = more;
        windows.forEach((window, lane) => {
          scheduler.addLane(String(lane), window);
          scheduler.setOpen(String(lane), true);
        });
        items.forEach((pick, n) => {
          const lane = String(pick % windows.length);
          scheduler.push(lane, { lane, n });
        });
        const running: { lane: string; n: number }[] = [];
        const started: { lane: string; n: number }[] = [];
        while (started.length < items.length) {
          for (let item = scheduler.next(); item !== undefined; item = scheduler.next()) {
            running.push(item);
            started.push(item);
          }
          expect(running.length).toBeGreaterThan(0);
          expect(running.length).toBeLessThanOrEqual(slots);
          windows.forEach((window, lane) => {
            expect(running.filter((item) => item.lane === String(lane)).length).toBeLessThanOrEqual(window);
          });
          const ended = running.shift();
          if (ended !== undefined) scheduler.done(ended.lane);
        }
        for (const lane of windows.keys()) {
          const order = started.filter((item) => item.lane === String(lane)).map(({ n }) => n);
          expect(order).toEqual([...order].sort((a, b) => a - b));
        }
      }),
    );
  });
});

test('percentiles of a million latencies are within two percent', () => {
  const recorder = new LatencyRecorder();
  for (let i = 1; i <= 100_000; i++) recorder.record(i / 100);
  const { p50 = 0, p95 = 0, p99 = 0 } = recorder.snapshot() ?? {};
  for (const [percent, found] of [
    [50, p50],
    [95, p95],
    [99, p99],
  ] as const) {
    expect(Math.abs(found / (percent * 10) - 1)).toBeLessThan(0.02);
  }
});
