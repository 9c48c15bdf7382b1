/**
 * Which calls a hook is for. Patterns come from files of cloned projects and run on the agent's thread, so regular
 * expressions are RE2's: linear time whatever they say (no look-around, no back-references), against short names only.
 */
import type { HookedCall } from './event.js';

export const MATCHER_MAX_LENGTH = 512;
/** Names that a model sees have at most 64 characters; a raw one above this fits every expression: better one guard too many. */
const NAME_MAX_LENGTH = 256;

/** All that is given must fit. A text is an exact name, `*`, or a regular expression that fits the whole name. */
export interface ToolMatch {
  /** Name as the model sees it, for instance `mcp__db__.*|Write`. */
  readonly matcher?: string;
  /** Name of the server; the host's own tools have none and never fit. */
  readonly server?: string;
  /** Name of the tool on the wire. */
  readonly tool?: string;
  /** At least one of them. What a tool that says nothing can do is `unknown`. */
  readonly capability?: string | readonly string[];
}

export type Fits = (call: Pick<HookedCall, 'tool'>) => boolean;

/**
 * @throws {TypeError} a pattern is too long or is no regular expression; the message names the key.
 */
export async function compileMatch(match: ToolMatch): Promise<Fits> {
  const byName = await compilePattern('matcher', match.matcher);
  const byServer = await compilePattern('server', match.server);
  const byTool = await compilePattern('tool', match.tool);
  const { capability } = match;
  const wanted: readonly string[] | undefined = typeof capability === 'string' ? [capability] : capability;
  return ({ tool: { name, identity, capabilities } }) =>
    (byName?.(name) ?? true) &&
    (byServer === undefined || (identity.kind === 'mcp' && byServer(identity.server))) &&
    (byTool?.(identity.tool) ?? true) &&
    (wanted === undefined || [...capabilities].some((own) => wanted.includes(own)));
}

/** Undefined when the pattern takes every name. */
async function compilePattern(
  key: string,
  pattern: string | undefined,
): Promise<((name: string) => boolean) | undefined> {
  if (pattern === undefined || pattern === '') return undefined;
  // For `server` a star is still a condition: there is a server.
  if (pattern === '*') return () => true;
  if (/^[\w-]+$/.test(pattern)) return (name) => name === pattern;
  if (pattern.length > MATCHER_MAX_LENGTH) {
    throw new TypeError(
      `expected \`${key}\` to have at most ${MATCHER_MAX_LENGTH} characters, got ${pattern.length}`,
    );
  }
  const { RE2JS } = await import('re2js');
  try {
    // DOTALL: a line break in a raw name must not slip past `.*`.
    const expression = RE2JS.compile(pattern, RE2JS.DOTALL);
    return (name) => name.length > NAME_MAX_LENGTH || expression.matches(name);
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^error parsing regexp: /, '') : String(error);
    throw new TypeError(`\`${key}\` is no regular expression of the kind that is read (RE2): ${why}`);
  }
}
