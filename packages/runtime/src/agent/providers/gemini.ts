/**
 * Google's Gemini API: function declarations with `parametersJsonSchema`, and function responses.
 *
 * | limit | from |
 * |---|---|
 * | name starts with a letter or underscore; letters, digits, `_`, `.`, `-`; at most 64 | API reference, `FunctionDeclaration.name` |
 * | parameter names | the reference names letters, digits, underscores for `parameters`; none for `parametersJsonSchema`, where dots and dashes are let through |
 * | at most 512 declarations | API reference, `Tool.functionDeclarations` |
 * | keywords | guide "Structured output", JSON Schema support: the rest is ignored there and told in words here |
 * | format `date-time` only | error "only 'enum' and 'date-time' are supported for STRING type" |
 * | enums of strings and numbers, none empty, types said, arrays with items | guide "Structured output"; errors "cannot be empty", "missing field", "enum only allowed for STRING type" |
 * | `required` names described properties | error "property is not defined" |
 * | levels | error "exceeds the maximum allowed nesting depth"; no number is published; the refusals that people report had six or more |
 * | images png, jpeg, webp, heic, heif; audio wav, mp3, aiff, aac, ogg, flac; requests of 20 MB with what is inline | guides "Image understanding", "Audio understanding" |
 */
import {
  fitTools,
  type MediaRules,
  NO_OUTPUT,
  type ProviderProfile,
  type ToolLimits,
  textAndMedia,
} from './profile.js';
import { ownBounds, type SchemaNode, type SchemaRules } from './schema-rules.js';

/** An entry of `functionDeclarations`. */
export interface GeminiFunction {
  name: string;
  description?: string;
  /** Absent for a function without parameters. */
  parametersJsonSchema?: SchemaNode;
}

/** A part of that content: an answer, or media shown behind the answers. */
export type GeminiPart =
  | { functionResponse: { id?: string; name: string; response: { output: string } | { error: string } } }
  | { text: string }
  | { inlineData: { mimeType: string; data: string } };

/** The content that answers all calls of one turn. */
export interface GeminiContent {
  role: 'user';
  parts: GeminiPart[];
}

const rules: SchemaRules = {
  provider: 'Gemini',
  keywords: new Set([
    'type',
    'title',
    'description',
    'enum',
    'format',
    'minimum',
    'maximum',
    'properties',
    'required',
    'additionalProperties',
    'prefixItems',
    'items',
    'minItems',
    'maxItems',
    'anyOf',
  ]),
  formats: new Set(['date-time']),
  propertyName: /^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/,
  allOf: false,
  oneOf: false,
  typeLists: false,
  tuples: false,
  needsItems: true,
  needsType: true,
  definesRequired: true,
  plainEnums: true,
  maxDepth: 5,
  maxProperties: ownBounds.maxProperties,
  maxEnumValues: ownBounds.maxEnumValues,
  maxSchemaBytes: ownBounds.maxSchemaBytes,
};

const limits: ToolLimits = {
  maxTools: 512,
  name: /^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/,
  maxDescription: Number.POSITIVE_INFINITY,
};

const media: MediaRules = {
  images: new Set(['image/png', 'image/jpeg', 'image/webp', 'image/heic', 'image/heif']),
  audio: new Set([
    'audio/wav',
    'audio/mpeg',
    'audio/mp3',
    'audio/aiff',
    'audio/aac',
    'audio/ogg',
    'audio/flac',
  ]),
  maxEncodedBytes: 5 * 1024 * 1024,
};

/** The format of Google's Gemini API. */
export const gemini: ProviderProfile<GeminiFunction, GeminiContent> = {
  provider: 'gemini',
  rules,
  limits,
  media,
  tools: (tools) =>
    fitTools(tools, rules, limits, ({ name, description, schema }) => ({
      name,
      ...(description !== '' && { description }),
      ...(!isEmpty(schema) && { parametersJsonSchema: schema }),
    })),
  toolResults: (results) => {
    if (results.length === 0) return [];
    const answers: GeminiPart[] = [];
    const shown: GeminiPart[] = [];
    for (const { callId, name, isError, parts } of results) {
      const before = shown.length / 2;
      const said = textAndMedia(parts, media, (part, number) => `[${part.type} ${before + number}: below]`);
      const text = said.text === '' ? NO_OUTPUT : said.text;
      for (const [index, part] of said.media.entries()) {
        shown.push({ text: `${part.type} ${before + index + 1}, from ${name}:` });
        shown.push({ inlineData: { mimeType: part.mediaType, data: part.data } });
      }
      // The API counts responses against calls by name; the id came with later versions, and may be ours.
      const id = callId === '' ? {} : { id: callId };
      answers.push({
        functionResponse: { ...id, name, response: isError ? { error: text } : { output: text } },
      });
    }
    return [{ role: 'user', parts: [...answers, ...shown] }];
  },
};

function isEmpty(schema: SchemaNode): boolean {
  const { properties, additionalProperties } = schema;
  return (
    Object.keys((properties ?? {}) as object).length === 0 &&
    (additionalProperties === undefined || additionalProperties === false)
  );
}
