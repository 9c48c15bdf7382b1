/**
 * What a provider takes in the schema of a tool's parameters. One object of this kind per provider, in that provider's
 * file, is the table from which schemas are rewritten; nothing else in this folder knows a provider by name.
 */

/** A schema object while it is being read and rewritten; never the one that a server sent. */
export type SchemaNode = Record<string, unknown>;

/** Why a tool cannot be offered to a provider. The message is a sentence about the tool. */
export class Unexpressible extends Error {
  override readonly name = 'Unexpressible';
}

export interface SchemaRules {
  /** For messages: "Anthropic". */
  readonly provider: string;
  /** Keywords that pass; the others are dropped, told in the description where that helps a model. */
  readonly keywords: ReadonlySet<string>;
  /** Values of `format` that pass. */
  readonly formats: ReadonlySet<string>;
  /** Names of properties that pass, at any depth; undefined means all. */
  readonly propertyName: RegExp | undefined;
  /** Whether `allOf` may stand below the root; else its parts are merged. It never stands at the root. */
  readonly allOf: boolean;
  /** Whether `oneOf` may stand below the root; else it becomes `anyOf`. */
  readonly oneOf: boolean;
  /** Whether `type` may name more than one type besides null. */
  readonly typeLists: boolean;
  /** Whether `prefixItems` passes; else a tuple becomes a list of any of its items. */
  readonly tuples: boolean;
  /** Whether every array must say what its items are. */
  readonly needsItems: boolean;
  /** Whether a schema without a type is refused; such a value is spelled out as a union of all types. */
  readonly needsType: boolean;
  /** Whether `required` may only name properties that are described. */
  readonly definesRequired: boolean;
  /** Whether enums hold strings and numbers only, none of them empty. */
  readonly plainEnums: boolean;
  /**
   * Levels of values, the root being the first; a list of plain values counts as one. What is deeper is told in words.
   */
  readonly maxDepth: number;
  /** Properties in the whole schema. */
  readonly maxProperties: number;
  /** Enum values in the whole schema; the enum that goes beyond becomes a sentence. */
  readonly maxEnumValues: number;
  /** JSON text of the schema in UTF-8. A larger one loses levels until it fits. */
  readonly maxSchemaBytes: number;
}

/** What bounds a schema where the provider publishes no number. */
export const ownBounds = {
  maxDepth: 16,
  maxProperties: 5_000,
  maxEnumValues: 1_000,
  maxSchemaBytes: 64 * 1024,
} as const;

/** Keywords of JSON Schema 2020-12 that may stand in a schema without references. */
export const jsonSchemaKeywords: readonly string[] = [
  'type',
  'title',
  'description',
  'enum',
  'const',
  'default',
  'examples',
  'deprecated',
  'format',
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'properties',
  'required',
  'additionalProperties',
  'patternProperties',
  'propertyNames',
  'minProperties',
  'maxProperties',
  'dependentRequired',
  'dependentSchemas',
  'unevaluatedProperties',
  'prefixItems',
  'items',
  'contains',
  'minContains',
  'maxContains',
  'minItems',
  'maxItems',
  'uniqueItems',
  'unevaluatedItems',
  'contentEncoding',
  'contentMediaType',
  'readOnly',
  'writeOnly',
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
];

const ORDER = new Map(jsonSchemaKeywords.map((key, index) => [key, index]));

/** Keywords in one order, whatever order a server had them in, so that equal schemas have equal bytes. */
export function ordered(node: SchemaNode): SchemaNode {
  const place = (key: string) => ORDER.get(key) ?? ORDER.size;
  return Object.fromEntries(Object.entries(node).sort(([a], [b]) => place(a) - place(b)));
}

/** `format` values that JSON Schema 2020-12 defines; all others are inventions such as `uint`. */
export const jsonSchemaFormats: readonly string[] = [
  'date-time',
  'date',
  'time',
  'duration',
  'email',
  'idn-email',
  'hostname',
  'idn-hostname',
  'ipv4',
  'ipv6',
  'uri',
  'uri-reference',
  'iri',
  'iri-reference',
  'uuid',
  'uri-template',
  'json-pointer',
  'relative-json-pointer',
  'regex',
];
