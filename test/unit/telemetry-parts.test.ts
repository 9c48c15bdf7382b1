/** The pure parts of telemetry: which durations are recorded, what `_meta` holds, and what names leave out. */
import { BulkheadError } from '@bulkhead/runtime';
import { createTraceState, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { describe, expect, it } from 'vitest';
import { metaText, withMeta } from '../../packages/runtime/src/request-meta.js';
import { plainUri } from '../../packages/runtime/src/telemetry/attributes.js';
import { errorType } from '../../packages/runtime/src/telemetry/error-type.js';
import { Pace } from '../../packages/runtime/src/telemetry/pace.js';
import { callersContext, traceMembers } from '../../packages/runtime/src/telemetry/trace-context.js';

/** How many of `perSecond` evenly spaced calls are taken in each of `seconds`. */
function taken(pace: Pace, perSecond: number, seconds: number): number[] {
  return Array.from({ length: seconds }, (_, second) => {
    let count = 0;
    for (let i = 0; i < perSecond; i++) if (pace.takes(second * 1_000 + (i * 1_000) / perSecond)) count++;
    return count;
  });
}

describe('the pace of recording', () => {
  it('takes every call while there are few', () => {
    expect(taken(new Pace(100), 100, 5)).toEqual([100, 100, 100, 100, 100]);
  });

  it('takes about as many as it may once there are more, and every call again later', () => {
    const pace = new Pace(100);
    const [first, ...later] = taken(pace, 1_000, 4);
    expect(first).toBeGreaterThan(100);
    expect(first).toBeLessThan(500);
    expect(later).toEqual([100, 100, 100]);
    pace.takes(10_000);
    expect([1, 2, 3].map((i) => pace.takes(12_000 + i))).toEqual([true, true, true]);
  });
});

describe('members of `_meta`', () => {
  it('are JSON, without what the protocol keeps for itself and what JSON does not have', () => {
    const meta = {
      'a"b': 'é\n',
      progressToken: 1,
      'io.modelcontextprotocol/protocolVersion': 'x',
      none: undefined,
      list: [1],
    };
    expect(metaText(meta)).toBe('"a\\"b":"é\\n","list":[1]');
    expect(metaText({ progressToken: 1 })).toBe('');
    expect(metaText(undefined)).toBe('');
  });

  it('join those that a request has already', () => {
    expect(withMeta({ uri: 'a', _meta: { x: 1, y: 1 } }, '"y":2')).toEqual({
      uri: 'a',
      _meta: { x: 1, y: 2 },
    });
    expect(withMeta({ uri: 'a' }, '')).toEqual({ uri: 'a' });
  });
});

describe('trace context', () => {
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const spanId = 'b7ad6b7169203331';

  it('comes back as it went', () => {
    const traceState = createTraceState('a=1,b=2');
    const members = JSON.parse(`{${traceMembers({ traceId, spanId, traceFlags: 1, traceState })}}`);
    expect(members).toEqual({ traceparent: `00-${traceId}-${spanId}-01`, tracestate: 'a=1,b=2' });
    const parent = trace.getSpanContext(callersContext(ROOT_CONTEXT, members));
    expect(parent).toMatchObject({ traceId, spanId, traceFlags: 1, isRemote: true });
    expect(parent?.traceState?.serialize()).toBe('a=1,b=2');
  });

  it('of a later version may hold more; what is not a span of anybody is none', () => {
    const read = (traceparent: unknown) =>
      trace.getSpanContext(callersContext(ROOT_CONTEXT, { traceparent }))?.spanId;
    expect(read(`01-${traceId}-${spanId}-00-more`)).toBe(spanId);
    expect(read(`00-${traceId}-${'0'.repeat(16)}-01`)).toBeUndefined();
    expect(read(7)).toBeUndefined();
    expect(traceMembers({ traceId: '0'.repeat(32), spanId: '0'.repeat(16), traceFlags: 0 })).toBe('');
  });
});

it('a resource is named without user, query and fragment', () => {
  expect(plainUri('https://ann:pw@example.com/a@b?key=secret#top')).toBe('https://example.com/a@b');
  expect(plainUri('file:///home/a.txt')).toBe('file:///home/a.txt');
  expect(plainUri('mailto:ann@example.com')).toBe('mailto:ann@example.com');
});

it('an error is named by its JSON-RPC code, else by the code of Bulkhead', () => {
  const refused = new BulkheadError('PROTOCOL_ERROR', 'no', { data: { jsonRpcCode: -32601 } });
  expect(errorType('ok', undefined)).toBeUndefined();
  expect(errorType('tool_error', undefined)).toBe('tool_error');
  expect(errorType('protocol_error', refused)).toBe('-32601');
  expect(errorType('rejected', new BulkheadError('MAILBOX_FULL', 'full'))).toBe('mailbox_full');
});
