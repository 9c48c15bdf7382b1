import { describe, expect, it } from 'vitest';
import { type ServerState, serverStates } from '../../packages/workers/src/protocol.js';
import {
  canMove,
  mayBecomeReady,
  resting,
  stateMeaning,
  transitions,
} from '../../packages/workers/src/supervisor/transitions.js';

function follows(...path: ServerState[]): boolean {
  return path.every((state, index) => {
    const before = path[index - 1];
    return before === undefined || canMove(before, state);
  });
}

/** Every state that can come after `from`, in any number of moves. */
function reachable(from: ServerState): Set<ServerState> {
  const seen = new Set<ServerState>([from]);
  for (const state of seen) for (const next of transitions[state]) seen.add(next);
  return seen;
}

describe('lives that happen', () => {
  const lives: [string, ServerState[]][] = [
    ['a server starts and is stopped', ['stopped', 'starting', 'connecting', 'ready', 'stopping', 'stopped']],
    ['a server is drained before it stops', ['ready', 'draining', 'stopping', 'stopped']],
    ['a restart by hand goes from stopping to starting', ['ready', 'stopping', 'starting', 'connecting']],
    ['a dead thread is killed and comes back after a wait', ['ready', 'killing', 'backoff', 'starting']],
    [
      'a lost process is replaced in the same thread',
      ['ready', 'backoff', 'reconnecting', 'connecting', 'ready'],
    ],
    ['a lost session is reopened at once', ['ready', 'reconnecting', 'ready']],
    ['a thread that cannot be ended is left behind', ['ready', 'killing', 'lost', 'backoff', 'starting']],
    ['a stop survives a thread that cannot be ended', ['ready', 'stopping', 'lost', 'stopped']],
    ['a missing command goes to quarantine', ['starting', 'killing', 'quarantined', 'starting']],
    [
      'a server is disabled while it waits to be restarted, and enabled later',
      ['backoff', 'disabled', 'starting'],
    ],
    ['an approved server starts', ['stopped', 'needs-approval', 'starting']],
    ['a drain that hangs ends in a kill', ['draining', 'killing', 'stopped']],
  ];
  it.each(lives)('%s', (_, life) => {
    expect(follows(...life)).toBe(true);
  });
});

describe('lives that must not happen', () => {
  const jumps: [ServerState, ServerState][] = [
    ['stopped', 'ready'],
    ['starting', 'ready'],
    ['backoff', 'ready'],
    ['quarantined', 'ready'],
    ['killing', 'ready'],
    ['killing', 'starting'],
    ['stopped', 'stopping'],
    ['disabled', 'connecting'],
    ['draining', 'ready'],
    ['quarantined', 'backoff'],
    ['stopped', 'quarantined'],
  ];
  it.each(jumps)('%s is never followed by %s', (from, to) => {
    expect(canMove(from, to)).toBe(false);
  });

  it('staying is not a move', () => {
    for (const state of serverStates) expect(canMove(state, state)).toBe(false);
  });

  it('only connecting and reconnecting lead to ready', () => {
    const before = serverStates.filter((state) => canMove(state, 'ready'));
    expect(before).toEqual(['connecting', 'reconnecting']);
  });
});

describe('the table as a whole', () => {
  it('every state can be reached from stopped', () => {
    expect([...reachable('stopped')].sort()).toEqual([...serverStates].sort());
  });

  it('from every state there is a way to ready and a way to stopped', () => {
    for (const state of serverStates) {
      expect(reachable(state), state).toContain('ready');
      expect(reachable(state), state).toContain('stopped');
    }
  });

  it('every state is explained in one sentence', () => {
    for (const state of serverStates) expect(stateMeaning[state]).toMatch(/^[A-Z].*\.$/);
  });
});

describe('waiting for a server', () => {
  it('a resting server is not waited for', () => {
    for (const state of serverStates.filter(resting)) expect(mayBecomeReady(state), state).toBe(false);
  });

  it('these states rest', () => {
    expect(serverStates.filter(resting).sort()).toEqual(
      ['disabled', 'needs-approval', 'needs-auth', 'quarantined', 'stopped'].sort(),
    );
  });

  it('a server that is draining is neither at rest nor on its way up', () => {
    const neither = serverStates.filter((state) => !resting(state) && !mayBecomeReady(state));
    expect(neither).toEqual(['draining']);
  });
});
