/**
 * W3C trace context as it stands in `_meta` (https://www.w3.org/TR/trace-context/): the text of a span, and the parent
 * that a caller's own `_meta` names. Written here and not by the global propagator: it need not be registered, it may
 * add baggage, and it costs several times as much on a call.
 */
import {
  type Context,
  createTraceState,
  INVALID_TRACEID,
  isSpanContextValid,
  type SpanContext,
  trace,
} from '@opentelemetry/api';

const TRACEPARENT = /^(?!ff)[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-.*)?$/;
/** Version 00 ends behind its flags; later ones may go on. */
const VERSION_00_CHARS = 55;

/** Members of `_meta` as JSON text without braces; empty for a span of no provider. */
export function traceMembers({ traceId, spanId, traceFlags, traceState }: SpanContext): string {
  if (traceId === INVALID_TRACEID) return '';
  const flags = traceFlags === 1 ? '01' : (traceFlags & 0xff).toString(16).padStart(2, '0');
  const parent = `"traceparent":"00-${traceId}-${spanId}-${flags}"`;
  const state = traceState?.serialize();
  return state === undefined || state === '' ? parent : `${parent},"tracestate":${JSON.stringify(state)}`;
}

/** The context in which the span of `meta.traceparent` is the parent; `current` when there is none that can be read. */
export function callersContext(current: Context, meta: Readonly<Record<string, unknown>>): Context {
  const { traceparent, tracestate } = meta;
  if (typeof traceparent !== 'string') return current;
  const [, traceId = '', spanId = '', flags = ''] = TRACEPARENT.exec(traceparent) ?? [];
  if (traceparent.startsWith('00') && traceparent.length !== VERSION_00_CHARS) return current;
  const parent: SpanContext = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
    ...(typeof tracestate === 'string' && { traceState: createTraceState(tracestate) }),
  };
  return isSpanContextValid(parent) ? trace.setSpanContext(current, parent) : current;
}
