/** Requests at a gate as a runtime would make them. */
import type { Capability, GateRequest, ServerTrust } from '../../packages/runtime/src/agent/tool.js';

export const origin: ServerTrust = { trusted: false, confidential: false, fingerprint: 'f'.repeat(64) };

export type Definition = NonNullable<GateRequest['definition']>;

export function definitionOf(name: string, description = `Tool ${name}`): Definition {
  return { name, description, inputSchema: { type: 'object' } };
}

let count = 0;

/** A call of `server.tool`, which is listed with a plain definition. */
export function callOf(
  server: string,
  tool: string,
  capabilities: Capability[] = ['unknown'],
  more: Partial<GateRequest> = {},
): GateRequest {
  return {
    callId: `c${++count}`,
    route: 'agent',
    identity: { kind: 'mcp', server, tool },
    capabilities: new Set(capabilities),
    definition: definitionOf(tool),
    origin,
    args: { text: 'a' },
    ...more,
  };
}

export function localCall(
  tool: string,
  capabilities: Capability[],
  more: Partial<GateRequest> = {},
): GateRequest {
  return {
    callId: `c${++count}`,
    route: 'agent',
    identity: { kind: 'local', tool },
    capabilities: new Set(capabilities),
    args: { text: 'a' },
    ...more,
  };
}

export function resourceRead(server: string, uri: string): GateRequest {
  return {
    ...callOf(server, 'resources/read', ['read', 'unknown']),
    definition: undefined,
    route: 'resource',
    args: { uri },
  };
}
