/**
 * The watch over the calls of one tool (or of one other method): what its spans and its durations have in common is made
 * once, and a call costs one span and one record.
 */
import type { BulkheadError, Outcome } from '@bulkhead/workers';
import {
  type Attributes,
  type Context,
  type Histogram,
  type Span,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  type Tracer,
} from '@opentelemetry/api';
import type { CallWatch, PendingCall } from '../call.js';
import { attribute } from './attributes.js';
import { errorType, rpcStatus } from './error-type.js';
import type { Pace } from './pace.js';

const MS = 1_000;

export interface WatchedName {
  /** Of the span. */
  name: string;
  /** Of every span. */
  attributes: Attributes;
  /** Of every duration: fewer, for each combination is a series of its own. */
  metricAttributes: Attributes;
}

/** Where durations go, and which of them. */
export interface Durations {
  histogram: Histogram;
  pace: Pace;
}

/** Watches all calls of one name when there are no spans; begins a {@link CallSpan} for each when there are. */
export class NameWatch implements CallWatch {
  readonly #durations: Durations | undefined;
  readonly #name: string;
  readonly #options: SpanOptions;
  readonly #ok: Attributes;
  readonly #failed = new Map<string, Attributes>();

  constructor({ name, attributes, metricAttributes }: WatchedName, durations: Durations | undefined) {
    this.#durations = durations;
    this.#name = name;
    this.#options = { kind: SpanKind.CLIENT, attributes };
    this.#ok = metricAttributes;
  }

  start(tracer: Tracer, parent: Context, more?: Attributes): Span {
    const span = tracer.startSpan(this.#name, this.#options, parent);
    if (more !== undefined) span.setAttributes(more);
    return span;
  }

  ended(call: PendingCall, outcome: Outcome, at: number, error: BulkheadError | undefined): void {
    this.record(call, outcome, at, error);
  }

  record(call: PendingCall, outcome: Outcome, at: number, error: BulkheadError | undefined): void {
    if (this.#durations?.pace.takes(at) !== true) return;
    const type = errorType(outcome, error);
    try {
      const attributes = type === undefined ? this.#ok : this.#failedAttributes(type);
      this.#durations.histogram.record((at - call.startedAt) / MS, attributes);
    } catch {
      // whoever counts calls cannot change how they end
    }
  }

  #failedAttributes(type: string): Attributes {
    let attributes = this.#failed.get(type);
    if (attributes === undefined) {
      attributes = { ...this.#ok, [attribute.error]: type };
      this.#failed.set(type, attributes);
    }
    return attributes;
  }
}

/** One call with its span. */
export class CallSpan implements CallWatch {
  readonly #watch: NameWatch;
  readonly #span: Span;

  constructor(watch: NameWatch, span: Span) {
    this.#watch = watch;
    this.#span = span;
  }

  ended(call: PendingCall, outcome: Outcome, at: number, error: BulkheadError | undefined): void {
    this.#watch.record(call, outcome, at, error);
    try {
      if (call.attempts > 1) this.#span.setAttribute(attribute.attempts, call.attempts);
      endSpan(this.#span, outcome, error);
    } catch {
      // nor can whoever traces them
    }
  }
}

/** Ends a span with the name of its error; the message stays out, for it may quote what the server or the caller said. */
export function endSpan(span: Span, outcome: Outcome, error: BulkheadError | undefined): void {
  const type = errorType(outcome, error);
  if (type !== undefined) {
    span.setAttribute(attribute.error, type);
    span.setAttribute(attribute.outcome, outcome);
    const status = rpcStatus(error);
    if (status !== undefined) span.setAttribute(attribute.status, status);
    span.setStatus({ code: SpanStatusCode.ERROR, message: error?.code ?? type });
  }
  span.end();
}
