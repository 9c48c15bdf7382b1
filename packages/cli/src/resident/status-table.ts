/** The status of a resident for people: one row a server, then what else there is to know, and whether all is well. Pure. */
import type { ServerRow, StatusReport } from '@bulkhead/runtime/control/client';
import { exitCode } from '../exit-codes.js';
import { plain } from '../output.js';
import { cut, fit, widthOf } from '../top/cells.js';
import { age, errorsOf, mebibytes, milliseconds } from './figures.js';

interface Column {
  head: string;
  cell: (row: ServerRow) => string;
  right?: boolean;
}

const ERROR = 'last error';
const columns: readonly Column[] = [
  { head: 'server', cell: ({ name }) => plain(name) },
  { head: 'state', cell: ({ state }) => state },
  { head: 'scope', cell: ({ scope }) => scope ?? '-' },
  { head: 'transport', cell: ({ transport }) => transport },
  { head: 'era', cell: ({ era }) => era ?? '-' },
  { head: 'tools', cell: ({ tools }) => String(tools), right: true },
  { head: 'in flight', cell: ({ stats }) => String(stats.inFlight), right: true },
  { head: 'queued', cell: ({ stats }) => String(stats.queued), right: true },
  { head: 'calls', cell: ({ stats }) => String(stats.calls), right: true },
  { head: 'errors', cell: ({ stats }) => String(errorsOf(stats)), right: true },
  { head: 'p50/p99 ms', cell: ({ stats }) => latencies(stats), right: true },
  { head: 'restarts', cell: ({ restarts }) => String(restarts), right: true },
  { head: 'pid', cell: ({ pid }) => (pid === undefined ? '-' : String(pid)), right: true },
  { head: 'rss', cell: ({ rssBytes }) => mebibytes(rssBytes), right: true },
  { head: ERROR, cell: ({ reason }) => (reason === undefined ? '' : plain(reason.message)) },
];
/** What a narrow terminal does without, in this order; errors are told below the table then. */
const DISPENSABLE = [ERROR, 'scope', 'transport', 'era', 'queued', 'rss', 'pid', 'in flight'];
const GAP = '  ';
/** On a terminal a longer name is cut: the figures are worth more. */
const LONGEST_NAME = 36;
const LEAST_NAME = 8;
/** States come and go; the widest word of the usual ones. */
const STATE_WIDTH = 'reconnecting'.length;

/** Widths of the columns as they were shown, so that one status after the other stands still: they only grow. */
export type Widths = Map<string, number>;

export interface TableOptions {
  /** Columns of the terminal; undefined: no terminal, nothing is cut. */
  width: number | undefined;
  tools: boolean;
  /** Of the status before, when it is shown again and again; every line is cut to `width` then. */
  widths?: Widths;
}

export function statusTable(report: StatusReport, options: TableOptions): string {
  const { health, servers, problems, reloadFailure } = report;
  const title = `resident ${health.name}  process ${health.pid}  up ${age(health.uptimeMs)}  ${health.ready}/${health.total} ready${
    health.project === undefined ? '' : `  ${plain(health.project)}`
  }`;
  const widths = measured(servers, options);
  const fitting = columnsFor(widths, options);
  if (options.width !== undefined) shortenNames(fitting, widths, options.width);
  const told = fitting.some(({ head }) => head === ERROR);
  const lines = [
    title,
    ...(servers.length === 0 ? ['(no servers)'] : drawn(fitting, servers, widths)),
    ...(told
      ? []
      : servers.flatMap(({ name, reason }) =>
          reason === undefined ? [] : [`${plain(name)}: ${plain(reason.message)}`],
        )),
    ...(options.tools ? servers.flatMap(toolLines) : []),
    ...servers.flatMap((row) => warningLines(row, options.widths !== undefined)),
    ...problems.map((problem) => `config: ${plain(problem)}`),
    ...(reloadFailure === undefined
      ? []
      : [`the changed configuration is not taken: ${plain(reloadFailure)}`]),
  ];
  const { width } = options;
  const whole = options.widths === undefined || width === undefined;
  return lines.map((line) => `${whole ? line : cut(line, width)}\n`).join('');
}

function measured(rows: readonly ServerRow[], { width, widths = new Map() }: TableOptions): Widths {
  for (const { head, cell } of columns) {
    const widest = Math.max(widthOf(head), ...rows.map((row) => widthOf(cell(row))));
    const most = head === 'server' && width !== undefined ? LONGEST_NAME : Number.POSITIVE_INFINITY;
    const least = head === 'state' && width !== undefined ? STATE_WIDTH : 0;
    widths.set(head, Math.max(widths.get(head) ?? 0, least, Math.min(widest, most)));
  }
  return widths;
}

/** All columns when they fit, else as many as do. Errors come and go, so a table that stands still tells them below. */
function columnsFor(measures: Widths, { width, widths }: TableOptions): readonly Column[] {
  let left = widths === undefined ? columns : columns.filter(({ head }) => head !== ERROR);
  if (width === undefined) return left;
  for (const dispensable of DISPENSABLE) {
    if (totalOf(left, measures) <= width) break;
    left = left.filter(({ head }) => head !== dispensable);
  }
  return left;
}

/** With every column gone that can go, names make way; they are cut, and the figures are not. */
function shortenNames(fitting: readonly Column[], widths: Widths, width: number): void {
  const over = totalOf(fitting, widths) - width;
  const names = widths.get('server') ?? 0;
  if (over > 0) widths.set('server', Math.max(LEAST_NAME, names - over));
}

function totalOf(some: readonly Column[], widths: Widths): number {
  return some.reduce((sum, { head }) => sum + (widths.get(head) ?? 0) + GAP.length, -GAP.length);
}

/** What stands still has room for the last one only. */
function warningLines({ name, warnings }: ServerRow, lastOnly: boolean): string[] {
  const lines = warnings.map((text) => `warning: server "${plain(name)}": ${plain(text)}`);
  const last = lines.at(-1);
  if (!lastOnly || last === undefined) return lines;
  return [lines.length === 1 ? last : last.replace('warning:', `warning (the last of ${lines.length}):`)];
}

function drawn(some: readonly Column[], rows: readonly ServerRow[], widths: Widths): string[] {
  const line = (text: (column: Column) => string) =>
    some
      .map((column) =>
        fit(text(column), widths.get(column.head) ?? 0, column.right === true ? 'right' : 'left'),
      )
      .join(GAP)
      .trimEnd();
  return [line(({ head }) => head), ...rows.map((row) => line(({ cell }) => cell(row)))];
}

function latencies({ latency }: ServerRow['stats']): string {
  return latency === undefined ? '-' : `${milliseconds(latency.p50)}/${milliseconds(latency.p99)}`;
}

function toolLines({ name, toolList = [], quarantinedTools }: ServerRow): string[] {
  return [
    ...toolList.map((tool) => `${plain(name)}.${plain(tool.name)}${tool.readOnly ? '  read-only' : ''}`),
    ...quarantinedTools.map((tool) => `${plain(name)}.${plain(tool.name)}  left out: ${plain(tool.reason)}`),
  ];
}

/** 0 only when every server that should run does, and the configuration as it stands is the one that runs. */
export function statusCode({ servers, reloadFailure }: StatusReport): number {
  const bad = servers.filter((row) => !isWell(row));
  if (bad.length === 0) return reloadFailure === undefined ? exitCode.ok : exitCode.usage;
  const waiting = bad.every(({ state }) => state === 'needs-approval' || state === 'needs-auth');
  return waiting ? exitCode.approval : exitCode.unreachable;
}

/** What a person stopped, or what starts when it is needed, is well. */
function isWell({ state, reason, lazy }: ServerRow): boolean {
  if (state === 'ready' || state === 'disabled') return true;
  return state === 'stopped' && (lazy === true || reason === undefined || reason.kind === 'user');
}
