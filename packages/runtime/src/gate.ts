/**
 * The one place where calls meet the gate: whatever leaves a runtime for a server, by whichever method, passes here first
 * when a gate was given. What was asked about is what is sent: arguments are text by then, and the gate sees a copy.
 */
import { threadId } from 'node:worker_threads';
import { BulkheadError, type Outcome } from '@bulkhead/workers';
import { inferCapabilities } from './agent/capabilities.js';
import type { CallRoute, Gate, GateDecision, GateRequest, ServerTrust } from './agent/tool.js';
import type { CatalogTool } from './api.js';

/** A call on its way out; it crosses threads when an attached agent makes it. */
export interface GatedCall {
  callId: string;
  route: CallRoute;
  server: string;
  /** Raw name, or the method of another request. */
  tool: string;
  /** JSON text of an object. */
  args: string;
}

/** Told how the call ended that it let pass. */
export type GateEnd = (outcome: Outcome) => void;

export interface CallGate {
  /** Resolves when the call may leave. @throws {BulkheadError} `DENIED`, `CANCELLED`, `CLOSED`. */
  pass(call: GatedCall, signal: AbortSignal | undefined): Promise<GateEnd>;
  /** Ends every open question. */
  close(why: string): void;
}

/** What a gate is told beside the call. */
export interface GateFacts {
  origin: (server: string) => ServerTrust | undefined;
  tool: (server: string, tool: string) => CatalogTool | undefined;
}

/** Requests besides calls that read from a server or tell it something of the caller's, by method. */
export const gatedMethods: ReadonlyMap<string, CallRoute> = new Map([
  ['resources/read', 'resource'],
  ['resources/subscribe', 'resource'],
  ['prompts/get', 'prompt'],
  ['completion/complete', 'prompt'],
]);

let lastCall = 0;
/** Unique in this process, whichever thread makes the call. */
export function freshCallId(): string {
  return `call-${process.pid.toString(36)}-${threadId}-${(++lastCall).toString(36)}`;
}

/** Sends when the gate lets it. @throws {BulkheadError} what the gate or the call ended with. */
export async function throughGate<T extends { outcome: Outcome }>(
  gate: CallGate,
  call: GatedCall,
  signal: AbortSignal | undefined,
  send: () => Promise<T>,
): Promise<T> {
  const ended = await gate.pass(call, signal);
  try {
    const result = await send();
    ended(result.outcome);
    return result;
  } catch (error) {
    ended(error instanceof BulkheadError ? error.outcome : 'outcome_unknown');
    throw error;
  }
}

/** The gate that was given to this runtime. */
export class OwnGate implements CallGate {
  readonly #gate: Gate;
  readonly #facts: GateFacts;
  /** Questions that nobody has answered yet. */
  readonly #open = new Set<(error: BulkheadError) => void>();
  #closed: string | undefined;

  constructor(gate: Gate, facts: GateFacts) {
    this.#gate = gate;
    this.#facts = facts;
  }

  async pass(call: GatedCall, signal: AbortSignal | undefined): Promise<GateEnd> {
    if (this.#closed !== undefined) throw failure(call, 'CLOSED', this.#closed);
    if (signal?.aborted) throw failure(call, 'CANCELLED', 'cancelled before it was allowed');
    const abort = new AbortController();
    const request = this.#request(call, abort.signal);
    const decision = await new Promise<GateDecision>((resolve, reject) => {
      const stop = (error: BulkheadError) => {
        reject(error);
        abort.abort(error);
      };
      const cancel = () => stop(failure(call, 'CANCELLED', 'cancelled while its permission was asked for'));
      signal?.addEventListener('abort', cancel, { once: true });
      this.#open.add(stop);
      this.#decide(request)
        .then(resolve)
        .finally(() => {
          this.#open.delete(stop);
          signal?.removeEventListener('abort', cancel);
        });
    });
    // Anything but a clear yes is a no.
    if (decision?.allow !== true) {
      const reason = decision?.reason ?? 'the gate gave no decision';
      throw failure(call, 'DENIED', `denied: ${reason}`, { route: call.route, reason });
    }
    return (outcome) => {
      try {
        this.#gate.ended?.(request, outcome);
      } catch {
        // what the gate does with the news is no part of the call
      }
    };
  }

  close(why: string): void {
    this.#closed = why;
    for (const stop of [...this.#open]) stop(new BulkheadError('CLOSED', why));
  }

  async #decide(request: GateRequest): Promise<GateDecision> {
    try {
      return await this.#gate.check(request);
    } catch (error) {
      return { allow: false, reason: `the gate failed: ${error instanceof Error ? error.message : error}` };
    }
  }

  #request({ callId, route, server, tool, args }: GatedCall, signal: AbortSignal): GateRequest {
    const origin = this.#facts.origin(server);
    const identity = { kind: 'mcp', server, tool } as const;
    const shared = { callId, route, identity, origin, args: JSON.parse(args), signal };
    if (route === 'resource' || route === 'prompt') {
      const capabilities = new Set(origin?.trusted ? (['read'] as const) : (['read', 'unknown'] as const));
      return { ...shared, capabilities };
    }
    const definition = this.#facts.tool(server, tool);
    const capabilities = inferCapabilities(definition ?? { name: tool }, {
      trusted: origin?.trusted === true && definition !== undefined,
    });
    return { ...shared, capabilities, definition };
  }
}

/** For an attached agent: the gate of the owner decides. */
export class OwnersGate implements CallGate {
  readonly #ask: (call: GatedCall) => Promise<unknown>;
  readonly #open = new Set<(error: BulkheadError) => void>();

  /** @param ask rejects with the error that the call ends with. */
  constructor(ask: (call: GatedCall) => Promise<unknown>) {
    this.#ask = ask;
  }

  async pass(call: GatedCall, signal: AbortSignal | undefined): Promise<GateEnd> {
    if (signal?.aborted) throw failure(call, 'CANCELLED', 'cancelled before it was allowed');
    await new Promise<unknown>((resolve, reject) => {
      const cancel = () => reject(failure(call, 'CANCELLED', 'cancelled while its permission was asked for'));
      signal?.addEventListener('abort', cancel, { once: true });
      this.#open.add(reject);
      this.#ask(call)
        .then(resolve, reject)
        .finally(() => {
          this.#open.delete(reject);
          signal?.removeEventListener('abort', cancel);
        });
    });
    return () => {}; // the owner's gate counted it as answered when it let it pass
  }

  close(why: string): void {
    for (const stop of [...this.#open]) stop(new BulkheadError('CLOSED', why));
  }
}

function failure(
  { server, tool }: GatedCall,
  code: 'DENIED' | 'CANCELLED' | 'CLOSED',
  what: string,
  data: Record<string, unknown> = {},
): BulkheadError {
  return new BulkheadError(code, `${server}.${tool}: ${what}`, { server, tool, data });
}
