/**
 * Which tools of a set are wanted: rules by server, raw tool name and capability. Display names play no part, so a server
 * cannot rename a tool into or out of a filter. Pure.
 */
import type { Capability, Tool } from './tool.js';

/** Every field that is set must fit; a rule without any fits every tool. */
export interface ToolRule {
  readonly kind?: 'local' | 'mcp';
  /** Name of the server in the configuration; local tools have none. */
  readonly server?: string;
  /** Raw name of the tool. */
  readonly tool?: string;
  /**
   * In `allow`: the tool may do nothing else than these (`['read']` leaves out what only claims to read). In `deny`: it
   * may do one of these.
   */
  readonly capabilities?: readonly Capability[];
}

/** Rules by name; `deny` wins. */
export interface ToolRules {
  /** Tools that fit one of these; default all. */
  readonly allow?: readonly ToolRule[];
  /** Tools that fit one of these are out, whatever `allow` says. */
  readonly deny?: readonly ToolRule[];
}

/** Which tools are active: by rules, or by a function of the host. */
export type ToolFilter = ToolRules | ((tool: Tool) => boolean);

export function passes(filter: ToolFilter, tool: Tool): boolean {
  if (typeof filter === 'function') return filter(tool);
  if (filter.deny?.some((rule) => fits(rule, tool, someOf))) return false;
  return filter.allow?.some((rule) => fits(rule, tool, nothingBut)) ?? true;
}

type CapabilityTest = (tool: Tool, named: readonly Capability[]) => boolean;

const someOf: CapabilityTest = (tool, named) => named.some((capability) => tool.capabilities.has(capability));
const nothingBut: CapabilityTest = (tool, named) =>
  [...tool.capabilities].every((capability) => named.includes(capability));

function fits(rule: ToolRule, tool: Tool, test: CapabilityTest): boolean {
  const { identity } = tool;
  return (
    (rule.kind === undefined || rule.kind === identity.kind) &&
    (rule.server === undefined || (identity.kind === 'mcp' && rule.server === identity.server)) &&
    (rule.tool === undefined || rule.tool === identity.tool) &&
    (rule.capabilities === undefined || test(tool, rule.capabilities))
  );
}
