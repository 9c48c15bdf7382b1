/**
 * What a provider profile is: the tools of an agent in a provider's words, and the answers of those tools as that
 * provider's messages. The profiles are plain values; each stands in a file of its own with the limits it goes by.
 */
import type { JsonSchema, ResultPart, Tool } from '../tool.js';
import { type RewrittenSchema, rewriteSchema } from './schema-rewrite.js';
import { type SchemaNode, type SchemaRules, Unexpressible } from './schema-rules.js';

/** The formats that there are. */
export type ProviderName = 'anthropic' | 'openai-chat' | 'openai-responses' | 'gemini' | 'ai-sdk';

/** The tools as a request names them. Equal tools give equal bytes, in every run. */
export interface ProviderTools<Definition> {
  /** In the order of the tools that were given. */
  readonly definitions: readonly Definition[];
  /** Tools that this provider cannot be offered; `reason` is a sentence. */
  readonly omitted: readonly { readonly tool: string; readonly reason: string }[];
  /** What a definition says in words only, or not at all. */
  readonly notes: readonly { readonly tool: string; readonly note: string }[];
  /** The tool behind a name that a model called. */
  readonly byName: ReadonlyMap<string, Tool>;
}

/** The answer to one call of a model. */
export interface ModelResult {
  /** The model's id of the call. */
  readonly callId: string;
  /** The name that the model called. */
  readonly name: string;
  readonly isError: boolean;
  readonly parts: readonly ResultPart[];
}

/** Media that a provider takes in a tool's answer. */
export interface MediaRules {
  readonly images: ReadonlySet<string>;
  readonly audio: ReadonlySet<string>;
  /** Of one image or sound as base64 text. */
  readonly maxEncodedBytes: number;
}

export interface ToolLimits {
  /** Tools in one request. */
  readonly maxTools: number;
  readonly name: RegExp;
  /** Code points of a tool's description. */
  readonly maxDescription: number;
}

/** One provider's format: what a tool may look like, and how answers are sent. */
export interface ProviderProfile<Definition, Message> {
  readonly provider: ProviderName;
  readonly rules: SchemaRules;
  readonly limits: ToolLimits;
  readonly media: MediaRules;
  /** Rewrites copies of the definitions until the provider takes them; what it could not be offered is in `omitted`. */
  tools(tools: Iterable<Tool>): ProviderTools<Definition>;
  /** The messages, or input items, that answer all calls of one turn of the model. */
  toolResults(results: readonly ModelResult[]): Message[];
}

/** A tool whose schema the provider takes. */
export interface FittedTool {
  readonly name: string;
  readonly description: string;
  readonly schema: SchemaNode;
  readonly tool: Tool;
}

/** A catalog keeps its schema objects from revision to revision, so that each is rewritten once for each provider. */
const rewritten = new WeakMap<SchemaRules, WeakMap<JsonSchema, RewrittenSchema | Unexpressible>>();

export function fitTools<Definition>(
  tools: Iterable<Tool>,
  rules: SchemaRules,
  limits: ToolLimits,
  define: (tool: FittedTool) => Definition,
): ProviderTools<Definition> {
  const definitions: Definition[] = [];
  const omitted: { tool: string; reason: string }[] = [];
  const notes: { tool: string; note: string }[] = [];
  const byName = new Map<string, Tool>();
  for (const tool of tools) {
    const { name } = tool;
    const problem = unfit(name, byName, limits, rules.provider);
    const schema = problem === undefined ? fittedSchema(tool.inputSchema, rules) : undefined;
    if (schema === undefined || schema instanceof Unexpressible) {
      omitted.push({ tool: name, reason: problem ?? schema?.message ?? '' });
      continue;
    }
    const description = shortened(tool.description.toWellFormed().trim(), limits.maxDescription);
    if (description.cut)
      notes.push({ tool: name, note: `its description was cut to ${limits.maxDescription} characters` });
    for (const note of schema.notes) notes.push({ tool: name, note });
    byName.set(name, tool);
    definitions.push(define({ name, description: description.text, schema: schema.schema, tool }));
  }
  return { definitions, omitted, notes, byName };
}

function unfit(
  name: string,
  taken: ReadonlyMap<string, Tool>,
  limits: ToolLimits,
  provider: string,
): string | undefined {
  if (!limits.name.test(name)) return `its name does not match ${limits.name}, which ${provider} asks for`;
  if (taken.has(name)) return 'another tool of the same name stands before it';
  if (taken.size >= limits.maxTools) return `${provider} takes at most ${limits.maxTools} tools in a request`;
  return undefined;
}

function fittedSchema(schema: JsonSchema, rules: SchemaRules): RewrittenSchema | Unexpressible {
  let known = rewritten.get(rules);
  if (known === undefined) {
    known = new WeakMap();
    rewritten.set(rules, known);
  }
  let result = known.get(schema);
  if (result === undefined) {
    result = attempted(schema, rules);
    known.set(schema, result);
  }
  return result;
}

function attempted(schema: JsonSchema, rules: SchemaRules): RewrittenSchema | Unexpressible {
  try {
    return rewriteSchema(schema, rules);
  } catch (error) {
    // One tool that cannot be read must not take the others with it, whatever its schema does.
    if (error instanceof Unexpressible) return error;
    return new Unexpressible(`its schema cannot be read (${error instanceof Error ? error.message : error})`);
  }
}

/** Cut between words, by code points. */
function shortened(text: string, max: number): { text: string; cut: boolean } {
  if (text.length <= max) return { text, cut: false };
  const points = [...text];
  if (points.length <= max) return { text, cut: false };
  const head = points.slice(0, max - 1).join('');
  const space = head.search(/\s\S*$/);
  return { text: `${space > max / 2 ? head.slice(0, space) : head}…`, cut: true };
}

/** The text of an answer where a provider has no field that says "this is an error". */
export function errorText(text: string): string {
  return text === ''
    ? 'The tool reported an error and said nothing more.'
    : `The tool reported an error:\n${text}`;
}

/** What stands in an answer that holds nothing: providers refuse empty text. */
export const NO_OUTPUT = '(no output)';

export type MediaPart = Exclude<ResultPart, { type: 'text' }>;

/** All text in order, and the media for which the text holds a mark. */
export function textAndMedia(
  parts: readonly ResultPart[],
  rules: MediaRules,
  mark: (part: MediaPart, number: number) => string,
): { text: string; media: MediaPart[] } {
  const media: MediaPart[] = [];
  const texts = parts.map((part) => {
    if (part.type === 'text') return part.text;
    if (!takes(part, rules)) return `[${part.type} of type ${part.mediaType}: this model cannot be shown it]`;
    media.push(part);
    return mark(part, media.length);
  });
  return { text: texts.filter((text) => text !== '').join('\n'), media };
}

export function takes(part: MediaPart, rules: MediaRules): boolean {
  const types = part.type === 'image' ? rules.images : rules.audio;
  return types.has(part.mediaType) && part.data !== '' && part.data.length <= rules.maxEncodedBytes;
}
