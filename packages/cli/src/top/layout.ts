/** The screen of `top` as lines of exactly the terminal's width, so that nothing moves unless a figure does. Pure. */
import type { ServerRow, StatusReport } from '@bulkhead/runtime/control/client';
import { harmless } from '../foreign-text.js';
import { plain } from '../output.js';
import { age, errorsOf, mebibytes, milliseconds } from '../resident/figures.js';
import { cut, fit, widthOf, wrapped } from './cells.js';
import { helpLines, type ScreenState, selectedIndex } from './keys.js';
import { sparkline } from './sparkline.js';

export interface Size {
  columns: number;
  rows: number;
}

export type Tone = 'good' | 'busy' | 'bad' | 'quiet';

/** A row of the table; `state` is the part that has a colour. */
export interface FrameRow {
  before: string;
  state: string;
  after: string;
  tone: Tone;
  selected: boolean;
}

export interface Frame {
  title: string;
  head: string;
  rows: FrameRow[];
  /** Below the table; as many lines as the rest of the screen has. */
  pane: string[];
  foot: string;
}

export interface Shown {
  report: StatusReport;
  /** Of the report, in the order of the screen. */
  rows: readonly ServerRow[];
  state: ScreenState;
  latency: (name: string) => readonly (number | undefined)[];
  /** The latest lines of the selected server's stderr; undefined while there is nothing yet. */
  logs: readonly string[] | undefined;
  /** What became of the last command, and how long ago the resident answered when that is long. */
  message: string;
}

interface Column {
  head: string;
  width: number;
  align: 'left' | 'right';
  cell: (row: ServerRow) => string;
  /** The lowest goes first when the terminal is narrow; none: stays. */
  worth?: number;
}

const GAP = '  ';
const LAST_ERROR = 'last error';
/** Less of an error is no help; the line below the table has it whole. */
const LEAST_ERROR_WIDTH = 24;
const DETAIL_LINES = 3;
const KEYS = 'q quit  s sort  r restart  d disable/enable  l logs  ? help';

function columnsOf(shown: Shown, { columns }: Size): Column[] {
  const longest = Math.max(6, ...shown.rows.map(({ name }) => widthOf(plain(name))));
  const right = { align: 'right' } as const;
  const figures: Column[] = [
    {
      head: 'server',
      width: Math.min(longest, columns >= 110 ? 28 : 16, Math.max(2, columns - 18)),
      align: 'left',
      cell: ({ name }) => plain(name),
    },
    { head: 'state', width: 14, align: 'left', cell: ({ state }) => state },
    { head: 'tools', width: 5, ...right, worth: 1, cell: ({ tools }) => String(tools) },
    { head: 'flight', width: 6, ...right, worth: 4, cell: ({ stats }) => String(stats.inFlight) },
    { head: 'queued', width: 6, ...right, worth: 3, cell: ({ stats }) => String(stats.queued) },
    { head: 'calls', width: 8, ...right, worth: 10, cell: ({ stats }) => short(stats.calls) },
    { head: 'errors', width: 6, ...right, worth: 9, cell: ({ stats }) => short(errorsOf(stats)) },
    { head: 'p50 ms', width: 6, ...right, worth: 7, cell: ({ stats }) => milliseconds(stats.latency?.p50) },
    { head: 'p99 ms', width: 6, ...right, worth: 8, cell: ({ stats }) => milliseconds(stats.latency?.p99) },
    {
      head: 'latency',
      width: columns >= 110 ? 16 : 10,
      ...right,
      worth: 6,
      cell: ({ name }) => sparkline(shown.latency(name), columns >= 110 ? 16 : 10),
    },
    { head: 'restarts', width: 8, ...right, worth: 5, cell: ({ restarts }) => String(restarts) },
    { head: 'memory', width: 9, ...right, worth: 2, cell: ({ rssBytes }) => mebibytes(rssBytes) },
  ];
  let left = figures;
  while (total(left) > columns && left.some(({ worth }) => worth !== undefined)) {
    const least = Math.min(...left.map(({ worth = Number.POSITIVE_INFINITY }) => worth));
    left = left.filter(({ worth }) => worth !== least);
  }
  const rest = columns - total(left) - GAP.length;
  if (rest >= LEAST_ERROR_WIDTH)
    left = [...left, { head: LAST_ERROR, width: rest, align: 'left', cell: reasonOf }];
  return left;
}

/** With the marker of the selected row. */
function total(columns: readonly Column[]): number {
  return columns.reduce((sum, { width }) => sum + width, 0) + GAP.length * columns.length;
}

export function frameOf(shown: Shown, size: Size): Frame {
  const { report, rows, state } = shown;
  const { columns } = size;
  const table = columnsOf(shown, size);
  const index = selectedIndex(state, rows);
  // Title, head and foot; the last line of a terminal stays free.
  const room = Math.max(2, size.rows - 4);
  const paneRows = Math.min(room - 1, paneHeight(shown, room));
  const tableRows = Math.max(1, Math.min(rows.length, room - paneRows));
  const first = Math.max(0, Math.min(index - Math.floor(tableRows / 2), rows.length - tableRows));
  const visible = rows.slice(first, first + tableRows).map((row, at) => {
    const [name = '', word = '', ...figures] = table.map(({ cell, width, align }) =>
      fit(cell(row), width, align),
    );
    const selected = first + at === index;
    return {
      before: `${selected ? '> ' : '  '}${name}${GAP}`,
      state: cut(word, Math.max(0, columns - 4 - widthOf(name))),
      after: figures.map((text) => GAP + text).join(''),
      tone: toneOf(row),
      selected,
    };
  });
  const pane = paneLines(shown, rows[index], columns, paneRows);
  const free = room - visible.length - pane.length;
  return {
    title: titleOf(shown, { first, shown: visible.length }, columns),
    head: cut(`  ${table.map(({ head, width, align }) => fit(head, width, align)).join(GAP)}`, columns),
    rows: visible,
    pane: [...pane, ...Array.from({ length: Math.max(0, free) }, () => '')],
    foot: cut(shown.message === '' ? KEYS : `${shown.message}`, columns),
  };

  function titleOf(
    { state: { sort } }: Shown,
    window: { first: number; shown: number },
    width: number,
  ): string {
    const { name, uptimeMs, ready, total: servers } = report.health;
    const part =
      window.shown < rows.length
        ? `  ${window.first + 1}-${window.first + window.shown} of ${rows.length}`
        : '';
    return cut(`${name}  up ${age(uptimeMs)}  ${ready}/${servers} ready  by ${sort}${part}`, width);
  }
}

function paneHeight({ state, rows }: Shown, room: number): number {
  switch (state.pane) {
    case 'logs':
      return Math.max(4, room - rows.length, Math.floor(room / 2));
    case 'help':
      return helpLines.length + 1;
    case 'detail':
      return DETAIL_LINES + 1;
  }
}

function paneLines(shown: Shown, row: ServerRow | undefined, columns: number, height: number): string[] {
  if (height <= 0) return [];
  if (row === undefined) return ['', cut('(no servers)', columns)].slice(0, height);
  return ['', ...paneText(shown, row, columns, height - 1)].slice(0, height);
}

function paneText({ state, logs, report }: Shown, row: ServerRow, columns: number, height: number): string[] {
  const name = plain(row.name);
  switch (state.pane) {
    case 'help':
      return helpLines.map((line) => cut(line, columns));
    case 'logs': {
      if (height <= 1) return [cut(`stderr of ${name}`, columns)].slice(0, height);
      const lines = (logs ?? []).slice(-(height - 1)).map((line) => cut(asWritten(line), columns));
      const said = logs === undefined ? ['(reading)'] : lines.length === 0 ? ['(nothing)'] : lines;
      return [cut(`stderr of ${name}:`, columns), ...said];
    }
    case 'detail': {
      const { reloadFailure } = report;
      if (reloadFailure !== undefined)
        return wrapped(`the changed configuration is not taken: ${plain(reloadFailure)}`, columns, height);
      const { pid, scope = '-', transport, era = '-', protocolVersion, reason } = row;
      const facts = [
        pid === undefined ? '' : `process ${pid}`,
        transport,
        `scope ${scope}`,
        protocolVersion === undefined ? '' : `${era} ${protocolVersion}`,
      ].filter((text) => text !== '');
      const why = reason === undefined ? [] : wrapped(plain(reason.message), columns, height - 1);
      return [cut(`${name}: ${facts.join(', ')}`, columns), ...why];
    }
  }
}

/** Blanks in front say what belongs together. */
function asWritten(line: string): string {
  return harmless(line).replaceAll('\t', '    ').replaceAll('\n', ' ');
}

function reasonOf({ reason, state }: ServerRow): string {
  return reason === undefined || state === 'ready' ? '' : plain(reason.message);
}

function toneOf({ state }: ServerRow): Tone {
  switch (state) {
    case 'ready':
      return 'good';
    case 'backoff':
    case 'quarantined':
    case 'lost':
      return 'bad';
    case 'stopped':
    case 'disabled':
      return 'quiet';
    case 'starting':
    case 'connecting':
    case 'reconnecting':
    case 'draining':
    case 'stopping':
    case 'killing':
    case 'needs-approval':
    case 'needs-auth':
      return 'busy';
  }
}

/** At most six characters up to a trillion. */
function short(count: number): string {
  if (count < 1_000_000) return String(count);
  if (count < 1_000_000_000) return `${(count / 1_000_000).toFixed(1)}M`;
  return `${(count / 1_000_000_000).toFixed(1)}G`;
}
