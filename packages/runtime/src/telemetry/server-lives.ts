/**
 * Spans of the lives of servers: one for each generation (or new connection of the same thread), from the start to the
 * end of what was left of it, with the start as its child and every change of state as an event. Each is the root of a
 * trace of its own, for it outlives whatever asked for it. Counts starts on the way, and how long sessions lasted.
 */
import { now, type Reason, type ServerState, type SupervisorNotice } from '@bulkhead/workers';
import {
  type Attributes,
  type Histogram,
  ROOT_CONTEXT,
  type Span,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { attribute, type ServerFacts, serverAttributes } from './attributes.js';

type StateNotice = Extract<SupervisorNotice, { type: 'state' }>;

interface Life {
  span: Span | undefined;
  /** Until it is ready. */
  start: Span | undefined;
  readyAt: number | undefined;
}

export interface ServerStarts {
  starts: number;
  /** Starts after the first one, whoever wanted them. */
  restarts: number;
}

/** A life passes these on its way; whatever else follows is the end of it. */
const onTheWay: ReadonlySet<ServerState> = new Set([
  'connecting',
  'ready',
  'draining',
  'stopping',
  'killing',
]);
const begins: ReadonlySet<ServerState> = new Set(['starting', 'reconnecting']);
/** Nobody wanted these. */
const failures: ReadonlySet<ServerState> = new Set(['backoff', 'quarantined', 'lost', 'reconnecting']);

export class ServerLives {
  readonly #tracer: Tracer | undefined;
  readonly #sessions: Histogram | undefined;
  readonly #facts: (server: string) => ServerFacts;
  readonly #lives = new Map<string, Life>();
  readonly #starts = new Map<string, ServerStarts>();

  constructor(
    tracer: Tracer | undefined,
    sessions: Histogram | undefined,
    facts: (server: string) => ServerFacts,
  ) {
    this.#tracer = tracer;
    this.#sessions = sessions;
    this.#facts = facts;
  }

  /** Of each server that was ever started. */
  get starts(): ReadonlyMap<string, Readonly<ServerStarts>> {
    return this.#starts;
  }

  moved({ server, state, generation, reason }: StateNotice): void {
    const life = this.#lives.get(server);
    if (life !== undefined && onTheWay.has(state)) {
      life.span?.addEvent(state, reasonAttributes(reason));
      if (state === 'connecting') life.span?.setAttribute(attribute.generation, generation);
      else if (state === 'ready') this.#ready(server, life);
      else if (state === 'stopping') this.#sessionEnded(server, life, undefined);
      else if (state === 'killing') this.#sessionEnded(server, life, reason?.kind ?? state);
      return;
    }
    if (life !== undefined)
      this.#end(server, life, failures.has(state) ? (reason?.kind ?? state) : undefined, reason);
    if (begins.has(state)) this.#begin(server, state);
  }

  /** All of them are over at once: the supervisor is lost, or the runtime closed. */
  over(error: string | undefined): void {
    for (const [server, life] of [...this.#lives]) this.#end(server, life, error, undefined);
  }

  #begin(server: string, state: ServerState): void {
    const counted = this.#starts.get(server);
    if (counted === undefined) this.#starts.set(server, { starts: 1, restarts: 0 });
    else {
      counted.starts++;
      counted.restarts++;
    }
    const attributes = serverAttributes(server, this.#facts(server));
    const span = this.#tracer?.startSpan(`server ${server}`, { attributes, root: true }, ROOT_CONTEXT);
    span?.addEvent(state);
    const within = span === undefined ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, span);
    const start = this.#tracer?.startSpan(`start ${server}`, { attributes }, within);
    this.#lives.set(server, { span, start, readyAt: undefined });
  }

  #ready(server: string, life: Life): void {
    const attributes = serverAttributes(server, this.#facts(server));
    life.readyAt ??= now();
    life.span?.setAttributes(attributes);
    life.start?.setAttributes(attributes);
    life.start?.end();
    life.start = undefined;
  }

  #sessionEnded(server: string, life: Life, error: string | undefined): void {
    if (life.readyAt === undefined) return;
    const attributes = serverAttributes(server, this.#facts(server));
    if (error !== undefined) attributes[attribute.error] = error;
    this.#sessions?.record((now() - life.readyAt) / 1_000, attributes);
    life.readyAt = undefined;
  }

  #end(server: string, life: Life, error: string | undefined, reason: Reason | undefined): void {
    this.#lives.delete(server);
    this.#sessionEnded(server, life, error);
    for (const span of [life.start, life.span]) {
      if (span === undefined) continue;
      if (error !== undefined) {
        span.setAttribute(attribute.error, error);
        span.setStatus({ code: SpanStatusCode.ERROR, message: error });
      }
      span.addEvent('ended', reasonAttributes(reason));
      span.end();
    }
  }
}

/** The kind and the numbers; the sentence may quote an address or what the server wrote. */
function reasonAttributes(reason: Reason | undefined): Attributes {
  const { kind, exitCode, signal } = reason ?? {};
  return {
    ...(kind !== undefined && { 'bulkhead.reason': kind }),
    ...(typeof exitCode === 'number' && { 'process.exit.code': exitCode }),
    ...(typeof signal === 'string' && { 'bulkhead.signal': signal }),
  };
}
