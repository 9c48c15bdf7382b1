/** The status of a resident for people: one row a server, then what else there is to know, and whether all is well. Pure. */
import type { ServerRow, StatusReport } from '@bulkhead/runtime/control/client';
import { exitCode } from '../exit-codes.js';
import { plain } from '../output.js';
import { table } from '../table.js';
import { age, mebibytes, milliseconds } from './figures.js';

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
  { head: 'errors', cell: ({ stats }) => String(errors(stats)), right: true },
  { head: 'p50/p99 ms', cell: ({ stats }) => latencies(stats), right: true },
  { head: 'restarts', cell: ({ restarts }) => String(restarts), right: true },
  { head: 'pid', cell: ({ pid }) => (pid === undefined ? '-' : String(pid)), right: true },
  { head: 'rss', cell: ({ rssBytes }) => mebibytes(rssBytes), right: true },
  { head: ERROR, cell: ({ reason }) => (reason === undefined ? '' : plain(reason.message)) },
];
/** What a narrow terminal does without, in this order; errors are told below the table then. */
const DISPENSABLE = [ERROR, 'scope', 'transport', 'era', 'queued', 'rss', 'pid', 'in flight'];

export function statusTable(
  report: StatusReport,
  options: { width: number | undefined; tools: boolean },
): string {
  const { health, servers, problems, reloadFailure } = report;
  const title = `resident ${health.name}  process ${health.pid}  up ${age(health.uptimeMs)}  ${health.ready}/${health.total} ready${
    health.project === undefined ? '' : `  ${plain(health.project)}`
  }\n`;
  const fitting = columnsFor(servers, options.width);
  const body = servers.length === 0 ? '(no servers)\n' : drawn(fitting, servers, options.width);
  const told = fitting.some(({ head }) => head === ERROR);
  const extra = [
    ...(told
      ? []
      : servers.flatMap(({ name, reason }) =>
          reason === undefined ? [] : [`${plain(name)}: ${plain(reason.message)}`],
        )),
    ...(options.tools ? servers.flatMap(toolLines) : []),
    ...servers.flatMap(({ name, warnings }) =>
      warnings.map((text) => `warning: server "${plain(name)}": ${plain(text)}`),
    ),
    ...problems.map((problem) => `config: ${plain(problem)}`),
    ...(reloadFailure === undefined
      ? []
      : [`the changed configuration is not taken: ${plain(reloadFailure)}`]),
  ];
  return `${title}${body}${extra.map((line) => `${line}\n`).join('')}`;
}

/** All columns when they fit, else as many as do. */
function columnsFor(rows: readonly ServerRow[], width: number | undefined): readonly Column[] {
  let left = columns;
  if (width === undefined) return left;
  for (const head of DISPENSABLE) {
    const widest = Math.max(
      ...drawn(left, rows, undefined)
        .split('\n')
        .map((line) => line.length),
    );
    if (widest <= width) break;
    left = left.filter((column) => column.head !== head);
  }
  return left;
}

function drawn(some: readonly Column[], rows: readonly ServerRow[], width: number | undefined): string {
  return table(
    some.map(({ head }) => head),
    rows.map((row) => some.map(({ cell }) => cell(row))),
    { right: some.flatMap(({ right }, index) => (right === true ? [index] : [])), width },
  );
}

function errors({ outcomes }: ServerRow['stats']): number {
  return Object.entries(outcomes).reduce(
    (sum, [outcome, count]) => (outcome === 'ok' ? sum : sum + count),
    0,
  );
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
