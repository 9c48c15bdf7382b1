/**
 * Telemetry of calls: a span for each, its trace context in the request's `_meta`, and its duration. Nothing here is on
 * the path of a call unless somebody listens.
 */
import { type BulkheadError, now } from '@bulkhead/workers';
import { type Attributes, type Context, context, type Tracer, trace } from '@opentelemetry/api';
import type { PendingCall } from '../call.js';
import type { GatedCall } from '../gate.js';
import { metaText } from '../request-meta.js';
import { attribute, plainUri, type ServerFacts, serverAttributes } from './attributes.js';
import { CallSpan, type Durations, endSpan, NameWatch, type WatchedName } from './call-watch.js';
import type { Pace } from './pace.js';
import { callersContext, traceMembers } from './trace-context.js';

const TOOLS_CALL = 'tools/call';
const EXECUTE_TOOL = 'execute_tool';
/** Names of one server that get a series of their own; a caller may try any name. */
const NAMES_MAX = 1_000;
const OTHER = '_OTHER';

export interface CallTelemetryInit {
  tracer: Tracer | undefined;
  durations: Durations | undefined;
  propagate: boolean;
  /** Share of the calls without a parent that get a span. */
  ratio: number;
  /** Which of them, when they are many. */
  pace: Pace;
  random: () => number;
  facts: (server: string) => ServerFacts;
}

export class CallTelemetry {
  readonly #init: CallTelemetryInit;
  /** By server, then by tool or by method: no tool's name holds a line break, so the two cannot meet. */
  readonly #watches = new Map<string, Map<string, NameWatch>>();

  constructor(init: CallTelemetryInit) {
    this.#init = init;
  }

  /** From here the call is watched; its `_meta` names its span. Never throws. */
  begin(call: PendingCall, params?: Readonly<Record<string, unknown>>): void {
    const meta = call.options?.meta;
    try {
      const watch = this.#watch(call.server, call.kind, call.tool);
      const { tracer, propagate } = this.#init;
      if (tracer === undefined) {
        call.watch = watch;
        return;
      }
      const active = context.active();
      const parent = meta === undefined ? active : callersContext(active, meta);
      if (this.#leftOut(parent, call.startedAt)) {
        call.watch = watch;
        return;
      }
      const span = watch.start(
        tracer,
        parent,
        params === undefined ? undefined : targetOf(call.tool, params),
      );
      call.watch = new CallSpan(watch, span);
      if (!propagate) return;
      const members = traceMembers(span.spanContext());
      if (members === '') return;
      // What the caller said of the trace is the span's parent now.
      const { traceparent: _, tracestate: __, ...others } = meta ?? {};
      const own = meta === undefined ? '' : metaText(others);
      call.meta = own === '' ? members : `${own},${members}`;
    } catch {
      // a provider that fails costs its telemetry, not the call
    }
  }

  /** A call that its gate did not let out: a span without a request. */
  refused({ server, tool, route }: GatedCall, error: BulkheadError): void {
    const { tracer } = this.#init;
    if (tracer === undefined || this.#leftOut(context.active(), now())) return;
    try {
      const kind = route === 'resource' || route === 'prompt' ? 'request' : 'call';
      const span = this.#watch(server, kind, tool).start(tracer, context.active());
      endSpan(span, error.outcome, error);
    } catch {
      // as above
    }
  }

  /** What is known of the server has changed. */
  forget(server: string): void {
    this.#watches.delete(server);
  }

  /** Decided before the tracer is asked, whose own sampler costs a span's ids and attributes first. */
  #leftOut(parent: Context, at: number): boolean {
    const { ratio, pace, random } = this.#init;
    if (trace.getSpanContext(parent) !== undefined) return false;
    return (ratio < 1 && random() >= ratio) || !pace.takes(at);
  }

  #watch(server: string, kind: PendingCall['kind'], tool: string): NameWatch {
    let names = this.#watches.get(server);
    if (names === undefined) {
      names = new Map();
      this.#watches.set(server, names);
    }
    const key = kind === 'call' ? tool : `\n${tool}`;
    let watch = names.get(key);
    if (watch === undefined) {
      const known = names.size < NAMES_MAX;
      watch = new NameWatch(this.#named(server, kind, tool, known), this.#init.durations);
      if (known) names.set(key, watch);
    }
    return watch;
  }

  #named(server: string, kind: PendingCall['kind'], tool: string, known: boolean): WatchedName {
    const ofServer = serverAttributes(server, this.#init.facts(server));
    if (kind === 'request') {
      const attributes = { [attribute.method]: tool, ...ofServer };
      return { name: tool, attributes, metricAttributes: attributes };
    }
    const attributes = {
      [attribute.method]: TOOLS_CALL,
      [attribute.operation]: EXECUTE_TOOL,
      [attribute.tool]: tool,
      ...ofServer,
    };
    const metricAttributes = known ? attributes : { ...attributes, [attribute.tool]: OTHER };
    return { name: `${TOOLS_CALL} ${tool}`, attributes, metricAttributes };
  }
}

/** What a request other than a call is about; too many different ones for a series each. */
function targetOf(method: string, params: Readonly<Record<string, unknown>>): Attributes | undefined {
  const { uri, name } = params;
  if (typeof uri === 'string') return { [attribute.uri]: plainUri(uri) };
  return method === 'prompts/get' && typeof name === 'string' ? { [attribute.prompt]: name } : undefined;
}
