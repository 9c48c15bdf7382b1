/** The pure parts of `bulkhead top`: what stands on the screen for a status, a size and some keys. */
import type { ServerRow, StatusReport } from '@bulkhead/runtime/control/client';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { statusTable } from '../../packages/cli/src/resident/status-table.js';
import { cut, fit, widthOf, wrapped } from '../../packages/cli/src/top/cells.js';
import { LatencyHistory } from '../../packages/cli/src/top/history.js';
import { press, type ScreenState } from '../../packages/cli/src/top/keys.js';
import { type Frame, frameOf, type Shown, type Size } from '../../packages/cli/src/top/layout.js';
import { sorted, sortKeys } from '../../packages/cli/src/top/sort.js';
import { sparkline } from '../../packages/cli/src/top/sparkline.js';

function row(name: string, over: Partial<ServerRow> = {}): ServerRow {
  return {
    name,
    state: 'ready',
    generation: 1,
    transport: 'stdio',
    pid: 4_711,
    tools: 3,
    quarantinedTools: [],
    spawns: 1,
    restarts: 0,
    since: 0,
    logFile: '/tmp/log',
    warnings: [],
    skippedLines: 0,
    receivedBytes: 0,
    sentBytes: 0,
    rssBytes: 50_000_000,
    stats: { calls: 0, inFlight: 0, queued: 0, outcomes: {}, latency: undefined },
    ...over,
  };
}

function stats(calls: number, ms: number, errors = 0): ServerRow['stats'] {
  return {
    calls,
    inFlight: 1,
    queued: 2,
    outcomes: { ok: calls - errors, ...(errors > 0 ? { timeout: errors } : {}) },
    latency: { p50: ms, p95: ms, p99: ms, mean: ms, count: calls },
  };
}

const initial: ScreenState = { selected: undefined, sort: 'name', pane: 'detail' };

function shown(rows: readonly ServerRow[], over: Partial<Shown> = {}): Shown {
  const report: StatusReport = {
    health: { name: 'r', pid: 1, protocol: 1, startedAt: '', uptimeMs: 61_000, ready: 1, total: rows.length },
    servers: [...rows],
    problems: [],
  };
  return { report, rows, state: initial, latency: () => [1, 2, 3], logs: undefined, message: '', ...over };
}

const lines = ({ title, head, rows, pane, foot }: Frame): string[] => [
  title,
  head,
  ...rows.map(({ before, state, after }) => before + state + after),
  ...pane,
  foot,
];

describe('text in columns', () => {
  it('is cut by what a terminal shows, not by its characters', () => {
    expect(widthOf('日本語')).toBe(6);
    expect(cut('日本語のサーバ', 7)).toBe('日本語…');
    expect(fit('日本', 6)).toBe('日本  ');
    expect(fit('日本', 3)).toBe('日…');
    expect(fit('12', 4, 'right')).toBe('  12');
    expect(fit('👩‍👩‍👧', 4)).toBe('👩‍👩‍👧  ');
  });

  it('takes exactly its width, whatever it holds', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 40 }), (text, width) => {
        const clean = text.replace(/\p{C}/gu, '');
        expect(widthOf(fit(clean, width))).toBe(width);
      }),
    );
  });

  it('is broken at blanks, and inside a word only when there is no other way', () => {
    expect(wrapped('one two three four', 8, 3)).toEqual(['one two', 'three', 'four']);
    expect(wrapped('abcdefghij', 4, 2)).toEqual(['abcd', 'efg…']);
    expect(wrapped('日本語日本語', 4, 3)).toEqual(['日本', '語日', '本語']);
    expect(wrapped('   ', 4, 3)).toEqual([]);
  });
});

describe('a sparkline', () => {
  it('reaches from nothing to the largest figure, the latest on the right', () => {
    expect(sparkline([0, 1, 2, 4, 8], 5)).toBe('▁▁▂▄█');
    expect(sparkline([8, 1], 1)).toBe('█');
    expect(sparkline([5], 4)).toBe('   █');
  });

  it('has a blank where there was no call, and is flat when nothing took time', () => {
    expect(sparkline([1, undefined, 1], 3)).toBe('█ █');
    expect(sparkline([0, 0], 2)).toBe('▁▁');
    expect(sparkline([undefined, undefined], 3)).toBe('   ');
    expect(sparkline([], 2)).toBe('  ');
    expect(sparkline([1], 0)).toBe('');
  });
});

describe('latency lately', () => {
  it('is that of the calls between two looks', () => {
    const history = new LatencyHistory();
    history.add([row('a', { stats: stats(10, 10) })]);
    history.add([row('a', { stats: { ...stats(20, 10), latency: { ...latency(15), count: 20 } } })]);
    history.add([row('a', { stats: { ...stats(20, 10), latency: { ...latency(15), count: 20 } } })]);
    expect(history.of('a')).toEqual([20, undefined]);
    expect(history.of('b')).toEqual([]);
  });

  it('is forgotten with its server, and a server that counts anew is no figure below zero', () => {
    const history = new LatencyHistory();
    history.add([row('a', { stats: stats(10, 10) }), row('b')]);
    history.add([row('b')]);
    expect(history.of('a')).toEqual([]);
    history.add([row('a', { stats: stats(10, 10) })]);
    history.add([row('a', { stats: stats(3, 2) })]);
    expect(history.of('a')).toEqual([undefined]);
  });
});

function latency(ms: number) {
  return { p50: ms, p95: ms, p99: ms, mean: ms };
}

describe('the order of servers', () => {
  const rows = [
    row('b', { stats: stats(5, 3, 1) }),
    row('a', { state: 'quarantined', restarts: 7 }),
    row('c', { stats: stats(9, 1), rssBytes: 90_000_000 }),
  ];
  const names = (key: (typeof sortKeys)[number]) => sorted(rows, key).map(({ name }) => name);

  it.each([
    ['name', 'abc'],
    ['state', 'abc'],
    ['calls', 'cba'],
    ['errors', 'bac'],
    ['p99', 'bca'],
    ['restarts', 'abc'],
    ['memory', 'cab'],
  ] as const)('by %s is %s', (key, order) => {
    expect(names(key).join('')).toBe(order);
  });

  it('comes back to the names after every key', () => {
    let state = initial;
    const seen = sortKeys.map(() => {
      state = press(state, 's', rows).state;
      return state.sort;
    });
    expect(seen.at(-1)).toBe('name');
    expect(new Set(seen)).toEqual(new Set(sortKeys));
  });
});

describe('keys', () => {
  const rows = [row('a'), row('b'), row('c', { state: 'disabled' })];

  it('move the choice, which stays inside and with its server', () => {
    let { state } = press(initial, 'down', rows);
    expect(state.selected).toBe('b');
    state = press(press(state, 'end', rows).state, 'down', rows).state;
    expect(state.selected).toBe('c');
    state = press(press(state, 'home', rows).state, 'k', rows).state;
    expect(state.selected).toBe('a');
    expect(press(initial, 's', rows).state.selected).toBe('a');
  });

  it('command the chosen server: restart, disable, and enable when it is disabled', () => {
    expect(press(initial, 'r', rows).wish).toEqual({ is: 'command', server: 'a', command: 'restart' });
    expect(press(initial, 'd', rows).wish).toEqual({ is: 'command', server: 'a', command: 'disable' });
    const last = { ...initial, selected: 'c' };
    expect(press(last, 'd', rows).wish).toEqual({ is: 'command', server: 'c', command: 'enable' });
    expect(press(initial, 'r', []).wish).toBeUndefined();
  });

  it('open and close what stands below the table, and leave', () => {
    const open = press(initial, 'l', rows).state;
    expect(open.pane).toBe('logs');
    expect(press(open, 'l', rows).state.pane).toBe('detail');
    expect(press(open, '?', rows).state.pane).toBe('help');
    expect(press(open, 'escape', rows).state.pane).toBe('detail');
    expect(press(initial, 'q', rows).wish).toEqual({ is: 'quit' });
    expect(press(initial, 'ctrl-c', rows).wish).toEqual({ is: 'interrupt' });
    expect(press(initial, 'x', rows)).toEqual({ state: initial });
  });
});

describe('the screen', () => {
  const message = `cannot start: ${'the command was not found in any directory of the path '.repeat(6)}`;
  const many = [
    row('files', { stats: stats(1_234_567, 0.42) }),
    row('a-server-with-a-name-that-is-very-long-and-then-some-more'),
    row('日本語のとても長いサーバの名前です'),
    row('broken', { state: 'quarantined', reason: { kind: 'spawn', message }, restarts: 12 }),
    row('approve', { state: 'needs-approval' }),
  ];

  it.each([
    { columns: 80, rows: 24 },
    { columns: 120, rows: 30 },
    { columns: 200, rows: 50 },
    { columns: 20, rows: 6 },
  ])('at $columns × $rows fills its lines and goes over no edge', (size: Size) => {
    for (const pane of ['detail', 'logs', 'help'] as const) {
      const logs = Array.from({ length: 80 }, (_, index) => `line ${index} ${'x'.repeat(index * 3)}`);
      const text = lines(frameOf(shown(many, { state: { ...initial, pane }, logs }), size));
      expect(text.length).toBe(size.rows - 1);
      for (const line of text) expect(widthOf(line)).toBeLessThanOrEqual(size.columns);
    }
  });

  it('has the figures under their heads, at 80 columns without what is worth less', () => {
    const [, narrow = '', files = ''] = lines(frameOf(shown(many), { columns: 80, rows: 24 }));
    expect(narrow).toMatch(/^ {2}server +state +calls +errors +p50 ms +p99 ms +latency/);
    expect(files).toMatch(/^> files +ready +1\.2M +0 +0\.42 +0\.42/);
    expect(narrow.indexOf('calls') + 'calls'.length).toBe(files.indexOf('1.2M') + '1.2M'.length);
    const [, wide = ''] = lines(frameOf(shown(many), { columns: 180, rows: 24 }));
    for (const head of ['flight', 'queued', 'restarts', 'memory', 'tools', 'last error'])
      expect(wide).toContain(head);
  });

  it('moves no column when figures and states change', () => {
    const before = frameOf(shown(many), { columns: 120, rows: 24 });
    const after = many.map((one) => row(one.name, { state: 'reconnecting', stats: stats(99_999, 123.4, 3) }));
    expect(frameOf(shown(after), { columns: 120, rows: 24 }).head).toBe(before.head);
  });

  it('tells the whole reason of the chosen server over lines of its own', () => {
    const state = { ...initial, selected: 'broken' };
    const { pane } = frameOf(shown(many, { state }), { columns: 100, rows: 24 });
    expect(pane[1]).toContain('broken: process 4711');
    expect(pane[2]).toMatch(/^cannot start: the command was not found/);
    expect(pane[3]).toMatch(/…$/);
  });

  it('shows the part of a long list in which the chosen server is', () => {
    const rows = Array.from({ length: 40 }, (_, index) => row(`s${String(index).padStart(2, '0')}`));
    const frame = frameOf(shown(rows, { state: { ...initial, selected: 's30' } }), { columns: 80, rows: 20 });
    expect(frame.rows.find(({ selected }) => selected)?.before).toContain('s30');
    expect(frame.title).toMatch(/\d+-\d+ of 40/);
  });

  it('keeps the blanks in front of a line of a log', () => {
    const state: ScreenState = { ...initial, pane: 'logs' };
    const { pane } = frameOf(shown([row('a')], { state, logs: ['Traceback:', '\t  File "x"'] }), {
      columns: 80,
      rows: 24,
    });
    expect(pane.slice(1, 4)).toEqual(['stderr of a:', 'Traceback:', '      File "x"']);
  });

  it('says so when there is no server, and nothing of a server can move the cursor', () => {
    expect(lines(frameOf(shown([]), { columns: 80, rows: 24 })).join('\n')).toContain('(no servers)');
    const evil = [row('a\u001b[2Jb', { state: 'lost', reason: { kind: 'x', message: 'c\u001b[31md' } })];
    for (const pane of ['detail', 'logs'] as const) {
      const view = shown(evil, { state: { ...initial, pane }, logs: ['\u001b[H'] });
      expect(lines(frameOf(view, { columns: 180, rows: 24 })).join('\n')).not.toContain('\u001b');
    }
  });
});

describe('a status that is shown again and again', () => {
  const widths = new Map<string, number>();
  const text = (rows: ServerRow[], width: number, kept = widths) =>
    statusTable(shown(rows).report, { width, tools: false, widths: kept }).trimEnd().split('\n');
  const message = 'it broke for a reason that takes a whole paragraph to explain, '.repeat(5);

  it('keeps its columns where they are, whatever comes and goes', () => {
    const calm = [row('a'), row('b')];
    const worse = [
      row('a', { state: 'lost', reason: { kind: 'x', message } }),
      row('b', { stats: stats(123_456, 12.3), restarts: 4 }),
    ];
    text(worse, 120);
    const [, before] = text(calm, 120);
    const [, during] = text(worse, 120);
    const [, after] = text(calm, 120);
    expect([during, after]).toEqual([before, before]);
  });

  it.each([60, 80, 120, 200])(
    'goes over no edge of %i columns, and loses no figure to a long name',
    (width) => {
      const rows = [
        row('a-name-of-a-server-that-goes-on-and-on-and-on-and-on', {
          state: 'quarantined',
          reason: { kind: 'x', message },
        }),
        row('日本語のとても長いサーバの名前です', { warnings: ['first', 'second', message] }),
      ];
      const lines = text(rows, width, new Map());
      for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(width);
      if (width >= 80) expect(lines[1]).toContain('restarts');
      expect(lines.filter((line) => line.startsWith('warning'))).toHaveLength(1);
      expect(lines.at(-1)).toContain('the last of 3');
    },
  );

  it('shown once tells everything whole', () => {
    const rows = [row('a', { reason: { kind: 'x', message }, warnings: ['first', 'second'] })];
    const once = statusTable(shown(rows).report, { width: 80, tools: false });
    expect(once).toContain(message.trim());
    expect(once).toContain('first');
    expect(once).toContain('second');
  });
});
