import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Release, StartGate, type StartPriority } from '../../packages/workers/src/supervisor/gate.js';

/** Starts that note when they were let in. */
class Line {
  readonly entered: string[] = [];
  readonly releases = new Map<string, Release>();
  readonly gate: StartGate;

  constructor(slots: number) {
    this.gate = new StartGate({ slots, holdMs: 250 });
  }

  async join(name: string, priority: StartPriority = 'first', signal?: AbortSignal): Promise<void> {
    this.releases.set(name, await this.gate.enter(priority, signal));
    this.entered.push(name);
  }

  /** Everybody leaves in the order of entry, until nobody is left. */
  async empty(): Promise<string[]> {
    for (let i = 0; ; i++) {
      await settle();
      const name = this.entered[i];
      if (name === undefined) return this.entered;
      this.releases.get(name)?.();
    }
  }
}

/** Lets every promise that can settle now do so. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe('slots', () => {
  it('as many as there are slots start at once, the next when one is released', async () => {
    const line = new Line(2);
    for (const name of ['a', 'b', 'c']) void line.join(name);
    await settle();
    expect(line.entered).toEqual(['a', 'b']);
    expect(line.gate.waiting).toBe(1);
    line.releases.get('b')?.();
    await settle();
    expect(line.entered).toEqual(['a', 'b', 'c']);
    expect(line.gate.taken).toBe(2);
  });

  it('a slot that is released twice is free once', async () => {
    const line = new Line(1);
    for (const name of ['a', 'b', 'c']) void line.join(name);
    await settle();
    line.releases.get('a')?.();
    line.releases.get('a')?.();
    await settle();
    expect(line.entered).toEqual(['a', 'b']);
    expect(line.gate.taken).toBe(1);
  });

  it.each([0, -3, 0.5, Number.NaN])('%d slots count as one', async (slots) => {
    const line = new Line(slots);
    for (const name of ['a', 'b']) void line.join(name);
    await settle();
    expect(line.entered).toEqual(['a']);
  });

  it('there are never more starts than slots, whoever comes and goes', async () => {
    const action = fc.oneof(
      fc.constantFrom('first' as const, 'retry' as const).map((priority) => ({ enter: priority })),
      fc.nat(20).map((index) => ({ release: index })),
      fc.nat(20).map((index) => ({ abort: index })),
    );
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 4 }), fc.array(action), async (slots, actions) => {
        const gate = new StartGate({ slots, holdMs: 0 });
        const held: Release[] = [];
        const aborts: AbortController[] = [];
        let asked = 0;
        let over = 0;
        for (const one of actions) {
          if ('enter' in one) {
            asked++;
            const abort = new AbortController();
            aborts.push(abort);
            gate.enter(one.enter, abort.signal).then(
              (release) => held.push(release),
              () => over++,
            );
          } else if ('release' in one) {
            const [release] = held.splice(one.release % Math.max(1, held.length), 1);
            if (release !== undefined) over++;
            release?.();
          } else aborts[one.abort % Math.max(1, aborts.length)]?.abort();
          await settle();
          expect(held.length).toBe(gate.taken);
          expect(gate.taken).toBeLessThanOrEqual(slots);
          expect(gate.taken + gate.waiting + over).toBe(asked);
          if (gate.waiting > 0) expect(gate.taken).toBe(slots);
        }
      }),
      { numRuns: 50 },
    );
  });
});

describe('order', () => {
  it('is that of arrival within a priority', async () => {
    const line = new Line(1);
    for (const name of ['a', 'b', 'c', 'd']) void line.join(name);
    expect(await line.empty()).toEqual(['a', 'b', 'c', 'd']);
  });

  it('first starts go before retries that came earlier', async () => {
    const line = new Line(1);
    void line.join('running');
    void line.join('retry', 'retry');
    void line.join('first');
    expect(await line.empty()).toEqual(['running', 'first', 'retry']);
  });

  it('every fourth entry is a retry while both wait', async () => {
    const line = new Line(1);
    void line.join('running');
    for (let i = 1; i <= 2; i++) void line.join(`r${i}`, 'retry');
    for (let i = 1; i <= 7; i++) void line.join(`f${i}`);
    expect((await line.empty()).join(' ')).toBe('running f1 f2 f3 r1 f4 f5 f6 r2 f7');
  });

  it('entries before a retry came do not count against the first starts', async () => {
    const line = new Line(1);
    for (let i = 1; i <= 6; i++) void line.join(`f${i}`);
    for (let i = 1; i <= 3; i++) {
      await settle();
      line.releases.get(`f${i}`)?.();
    }
    await settle();
    void line.join('r', 'retry');
    for (let i = 7; i <= 9; i++) void line.join(`f${i}`);
    expect((await line.empty()).join(' ')).toBe('f1 f2 f3 f4 f5 f6 f7 r f8 f9');
  });
});

describe('abort', () => {
  it('a start that gives up leaves the queue with the reason of its signal', async () => {
    const line = new Line(1);
    const abort = new AbortController();
    void line.join('a');
    const waiting = line.join('b', 'first', abort.signal);
    void line.join('c');
    abort.abort(new Error('stopped by hand'));
    await expect(waiting).rejects.toThrow('stopped by hand');
    expect(await line.empty()).toEqual(['a', 'c']);
  });

  it('a start that was aborted before it came is not let in', async () => {
    const line = new Line(1);
    await expect(line.join('a', 'first', AbortSignal.abort())).rejects.toThrow();
    expect(line.gate.taken).toBe(0);
  });

  it('after the slot was given an abort changes nothing: the release does', async () => {
    const line = new Line(1);
    const abort = new AbortController();
    void line.join('a');
    void line.join('b', 'first', abort.signal);
    await settle();
    line.releases.get('a')?.();
    abort.abort();
    await settle();
    expect(line.entered).toEqual(['a', 'b']);
    expect(line.gate.taken).toBe(1);
    line.releases.get('b')?.();
    expect(line.gate.taken).toBe(0);
  });

  it('leaves no listener on the signal, however the wait ended', async () => {
    const line = new Line(1);
    const abort = new AbortController();
    const admitted = new AbortController();
    void line.join('a', 'first', admitted.signal);
    void line.join('b', 'first', admitted.signal);
    const gaveUp = line.join('c', 'retry', abort.signal);
    abort.abort();
    await expect(gaveUp).rejects.toThrow();
    await line.empty();
    expect(getEventListeners(admitted.signal, 'abort')).toEqual([]);
    expect(getEventListeners(abort.signal, 'abort')).toEqual([]);
    expect(line.gate.waiting).toBe(0);
  });
});
