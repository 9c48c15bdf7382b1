/**
 * Names under which one MCP server offers what many servers have: as models know them, with a separator of the user's,
 * or as they are. Pure; the way back is the map that is made here, names are never taken apart.
 */
import { assignNames, type ToolOrigin } from '../naming.js';

/**
 * `full`: `mcp__<server>__<tool>`. `separator`: `<server><separator><tool>`. `plain`: as the server gives it. Whatever
 * two servers would share, or providers refuse, has its full name in each style.
 */
export type NameStyle = { kind: 'full' } | { kind: 'separator'; separator: string } | { kind: 'plain' };

/** What providers accept, and a dot, which the protocol allows as well. */
const ACCEPTED = /^[A-Za-z0-9_.-]{1,64}$/;

/** Served names with the server and raw name behind each. */
export function servedNames(origins: readonly ToolOrigin[], style: NameStyle): Map<string, ToolOrigin> {
  const full = assignNames(origins);
  if (style.kind === 'full') return full;
  const short = ({ server, tool }: ToolOrigin) =>
    style.kind === 'plain' ? tool : `${server}${style.separator}${tool}`;
  const wanted = new Map<string, number>();
  for (const origin of full.values()) wanted.set(short(origin), (wanted.get(short(origin)) ?? 0) + 1);
  const names = new Map<string, ToolOrigin>();
  for (const [fullName, origin] of full) {
    const name = short(origin);
    const usable = wanted.get(name) === 1 && !full.has(name) && ACCEPTED.test(name);
    names.set(usable ? name : fullName, origin);
  }
  return names;
}
