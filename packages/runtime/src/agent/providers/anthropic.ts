/**
 * Anthropic's Messages API: `tools` and `tool_result` blocks.
 *
 * | limit | from |
 * |---|---|
 * | name `^[a-zA-Z0-9_-]{1,64}$`, schema is JSON Schema 2020-12 with `type: "object"` | docs "Implement tool use"; SDK type `Tool` |
 * | no `oneOf`, `anyOf`, `allOf` at the root | error "input_schema does not support oneOf, allOf, or anyOf at the top level"; docs "Self-hosted sandboxes" |
 * | no `$ref`; property names `^[a-zA-Z0-9_.-]{1,64}$` | docs "Self-hosted sandboxes"; error "Property keys should match pattern" |
 * | formats | docs "Structured outputs": other formats are passed on to the model as plain annotations, so all of 2020-12 stay |
 * | images jpeg, png, gif, webp, 5 MB each as base64, not empty | docs "Vision"; SDK type `Base64ImageSource` |
 * | `tool_result` holds text only if `is_error` is set; text is not empty | errors of the API |
 */
import {
  errorText,
  fitTools,
  type MediaRules,
  type ModelResult,
  NO_OUTPUT,
  type ProviderProfile,
  type ToolLimits,
  takes,
} from './profile.js';
import {
  jsonSchemaFormats,
  jsonSchemaKeywords,
  ownBounds,
  type SchemaNode,
  type SchemaRules,
} from './schema-rules.js';

/** An entry of `tools` of the Messages API. */
export interface AnthropicTool {
  name: string;
  description?: string;
  input_schema: SchemaNode & { type: 'object' };
}

export type AnthropicImageType = 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp';

/** Content of a `tool_result` block. */
export type AnthropicBlock =
  | { type: 'text'; text: string }
  | { type: 'image'; source: { type: 'base64'; media_type: AnthropicImageType; data: string } };

/** The answer to one `tool_use` block. */
export interface AnthropicToolResult {
  type: 'tool_result';
  tool_use_id: string;
  content: AnthropicBlock[];
  is_error?: true;
}

/** The user message that answers all calls of one turn. */
export interface AnthropicMessage {
  role: 'user';
  content: AnthropicToolResult[];
}

const rules: SchemaRules = {
  provider: 'Anthropic',
  keywords: new Set(jsonSchemaKeywords),
  formats: new Set(jsonSchemaFormats),
  propertyName: /^[a-zA-Z0-9_.-]{1,64}$/,
  allOf: true,
  oneOf: true,
  typeLists: true,
  tuples: true,
  needsItems: false,
  needsType: false,
  definesRequired: false,
  plainEnums: false,
  ...ownBounds,
};

const limits: ToolLimits = {
  maxTools: Number.POSITIVE_INFINITY,
  name: /^[a-zA-Z0-9_-]{1,64}$/,
  maxDescription: Number.POSITIVE_INFINITY,
};

const media: MediaRules = {
  images: new Set<AnthropicImageType>(['image/jpeg', 'image/png', 'image/gif', 'image/webp']),
  audio: new Set(),
  maxEncodedBytes: 5 * 1024 * 1024,
};

/** The format of Anthropic's Messages API. */
export const anthropic: ProviderProfile<AnthropicTool, AnthropicMessage> = {
  provider: 'anthropic',
  rules,
  limits,
  media,
  tools: (tools) =>
    fitTools(tools, rules, limits, ({ name, description, schema }) => ({
      name,
      ...(description !== '' && { description }),
      input_schema: { ...schema, type: 'object' },
    })),
  // All answers of one turn belong into one message, or the API misses the others.
  toolResults: (results) =>
    results.length === 0 ? [] : [{ role: 'user', content: results.map(anthropicToolResult) }],
};

/** One answer, for those who build the message themselves (cache breakpoints, say). */
export function anthropicToolResult({ callId, parts, isError }: ModelResult): AnthropicToolResult {
  const content: AnthropicBlock[] = [];
  for (const part of parts) {
    if (part.type === 'text') {
      if (part.text.trim() !== '') content.push({ type: 'text', text: part.text });
    } else if (part.type === 'image' && takes(part, media)) {
      const media_type = part.mediaType as AnthropicImageType;
      content.push({ type: 'image', source: { type: 'base64', media_type, data: part.data } });
    } else {
      content.push({
        type: 'text',
        text: `[${part.type} of type ${part.mediaType}: this model cannot be shown it]`,
      });
    }
  }
  const result: AnthropicToolResult = { type: 'tool_result', tool_use_id: callId, content };
  if (!isError) {
    if (content.length === 0) content.push({ type: 'text', text: NO_OUTPUT });
    return result;
  }
  // With the flag no image may stand beside it; a picture of the error is worth more than the flag.
  if (content.some((block) => block.type === 'image')) {
    return { ...result, content: [{ type: 'text', text: 'The tool reported an error:' }, ...content] };
  }
  if (content.length === 0) content.push({ type: 'text', text: errorText('') });
  return { ...result, is_error: true };
}
