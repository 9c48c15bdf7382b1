/**
 * The way of a call from its name to its server's handle: the arguments become text, the gate is asked, whoever keeps an
 * account is told. The same for resources, prompts and what else a caller may ask of a server.
 */
import { BulkheadError } from '@bulkhead/workers';
import type { ServerTrust } from './agent/tool.js';
import type { CallOptions, RawArguments, ToolResult } from './api.js';
import { argumentsText, PendingCall } from './call.js';
import type { Catalog } from './catalog.js';
import { type CallGate, freshCallId, gatedMethods, throughGate } from './gate.js';
import { metaText, withMeta } from './request-meta.js';
import type { SendRequest } from './requests.js';
import type { ServerRef } from './server-ref.js';
import type { Telemetry } from './telemetry/telemetry.js';
import { refused, type Witness, witnessed } from './witness.js';

export interface CallPathInit {
  catalog: Catalog;
  /** Undefined when every call may leave. */
  gate: CallGate | undefined;
  /** Undefined when nobody wants an account of calls. */
  witness: Witness | undefined;
  /** Undefined when nobody listens. */
  telemetry: Telemetry | undefined;
  trust: (server: string) => ServerTrust | undefined;
  /** Why nothing more can be asked of the runtime, once so. */
  over: () => string | undefined;
}

export class CallPath {
  readonly #init: CallPathInit;

  constructor(init: CallPathInit) {
    this.#init = init;
  }

  /** A call of a tool by the handle of its server. */
  call(
    ref: ServerRef,
    tool: string,
    args: Record<string, unknown> | RawArguments | undefined,
    options: CallOptions | undefined,
  ): Promise<ToolResult> {
    if (this.#init.over() !== undefined) {
      const error = new BulkheadError('CLOSED', `${ref.name}.${tool}: ${this.#init.over()}`, {
        server: ref.name,
        tool,
      });
      return this.refuse(error, ref.name, tool, options);
    }
    let text: string;
    try {
      text = argumentsText(ref.name, tool, args);
    } catch (error) {
      return this.refuse(error, ref.name, tool, options);
    }
    const gate = this.#init.gate;
    const witness = this.#init.witness;
    if (gate === undefined && witness === undefined) return this.#send(ref, tool, text, options);
    const callId = options?.callId ?? freshCallId();
    const call = { callId, route: options?.route ?? 'direct', server: ref.name, tool, args: text } as const;
    const send = () => this.#send(ref, tool, text, options);
    const sent = gate === undefined ? send() : throughGate(gate, call, options?.signal, send);
    return witness === undefined ? sent : witnessed(witness, call, sent);
  }

  /** The end of a call that could not be made. */
  refuse(
    error: unknown,
    server: string | null,
    tool: string,
    options: CallOptions | undefined,
  ): Promise<never> {
    if (this.#init.witness !== undefined) {
      const { callId = freshCallId(), route = 'direct' } = options ?? {};
      refused(this.#init.witness, { callId, route, server, tool, args: undefined }, error);
    }
    return Promise.reject(error);
  }

  #send(ref: ServerRef, tool: string, text: string, options: CallOptions | undefined): Promise<ToolResult> {
    // A trusted server's word that repeating does no harm stands for the caller's, who may still say no.
    const known =
      options?.idempotent === undefined && this.#mayRepeat(ref.name, tool)
        ? { ...options, idempotent: true }
        : options;
    const call = new PendingCall(ref.name, tool, text, known, ref.options);
    if (options?.meta !== undefined) call.meta = metaText(options.meta);
    this.#init.telemetry?.begin(call);
    ref.submit(call, options?.signal);
    return call.promise;
  }

  #mayRepeat(server: string, tool: string): boolean {
    if (this.#init.trust(server)?.trusted !== true) return false;
    const annotations = this.#init.catalog.byOrigin(server, tool)?.annotations;
    return annotations?.readOnlyHint === true || annotations?.idempotentHint === true;
  }

  /** The same for what a caller asks; what was granted once and is repeated to a new session is not asked again. */
  gatedRequest(ref: ServerRef): SendRequest {
    const send = this.request(ref);
    const gate = this.#init.gate;
    const witness = this.#init.witness;
    if (gate === undefined && witness === undefined) return send;
    return (method, params, options) => {
      const route = gatedMethods.get(method);
      if (route === undefined) return send(method, params, options);
      const callId = options?.callId ?? freshCallId();
      const call = { callId, route, server: ref.name, tool: method, args: JSON.stringify(params) };
      const pass = () => send(method, params, options);
      const sent = gate === undefined ? pass() : throughGate(gate, call, options?.signal, pass);
      return witness === undefined ? sent : witnessed(witness, call, sent);
    };
  }

  /** Requests other than calls, past the gate: what a session needs for itself. */
  request(ref: ServerRef): SendRequest {
    return (method, params, options) => {
      if (this.#init.over() !== undefined) {
        return Promise.reject(
          new BulkheadError('CLOSED', `${ref.name}: ${this.#init.over()}`, { server: ref.name }),
        );
      }
      const call = new PendingCall(ref.name, method, JSON.stringify(params), options, ref.options, 'request');
      if (options?.meta !== undefined) call.meta = metaText(options.meta);
      this.#init.telemetry?.begin(call, params);
      if (call.meta !== '') {
        call.args = JSON.stringify(withMeta(params, call.meta));
        call.meta = '';
      }
      ref.submit(call, options?.signal);
      return call.promise;
    };
  }
}
