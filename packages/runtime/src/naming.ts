/**
 * Full names of tools: `mcp__<server>__<tool>` as model providers accept them. Pure, and independent of the order and
 * of unrelated tools. Names are made here and looked up elsewhere; nobody takes one apart to learn what it means.
 */

export interface ToolOrigin {
  server: string;
  /** Raw name on the wire; also what permissions are keyed by, together with the server. */
  tool: string;
}

/** Providers accept `[A-Za-z0-9_-]{1,64}`. */
const MAX_LENGTH = 64;
const PREFIX = 'mcp__';
const SEPARATOR = '__';
const HASH_LENGTH = 8;
/** When a name must be shortened, the server keeps at least this much of it. */
const SERVER_MIN = 16;
/** Room for the parts around the names and one character of each. */
const SHORTEST_MAX = PREFIX.length + SERVER_MIN + SEPARATOR.length + HASH_LENGTH + 2;

interface Candidate extends ToolOrigin {
  /** The name without a hash, not yet shortened. */
  plain: string;
  /** 0: the plain name; above: hashed, with this number as the seed. */
  seed: number;
}

/**
 * Full names of `tools`, each with its origin. A name that needs no change and is nobody else's is exactly
 * `mcp__<server>__<tool>`; altered, shortened and clashing ones (all members of a clash) end in a hash of their origin.
 * Repeated origins count once.
 * @param options.maxLength Default 64, at least 33.
 * @throws {RangeError} `maxLength` is too small.
 */
export function assignNames(
  tools: readonly ToolOrigin[],
  options: { maxLength?: number } = {},
): Map<string, ToolOrigin> {
  const maxLength = options.maxLength ?? MAX_LENGTH;
  if (!(maxLength >= SHORTEST_MAX)) {
    throw new RangeError(`Expected \`maxLength\` to be at least ${SHORTEST_MAX}, got ${maxLength}`);
  }
  const candidates = distinct(tools);
  for (const group of groupBy(candidates, (candidate) => candidate.plain)) {
    for (const candidate of group) {
      if (group.length > 1 || isAltered(candidate, maxLength)) candidate.seed = 1;
    }
  }
  // A hashed name may still be another's plain name, or (2^-41) its hash: then all of those move on to other seeds,
  // each to one of its own, so that no pair of names can be built that clashes for ever.
  for (;;) {
    const groups = groupBy(candidates, (candidate) => nameOf(candidate, maxLength));
    const clashes = groups.filter((group) => group.length > 1);
    if (clashes.length === 0) break;
    for (const group of clashes) {
      group.sort((a, b) => (originKey(a) < originKey(b) ? -1 : 1));
      for (const [index, candidate] of group.entries()) candidate.seed += index + 1;
    }
  }
  return new Map(
    candidates.map((candidate) => [
      nameOf(candidate, maxLength),
      { server: candidate.server, tool: candidate.tool },
    ]),
  );
}

/** Whether a name that a model gave is in the space of MCP tools (and not, say, a built-in tool of the host). */
export function isMcpTool(name: string): boolean {
  return name.startsWith(PREFIX);
}

function distinct(tools: readonly ToolOrigin[]): Candidate[] {
  const seen = new Map<string, Candidate>();
  for (const { server, tool } of tools) {
    const plain = `${PREFIX}${clean(server)}${SEPARATOR}${clean(tool)}`;
    seen.set(originKey({ server, tool }), { server, tool, plain, seed: 0 });
  }
  return [...seen.values()];
}

function isAltered({ server, tool, plain }: Candidate, maxLength: number): boolean {
  return (
    server === '' ||
    tool === '' ||
    plain.length > maxLength ||
    plain !== `${PREFIX}${server}${SEPARATOR}${tool}`
  );
}

function nameOf(candidate: Candidate, maxLength: number): string {
  if (candidate.seed === 0) return candidate.plain;
  const room = maxLength - HASH_LENGTH - 1;
  const suffix = `_${hash(originKey(candidate), candidate.seed)}`;
  if (candidate.plain.length <= room) return candidate.plain + suffix;
  // A long server name (a UUID) must not leave nothing of the tool's, which is what a model reads.
  const server = clean(candidate.server);
  const tool = clean(candidate.tool);
  const shared = room - PREFIX.length - SEPARATOR.length;
  const forServer = Math.max(SERVER_MIN, shared - tool.length);
  const start = `${PREFIX}${server.slice(0, forServer)}${SEPARATOR}${tool}`;
  return start.slice(0, room) + suffix;
}

/** One underscore for each character (not code unit) that providers refuse. */
function clean(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/gu, '_');
}

/** Unambiguous: `a` + `bc` is not `ab` + `c`. */
function originKey({ server, tool }: ToolOrigin): string {
  return `${server.length}:${server}${tool}`;
}

function groupBy(candidates: Candidate[], key: (candidate: Candidate) => string): Candidate[][] {
  const groups = new Map<string, Candidate[]>();
  for (const candidate of candidates) {
    const name = key(candidate);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [candidate]);
    else group.push(candidate);
  }
  return [...groups.values()];
}

/**
 * cyrb53 (two 32-bit multiply-xor lanes, public domain) reduced to 41 bits, in base 36. Not cryptographic: a clash that
 * someone builds on purpose costs both tools a new suffix, never a wrong call, because names are only looked up.
 */
function hash(text: string, seed: number): string {
  let low = 0xdeadbeef ^ seed;
  let high = 0x41c6ce57 ^ seed;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    low = Math.imul(low ^ code, 2654435761);
    high = Math.imul(high ^ code, 1597334677);
  }
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  const bits = 4294967296 * (2097151 & high) + (low >>> 0);
  return (bits % 36 ** HASH_LENGTH).toString(36).padStart(HASH_LENGTH, '0');
}
