/** What a key does to the screen, and what it wishes of the resident. Pure. */
import type { ServerCommand, ServerRow } from '@bulkhead/runtime/control/client';
import { nextKey, type SortKey } from './sort.js';

export interface ScreenState {
  /** Name of the server that the keys are about; undefined or gone: the first. */
  selected: string | undefined;
  sort: SortKey;
  /** What stands below the table. */
  pane: 'detail' | 'logs' | 'help';
}

export type Wish =
  | { is: 'quit' }
  | { is: 'interrupt' }
  | { is: 'command'; server: string; command: ServerCommand };

/** A key by its name (`up`, `escape` …) or its character. */
export type Key = string;

export const helpLines = [
  'up, down (or k, j), home, end   choose a server',
  's   sort by the next column',
  'r   restart it (forgives one that was given up)',
  'd   disable it; again: enable it',
  'l   what it writes to stderr',
  '?   this help      escape   close what is open',
  'q   leave; the resident and its servers stay',
];

/** @param rows as they stand on the screen. @param page how many of them it shows. */
export function press(
  state: ScreenState,
  key: Key,
  rows: readonly Pick<ServerRow, 'name' | 'state'>[],
  page = 10,
): { state: ScreenState; wish?: Wish } {
  const index = selectedIndex(state, rows);
  const row = rows[index];
  const choose = (to: number) => ({
    state: { ...state, selected: rows[Math.min(rows.length - 1, Math.max(0, to))]?.name },
  });
  const toggle = (pane: ScreenState['pane']) => ({
    state: { ...state, pane: state.pane === pane ? ('detail' as const) : pane },
  });
  const command = (name: ServerCommand) =>
    row === undefined
      ? { state }
      : { state, wish: { is: 'command' as const, server: row.name, command: name } };
  switch (key) {
    case 'up':
    case 'k':
      return choose(index - 1);
    case 'down':
    case 'j':
      return choose(index + 1);
    case 'pageup':
      return choose(index - page);
    case 'pagedown':
      return choose(index + page);
    case 'home':
      return choose(0);
    case 'end':
      return choose(rows.length - 1);
    case 's':
      // The server stays chosen, wherever it goes.
      return { state: { ...state, selected: row?.name, sort: nextKey(state.sort) } };
    case 'r':
      return command('restart');
    case 'd':
      return command(row?.state === 'disabled' ? 'enable' : 'disable');
    case 'l':
      return toggle('logs');
    case '?':
    case 'h':
      return toggle('help');
    case 'escape':
      return { state: { ...state, pane: 'detail' } };
    case 'q':
      return { state, wish: { is: 'quit' } };
    case 'ctrl-c':
      return { state, wish: { is: 'interrupt' } };
    default:
      return { state };
  }
}

export function selectedIndex({ selected }: ScreenState, rows: readonly Pick<ServerRow, 'name'>[]): number {
  return Math.max(
    0,
    rows.findIndex(({ name }) => name === selected),
  );
}
