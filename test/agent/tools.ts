/** Tools for the tests of the agent's side from plain definitions. */
import type { Tool } from '../../packages/runtime/src/agent/tool.js';

export interface Definition {
  name: string;
  description?: string;
  inputSchema?: unknown;
}

/** A tool as a toolset would give it; it is never run. */
export function toolOf(
  { name, description = '', inputSchema = { type: 'object' } }: Definition,
  server = 'test',
): Tool {
  return {
    name,
    description,
    inputSchema: inputSchema as Tool['inputSchema'],
    identity: { kind: 'mcp', server, tool: name },
    capabilities: new Set(),
    execute: () => Promise.reject(new Error(`${name} is not run here`)),
  };
}

/** One tool with this schema. */
export const withSchema = (inputSchema: unknown): Tool => toolOf({ name: 'tool', inputSchema });
