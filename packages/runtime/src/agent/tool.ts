/**
 * What an agent calls a tool: one shape for the host's own tools and for those of MCP servers, what a call of one is
 * given, and what it gives back. Every other file of this folder speaks in these words.
 */
import type { ToolDefinition } from '@bulkhead/workers';
import type { ContentBlock, Outcome, ToolResult } from '../api.js';

/** What a tool may do to the world. `unknown` is asked about like `write`. */
export type Capability = 'read' | 'write' | 'network' | 'destructive' | 'unknown';

/** Whose tool it is. Permissions are keyed by this and never by the name that a model sees. */
export type ToolIdentity =
  | { readonly kind: 'local'; readonly tool: string }
  /** `tool` is the raw name on the wire. */
  | { readonly kind: 'mcp'; readonly server: string; readonly tool: string };

/** A JSON Schema of any dialect; `{"type":"object"}` when the server sent nothing usable. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A tool that a model can be offered: of the host or of a server, all alike. */
export interface Tool {
  /** `[A-Za-z0-9_-]{1,64}`, unique in its set. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly identity: ToolIdentity;
  readonly capabilities: ReadonlySet<Capability>;
  /** Set for tools of MCP servers: what a gate is told beside the call. */
  readonly facts?: () => Pick<GateRequest, 'definition' | 'origin'>;
  /** Runs the tool. An error of the tool itself is an output with `isError`; whatever else went wrong rejects. */
  execute(args: Readonly<Record<string, unknown>>, context: ToolContext): Promise<ToolOutput>;
}

/** What a tool is given beside its arguments. */
export interface ToolContext {
  /** The model's id of this call: parallel calls never share one. */
  callId: string;
  signal: AbortSignal;
  /** Progress of the call, as the tool reports it. */
  onProgress?: (progress: { progress: number; total?: number; message?: string }) => void;
}

/** A tool's answer, before it is shaped for a model. */
export interface ToolOutput {
  readonly isError: boolean;
  /** Set for tools of MCP servers: decoded only when somebody looks. */
  readonly result?: ToolResult;
  /** Set for local tools. */
  readonly content?: readonly ContentBlock[];
}

/** Which way a call came; one gate stands on all of them. */
export type CallRoute = 'agent' | 'direct' | 'batch' | 'resource' | 'prompt' | 'control';

/** What the user's configuration says of a server: what the server says of itself is no part of it. */
export interface ServerTrust {
  /** Its hints are believed (`trust: true`). */
  readonly trusted: boolean;
  /** Its results are not for other servers (`confidential: true`). */
  readonly confidential: boolean;
  /** SHA-256 (hex) of what runs as it is written; another one is another server of the same name. */
  readonly fingerprint: string;
}

/** A call that is about to leave, as a gate is told of it. */
export interface GateRequest {
  /** Unique per call. */
  readonly callId: string;
  readonly route: CallRoute;
  /** For the routes `resource` and `prompt` the tool is the method of the protocol (`resources/read`, `prompts/get`). */
  readonly identity: ToolIdentity;
  readonly capabilities: ReadonlySet<Capability>;
  /** The tool as its server lists it at this moment; undefined while no list is known, and for what is no tool. */
  readonly definition?: ToolDefinition | undefined;
  /** Undefined for local tools. */
  readonly origin?: ServerTrust | undefined;
  /** The arguments as they would be sent. */
  readonly args: Readonly<Record<string, unknown>>;
  readonly signal?: AbortSignal | undefined;
}

/** Whether the call may leave. */
export type GateDecision =
  | { readonly allow: true }
  /** `reason` is a sentence that the caller, and the model, may read. */
  | { readonly allow: false; readonly reason: string };

/** Decides about every call before it leaves. A gate that throws denies. */
export interface Gate {
  /** Asked once for each call, before it leaves. A throw denies the call. */
  check(request: GateRequest): Promise<GateDecision> | GateDecision;
  /** Told once how each call ended that this gate let pass, before its caller hears of it. */
  ended?(request: GateRequest, outcome: Outcome): void;
}

/** One piece of a tool's answer, ready for a model: what providers take is made of these. */
export type ResultPart =
  | { readonly type: 'text'; readonly text: string }
  /** `data` is base64; `mediaType` was sniffed from the bytes. */
  | { readonly type: 'image'; readonly mediaType: string; readonly data: string }
  | { readonly type: 'audio'; readonly mediaType: string; readonly data: string };
