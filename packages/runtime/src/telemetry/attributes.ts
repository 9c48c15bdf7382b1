/**
 * Names and values of attributes, after the OpenTelemetry conventions for MCP (status: development). None of them ever
 * holds an argument, a result or a message of a server.
 */
import type { Attributes } from '@opentelemetry/api';

export const attribute = {
  method: 'mcp.method.name',
  protocol: 'mcp.protocol.version',
  uri: 'mcp.resource.uri',
  operation: 'gen_ai.operation.name',
  tool: 'gen_ai.tool.name',
  prompt: 'gen_ai.prompt.name',
  transport: 'network.transport',
  error: 'error.type',
  status: 'rpc.response.status_code',
  server: 'bulkhead.server',
  outcome: 'bulkhead.outcome',
  attempts: 'bulkhead.attempts',
  generation: 'bulkhead.generation',
  state: 'bulkhead.state',
  direction: 'network.io.direction',
} as const;

/** What is known of a server beside its name. */
export interface ServerFacts {
  /** `pipe` for a process, `tcp` for one that is reached over HTTP. */
  transport?: 'pipe' | 'tcp';
  protocolVersion?: string;
}

export function serverAttributes(server: string, { transport, protocolVersion }: ServerFacts): Attributes {
  return {
    [attribute.server]: server,
    ...(transport !== undefined && { [attribute.transport]: transport }),
    ...(protocolVersion !== undefined && { [attribute.protocol]: protocolVersion }),
  };
}

/** A resource without what may be secret in its URI: user, query and fragment. */
export function plainUri(uri: string): string {
  return uri.replace(/[?#].*$/s, '').replace(/^([a-z][a-z\d+.-]*:\/\/)[^/@]*@/i, '$1');
}
