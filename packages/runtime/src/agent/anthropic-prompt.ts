/**
 * Where the cache breakpoints of an Anthropic request stand. The cached prefix runs tools → system → messages, so what
 * changes least comes first and each layer ends in a breakpoint of its own: a refresh of MCP tools leaves the host's
 * tools cached, and notes of servers stand behind the last breakpoint. Pure.
 *
 * ```text
 * host's tools ▌ MCP tools ▌ static system text ▌ notes, catalogue … (no breakpoint)   ▌ = cache_control
 * ```
 */

/** What this needs to know of a tool in the provider's format. */
export interface AnthropicTool {
  name: string;
  /** Loaded on demand: such a tool stands outside the prefix and can carry no breakpoint. */
  defer_loading?: boolean;
}

/** A cache breakpoint: the provider keeps everything up to and including the block that carries it. */
export interface CacheControl {
  type: 'ephemeral';
  /** The provider's default is five minutes. */
  ttl?: '5m' | '1h';
}

/** A block of the `system` field. */
export interface AnthropicTextBlock {
  type: 'text';
  text: string;
  cache_control?: CacheControl;
}

/** What the prompt is made of, sorted by how often it changes. */
export interface AnthropicPromptInput<T extends AnthropicTool> {
  /** The host's own text, the same in every request of a session. */
  system: string;
  /** Already in the provider's format, each list in its stable order. */
  tools: { local: readonly T[]; mcp: readonly T[] };
  /** Texts that may change between prompts: `instructions()`, `catalogText()`, context of hooks. Blank ones are left out. */
  dynamic?: readonly (string | undefined)[];
  ttl?: '5m' | '1h';
}

/** What a request of Anthropic's Messages API begins with: tools and system text, with the cache breakpoints set. */
export interface AnthropicPrompt<T extends AnthropicTool> {
  tools: (T & { cache_control?: CacheControl })[];
  system: AnthropicTextBlock[];
  /** How many of the four breakpoints of a request are free for its messages; at least 1. */
  breakpointsLeft: number;
}

/** A request has at most this many. */
const MAX_BREAKPOINTS = 4;

/**
 * Sets a breakpoint behind the local tools, behind those of servers and behind the system text, so that each is read from the cache
 * while those after it change. Texts of `dynamic` come behind all of them.
 */
export function anthropicPrompt<T extends AnthropicTool>(input: AnthropicPromptInput<T>): AnthropicPrompt<T> {
  const { system, tools, dynamic = [], ttl } = input;
  const control: CacheControl = { type: 'ephemeral', ...(ttl === undefined ? {} : { ttl }) };
  const all = [...withBreakpoint(tools.local, control), ...withBreakpoint(tools.mcp, control)];
  // An empty block is refused, and so is a breakpoint on one.
  const blocks: AnthropicTextBlock[] =
    system.trim() === '' ? [] : [{ type: 'text', text: system, cache_control: control }];
  const late = dynamic.filter((text) => text !== undefined && text.trim() !== '').join('\n\n');
  if (late !== '') blocks.push({ type: 'text', text: late });
  const used = [...all, ...blocks].filter(({ cache_control }) => cache_control !== undefined).length;
  return { tools: all, system: blocks, breakpointsLeft: MAX_BREAKPOINTS - used };
}

/** Copies of which the last one that can carry it has the breakpoint; breakpoints that came along are taken off. */
function withBreakpoint<T extends AnthropicTool>(
  tools: readonly T[],
  control: CacheControl,
): (T & { cache_control?: CacheControl })[] {
  const last = tools.findLastIndex(({ defer_loading }) => defer_loading !== true);
  return tools.map((tool, index) => {
    const copy: T & { cache_control?: CacheControl } = { ...tool };
    delete copy.cache_control;
    if (index === last) copy.cache_control = control;
    return copy;
  });
}
