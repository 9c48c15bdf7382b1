/**
 * Reads a JSON Schema of any dialect (draft 3 to 2020-12, OpenAPI's additions) into a tree of our own in 2020-12 words:
 * references put in place, cycles opened, boolean schemas made objects. The server's object is never touched. The input
 * is remote: depth and parts are bounded, and nothing is fetched.
 */
import { isRecord } from '../../content.js';
import { keywordValue } from './schema-keywords.js';
import { SchemaRefs } from './schema-refs.js';
import { type SchemaNode, Unexpressible } from './schema-rules.js';

/** Parts of the tree, references counted each time they are put in place. */
const MAX_PARTS = 20_000;
/** From here on references are no longer put in place: a few of them that name each other grow without end. */
const MAX_INLINED_PARTS = 2_000;
/** Deeper parts become open values; no provider takes half as many levels. */
const MAX_LEVELS = 64;

const ONE = new Set(['if', 'then', 'else', 'contains', 'propertyNames']);
/** A schema, or a boolean that stays one. */
const ONE_OR_BOOLEAN = new Set(['additionalProperties', 'unevaluatedProperties', 'unevaluatedItems']);
const LIST = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
const NAMED = new Set(['properties', 'patternProperties', 'dependentSchemas']);
const REFERENCES = ['$ref', '$dynamicRef', '$recursiveRef'];
const ANNOTATIONS = new Set(['title', 'description', 'default', 'examples', 'deprecated']);

export interface ReadSchema {
  root: SchemaNode;
  /** What was lost, as sentences. */
  notes: string[];
}

/** @throws {Unexpressible} When a part is no schema, or there are too many parts. */
export function readSchema(schema: Readonly<Record<string, unknown>>): ReadSchema {
  const reader = new Reader(schema);
  const root = reader.read(schema, '');
  return { root, notes: [...reader.notes] };
}

class Reader {
  readonly notes = new Set<string>();
  readonly #refs: SchemaRefs;
  /** What is being read, from the root down: meeting one of these again is a cycle. */
  readonly #trail = new Set<object>();
  /** Up to draft 7 a `$ref` silences whatever stands beside it. */
  readonly #refsSilence: boolean;
  #parts = 0;

  constructor(schema: Readonly<Record<string, unknown>>) {
    this.#refs = new SchemaRefs(schema);
    this.#refsSilence = typeof schema.$schema === 'string' && /draft-0[3467]/.test(schema.$schema);
  }

  read(schema: unknown, path: string): SchemaNode {
    if (schema === true) return {};
    if (schema === false) return { not: {} };
    if (!isRecord(schema)) {
      throw new Unexpressible(
        `its schema has ${kindOf(schema)} at ${path || 'the root'} where a schema belongs`,
      );
    }
    if (++this.#parts > MAX_PARTS) {
      throw new Unexpressible(`its schema has more than ${MAX_PARTS} parts`);
    }
    if (this.#trail.has(schema)) return this.#cycle(schema, path);
    if (this.#trail.size >= MAX_LEVELS) {
      this.notes.add(`what lies deeper than ${MAX_LEVELS} levels may be anything`);
      return {};
    }
    this.#trail.add(schema);
    const node = this.#keywords(schema, path);
    const ref = REFERENCES.map((key) => schema[key]).find((value) => typeof value === 'string');
    const whole = typeof ref === 'string' ? this.#joined(node, ref, path) : node;
    this.#trail.delete(schema);
    return whole;
  }

  #keywords(schema: Record<string, unknown>, path: string): SchemaNode {
    const node: SchemaNode = {};
    for (const [key, value] of Object.entries(schema)) {
      const at = `${path}/${key}`;
      if (key === 'not') this.#not(node, value, at);
      else if (ONE.has(key)) node[key] = this.read(value, at);
      else if (ONE_OR_BOOLEAN.has(key)) node[key] = typeof value === 'boolean' ? value : this.read(value, at);
      else if (LIST.has(key)) node[key] = this.#list(value, at);
      else if (NAMED.has(key)) node[key] = this.#named(value, at);
      else if (key === 'items') this.#items(node, schema, path);
      else if (key === 'dependencies') this.#dependencies(node, value, at);
      else {
        const read = keywordValue(key, value, at);
        if (read !== undefined) node[key] = read;
      }
    }
    this.#older(node, schema);
    return node;
  }

  /** A part that had to be opened would forbid everything here. */
  #not(node: SchemaNode, value: unknown, at: string): void {
    const part = this.read(value, at);
    const isOpen = Object.keys(part).every((key) => ANNOTATIONS.has(key));
    const meansAll = value === true || (isRecord(value) && Object.keys(value).length === 0);
    if (!isOpen || meansAll) node.not = part;
  }

  #list(value: unknown, at: string): SchemaNode[] {
    if (!Array.isArray(value))
      throw new Unexpressible(`its schema has ${kindOf(value)} at ${at} instead of a list`);
    return value.map((part, index) => this.read(part, `${at}/${index}`));
  }

  #named(value: unknown, at: string): Record<string, SchemaNode> {
    if (!isRecord(value))
      throw new Unexpressible(`its schema has ${kindOf(value)} at ${at} instead of an object`);
    return Object.fromEntries(
      Object.entries(value).map(([name, part]) => [name.toWellFormed(), this.read(part, `${at}/${name}`)]),
    );
  }

  /** Until 2019-09 a list of `items` was a tuple and `additionalItems` its rest. */
  #items(node: SchemaNode, schema: Record<string, unknown>, path: string): void {
    const { items, additionalItems } = schema;
    if (!Array.isArray(items)) {
      node.items = this.read(items, `${path}/items`);
      return;
    }
    node.prefixItems = this.#list(items, `${path}/items`);
    if (additionalItems !== undefined) node.items = this.read(additionalItems, `${path}/additionalItems`);
  }

  #dependencies(node: SchemaNode, value: unknown, at: string): void {
    if (!isRecord(value)) return;
    const names: Record<string, unknown> = {};
    const schemas: Record<string, SchemaNode> = {};
    for (const [name, needs] of Object.entries(value)) {
      if (Array.isArray(needs)) names[name] = needs.filter((need) => typeof need === 'string');
      else if (typeof needs !== 'string') schemas[name] = this.read(needs, `${at}/${name}`);
    }
    if (Object.keys(names).length > 0) node.dependentRequired = names;
    if (Object.keys(schemas).length > 0) node.dependentSchemas = schemas;
  }

  /** What older drafts and OpenAPI say in another way. */
  #older(node: SchemaNode, schema: Record<string, unknown>): void {
    for (const [exclusive, bound] of [
      ['exclusiveMinimum', 'minimum'],
      ['exclusiveMaximum', 'maximum'],
    ] as const) {
      if (schema[exclusive] !== true || node[bound] === undefined) continue;
      node[exclusive] = node[bound];
      delete node[bound];
    }
    // Draft 3 marks a property as required inside of it.
    if (isRecord(schema.properties)) {
      const marked = Object.entries(schema.properties)
        .filter(([, part]) => isRecord(part) && part.required === true)
        .map(([name]) => name.toWellFormed());
      const listed = Array.isArray(node.required) ? node.required : [];
      if (marked.length > 0) node.required = [...new Set([...listed, ...marked])];
    }
    if (schema.nullable === true) allowNull(node);
  }

  #joined(beside: SchemaNode, ref: string, path: string): SchemaNode {
    const target = this.#refs.find(ref);
    const annotations = Object.fromEntries(Object.entries(beside).filter(([key]) => ANNOTATIONS.has(key)));
    const rest = this.#refsSilence ? annotations : beside;
    if (target === undefined) {
      const what = this.#refs.isRemote(ref) ? 'is defined elsewhere and was not fetched' : 'leads nowhere';
      this.notes.add(`"${shown(ref)}" at ${path || 'the root'} ${what}: the value may be anything`);
      return withNote(rest, `Defined elsewhere: ${shown(ref)}.`);
    }
    if (this.#parts > MAX_INLINED_PARTS) {
      this.notes.add(`its references grow beyond ${MAX_INLINED_PARTS} parts: some values may be anything`);
      return withNote(rest, `Shape: ${shown(nameOf(ref))}.`);
    }
    const read =
      isRecord(target) && this.#trail.has(target) ? this.#cycle(target, path, ref) : this.read(target, path);
    const constrains = Object.keys(rest).some((key) => !ANNOTATIONS.has(key));
    // A description beside the reference is about this use of the shape, and says more than the shape's own.
    return constrains ? { ...rest, allOf: [read, ...asList(rest.allOf)] } : { ...read, ...rest };
  }

  #cycle(target: Record<string, unknown>, path: string, ref?: string): SchemaNode {
    const title = typeof target.title === 'string' ? target.title : nameOf(ref ?? '');
    this.notes.add(`the shape at ${path || 'the root'} contains itself: its inner copies may be anything`);
    // A union that contains itself may be of any type.
    const type = ['object', 'array'].find((name) => name === target.type);
    const words = title === '' ? 'of the whole' : `"${shown(title)}"`;
    return { ...(type !== undefined && { type }), description: `Again of the shape ${words}.` };
  }
}

/** Null beside what a schema takes: OpenAPI's `nullable`. */
function allowNull(node: SchemaNode): void {
  if (node.type === 'null') return;
  if (typeof node.type === 'string') node.type = [node.type, 'null'];
  else if (Array.isArray(node.type) && !node.type.includes('null')) node.type = [...node.type, 'null'];
  else if (Array.isArray(node.anyOf)) node.anyOf = [...node.anyOf, { type: 'null' }];
  if (Array.isArray(node.enum) && !node.enum.includes(null)) node.enum = [...node.enum, null];
}

export function withNote(node: SchemaNode, note: string): SchemaNode {
  const before = typeof node.description === 'string' ? node.description.trim() : '';
  return { ...node, description: before === '' ? note : `${before} ${note}` };
}

function asList(value: unknown): SchemaNode[] {
  return Array.isArray(value) ? value : [];
}

/** The last word of a reference: `#/$defs/Node` is called Node. */
function nameOf(ref: string): string {
  return ref.split(/[/#]/).pop() ?? '';
}

/** Foreign text in a sentence: short, and on one line. */
function shown(text: string): string {
  const line = text.replace(/\s+/g, ' ').toWellFormed();
  return line.length > 100 ? `${[...line].slice(0, 99).join('')}…` : line;
}

export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`;
}
