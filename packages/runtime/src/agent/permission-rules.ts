/**
 * Rules about calls: whom they speak of and which of them decides. Keyed by server and raw name, never by the name a
 * model sees, so a tool that takes another's display name takes none of its rights. Pure.
 */
import { BulkheadError } from '@bulkhead/workers';
import type { Capability, GateRequest } from './tool.js';

/** What a call is about, beside its server. */
export type Subject =
  | { readonly kind: 'tool'; readonly name: string }
  | { readonly kind: 'resource'; readonly name: string }
  | { readonly kind: 'prompt'; readonly name: string };

/**
 * One rule. Every field that is set must fit; a rule without any speaks of every call.
 *
 * `deny` beats `ask`, `ask` beats `allow`, whatever is more specific; inside one of them the more specific rule is the
 * one that is named. `tool`, `resource` and `prompt` need `server` or `local`: a name alone is nobody's.
 */
export interface Rule {
  readonly effect: 'allow' | 'ask' | 'deny';
  /** Name of the server in the configuration. */
  readonly server?: string;
  /** Tools of the host itself. */
  readonly local?: true;
  /** Raw name of the tool. */
  readonly tool?: string;
  /** URI of a resource. */
  readonly resource?: string;
  /** Name of a prompt. */
  readonly prompt?: string;
  /**
   * `deny` and `ask`: the tool has this capability among others. `allow`: every capability of the tool must be allowed,
   * by this rule or by others of its kind, so `allow read` does not let a tool pass that only claims to read.
   */
  readonly capability?: Capability;
}

/** @throws {BulkheadError} `BAD_INPUT` for a rule that could mean more than its author thinks. */
export function checkRules(rules: readonly Rule[]): void {
  rules.forEach((rule, index) => {
    const fail = (what: string) => {
      throw new BulkheadError('BAD_INPUT', `rule ${index + 1} (${ruleText(rule)}) ${what}`);
    };
    if (!['allow', 'ask', 'deny'].includes(rule.effect))
      fail('has no effect: write "allow", "ask" or "deny"');
    const subjects = [rule.tool, rule.resource, rule.prompt].filter((name) => name !== undefined);
    if (subjects.length > 1) fail('names a tool, a resource or a prompt: choose one');
    if (rule.server !== undefined && rule.local === true)
      fail('names a server and local tools: write two rules');
    if (subjects.length === 1 && rule.server === undefined && rule.local !== true) {
      fail('names no server: add "server", or "local": true for a tool of the host');
    }
    if (rule.local === true && (rule.resource !== undefined || rule.prompt !== undefined)) {
      fail('is about resources or prompts, which the host itself has none of');
    }
  });
}

/** What the call is about; the method of the protocol when it names neither URI nor prompt. */
export function subjectOf({
  route,
  identity,
  args,
}: Pick<GateRequest, 'route' | 'identity' | 'args'>): Subject {
  if (route === 'resource') return { kind: 'resource', name: String(args.uri ?? identity.tool) };
  if (route === 'prompt') return { kind: 'prompt', name: String(args.name ?? identity.tool) };
  return { kind: 'tool', name: identity.tool };
}

/** The rule of this effect that decides about the call, the most specific one; undefined when none does. */
export function decidingRule(
  rules: readonly Rule[],
  effect: Rule['effect'],
  request: GateRequest,
): Rule | undefined {
  const fitting = rules.filter((rule) => rule.effect === effect && speaksOf(rule, request));
  const { capabilities } = request;
  if (effect !== 'allow') {
    return mostSpecific(
      fitting.filter(({ capability }) => capability === undefined || capabilities.has(capability)),
    );
  }
  const whole = fitting.filter(({ capability }) => capability === undefined);
  if (whole.length > 0) return mostSpecific(whole);
  const allowed = new Set(fitting.map(({ capability }) => capability));
  return [...capabilities].every((capability) => allowed.has(capability)) ? mostSpecific(fitting) : undefined;
}

/** A rule as a person writes it, for messages. */
export function ruleText({ effect, ...fields }: Rule): string {
  const parts = Object.entries(fields).map(([field, value]) =>
    value === true ? field : `${field} ${value}`,
  );
  return [effect, ...(parts.length === 0 ? ['everything'] : parts)].join(' ');
}

function speaksOf(rule: Rule, request: GateRequest): boolean {
  const { identity } = request;
  if (rule.local === true && identity.kind !== 'local') return false;
  if (rule.server !== undefined && (identity.kind !== 'mcp' || identity.server !== rule.server)) return false;
  if (rule.tool === undefined && rule.resource === undefined && rule.prompt === undefined) return true;
  const { kind, name } = subjectOf(request);
  return rule[kind] === name;
}

function mostSpecific(rules: readonly Rule[]): Rule | undefined {
  let best: Rule | undefined;
  // The first of equals: a list is read from its top.
  for (const rule of rules) if (best === undefined || weight(rule) > weight(best)) best = rule;
  return best;
}

function weight({ server, local, tool, resource, prompt, capability }: Rule): number {
  const subject = tool ?? resource ?? prompt;
  return (
    (subject === undefined ? 0 : 4) +
    (server === undefined && local === undefined ? 0 : 2) +
    (capability === undefined ? 0 : 1)
  );
}
