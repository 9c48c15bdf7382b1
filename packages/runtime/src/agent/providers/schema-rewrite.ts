/**
 * Rewrites a schema that was read into what one provider takes, by that provider's rules. Every rule that takes
 * something away leaves a word about it in the description, where a model reads it.
 */
import { isRecord } from '../../content.js';
import { isPlain, isPlainList, withoutInside } from './schema-levels.js';
import {
  asOneObject,
  isImpossible,
  partsOf,
  propertiesOf,
  propertyOf,
  requiredOf,
  typesOf,
  withoutAllOf,
} from './schema-merge.js';
import { type ReadSchema, readSchema, withNote } from './schema-reader.js';
import { ordered, type SchemaNode, type SchemaRules, Unexpressible } from './schema-rules.js';
import { sketch } from './schema-sketch.js';
import { openValue, plainEnum, spelledTypes, withType } from './schema-values.js';
import { withWords } from './schema-words.js';

export interface RewrittenSchema {
  schema: SchemaNode;
  /** What was lost, as sentences. */
  notes: string[];
}

const ROOT_FORBIDDEN = ['enum', 'const', 'not', 'default', 'examples', 'discriminator', 'title'];
/** Levels that are tried when a schema is too large as a whole. */
const SMALLER = [6, 4, 3, 2, 1];
/** Keywords whose schema is about the value itself and not about one inside it. */
const HERE = new Set(['not', 'if', 'then', 'else']);
/** @throws {Unexpressible} With the reason why no form of it would be taken. */
export function rewriteSchema(
  schema: Readonly<Record<string, unknown>>,
  rules: SchemaRules,
): RewrittenSchema {
  const read = readSchema(schema);
  const levels = [rules.maxDepth, ...SMALLER.filter((level) => level < rules.maxDepth)];
  for (const maxDepth of levels) {
    const rewriter = new Rewriter({ ...rules, maxDepth }, read);
    const rewritten = rewriter.root();
    if (Buffer.byteLength(JSON.stringify(rewritten)) > rules.maxSchemaBytes) continue;
    if (maxDepth < rules.maxDepth) {
      rewriter.notes.add(
        `its schema was cut to ${maxDepth} levels, because it is larger than ${rules.maxSchemaBytes} bytes`,
      );
    }
    return { schema: rewritten, notes: [...rewriter.notes] };
  }
  throw new Unexpressible(
    `its schema is larger than ${rules.maxSchemaBytes} bytes, even without its inner parts`,
  );
}

class Rewriter {
  readonly notes: Set<string>;
  readonly #rules: SchemaRules;
  readonly #root: SchemaNode;
  #properties = 0;
  #enumValues = 0;

  constructor(rules: SchemaRules, read: ReadSchema) {
    this.#rules = rules;
    this.#root = read.root;
    this.notes = new Set(read.notes);
  }

  root(): SchemaNode {
    const types = typesOf(this.#root);
    if (types !== undefined && !types.includes('object')) {
      throw new Unexpressible(`its arguments are of type ${types.join(' or ')}, not an object`);
    }
    const merged = asOneObject(this.#root);
    for (const key of ROOT_FORBIDDEN) delete merged[key];
    merged.type = 'object';
    const refused = requiredOf(merged).filter((name) => this.#refuses(name));
    if (refused.length > 0) {
      const { provider, propertyName } = this.#rules;
      const names = refused.map((name) => JSON.stringify(name)).join(', ');
      throw new Unexpressible(
        `it needs an argument called ${names}; ${provider} takes names that match ${propertyName}`,
      );
    }
    const node = this.#node(merged, 1, '');
    return ordered({ ...node, properties: node.properties ?? {} });
  }

  /** `level`: the root is 1, a property or an item one more than what holds it. */
  #node(raw: SchemaNode, level: number, path: string): SchemaNode {
    const rules = this.#rules;
    let node = this.#unions(rules.allOf ? { ...raw } : { ...withoutAllOf(raw) });
    if (isImpossible(node)) {
      return this.#open({ description: 'Leave this out: no value is allowed.' }, level);
    }
    if ('const' in node && !rules.keywords.has('const')) {
      node = { ...node, enum: [node.const] };
      delete node.const;
    }
    node = this.#enum(node);
    if (rules.needsType) node = withType(node);
    if (!rules.typeLists) node = spelledTypes(node);
    node = withWords(node, rules);
    if (level >= rules.maxDepth && !isPlain(node) && !(level === rules.maxDepth && isPlainList(node))) {
      node = withoutInside(node);
      this.notes.add(`below ${path || 'the root'} only words say what is inside`);
    }
    node = this.#children(node, level, path);
    const kept = Object.entries(node).filter(([key]) => rules.keywords.has(key));
    const result = Object.fromEntries(kept);
    const isList = typesOf(result)?.includes('array') === true;
    if (rules.needsItems && isList && !isRecord(result.items)) result.items = this.#open({}, level + 1);
    return rules.needsType && typesOf(result) === undefined && result.anyOf === undefined
      ? this.#open(result, level)
      : ordered(result);
  }

  #open(node: SchemaNode, level: number): SchemaNode {
    const { needsType, maxDepth } = this.#rules;
    return needsType ? ordered({ ...openValue(level <= maxDepth), ...node }) : node;
  }

  /** Alternatives that say nothing go; those that a provider does not know become the one that it knows. */
  #unions(node: SchemaNode): SchemaNode {
    const { discriminator, ...result } = node;
    for (const key of ['anyOf', 'oneOf']) {
      if (!Array.isArray(result[key])) continue;
      const branches = partsOf(result[key])
        .flatMap((branch) => (Object.keys(branch).join() === 'anyOf' ? partsOf(branch.anyOf) : [branch]))
        .filter((branch) => !isImpossible(branch));
      delete result[key];
      if (branches.length === 0 || branches.some((branch) => Object.keys(branch).length === 0)) continue;
      const name = key === 'oneOf' && !this.#rules.oneOf ? 'anyOf' : key;
      if (result[name] === undefined) result[name] = branches;
      else this.notes.add('of two sets of alternatives in one place one was left out');
    }
    if (typeof discriminator !== 'string') return result;
    return withNote(result, `"${discriminator}" tells the forms apart.`);
  }

  #enum(node: SchemaNode): SchemaNode {
    if (!Array.isArray(node.enum)) return node;
    const plain = this.#rules.plainEnums ? plainEnum(node) : node;
    if (!Array.isArray(plain.enum)) return plain;
    this.#enumValues += plain.enum.length;
    if (this.#enumValues <= this.#rules.maxEnumValues) return plain;
    this.#enumValues -= plain.enum.length;
    const { enum: values, ...rest } = plain;
    this.notes.add(`a list of ${values.length} values became a sentence`);
    const shown = values.slice(0, 10).map((value) => JSON.stringify(value));
    return withNote(rest, `One of ${values.length} values, such as ${shown.join(', ')}.`);
  }

  #children(node: SchemaNode, level: number, path: string): SchemaNode {
    const result: SchemaNode = {};
    for (const [key, value] of Object.entries(node)) {
      if (!this.#rules.keywords.has(key) && key !== 'properties') continue;
      const at = `${path}/${key}`;
      switch (key) {
        case 'properties':
        case 'patternProperties':
        case 'dependentSchemas':
          result[key] = this.#named(value as Record<string, SchemaNode>, key, level + 1, at);
          break;
        case 'allOf':
        case 'anyOf':
        case 'oneOf':
          result[key] = partsOf(value).map((part, index) => this.#node(part, level, `${at}/${index}`));
          break;
        case 'prefixItems':
          result[key] = partsOf(value).map((part, index) => this.#node(part, level + 1, `${at}/${index}`));
          break;
        case 'items':
        case 'contains':
        case 'additionalProperties':
        case 'unevaluatedItems':
        case 'unevaluatedProperties':
        case 'propertyNames':
        case 'not':
        case 'if':
        case 'then':
        case 'else':
          if (!isRecord(value)) result[key] = value;
          // `false` in these places is common, and the object that stands for it here is not.
          else if (isImpossible(value) && key !== 'not') result[key] = false;
          else if (key === 'additionalProperties' && Object.keys(value).length === 0) result[key] = true;
          else result[key] = this.#node(value, HERE.has(key) ? level : level + 1, at);
          break;
        default:
          result[key] = value;
      }
    }
    if (result.items === false && this.#rules.needsItems) delete result.items;
    return this.#withoutRefused(result);
  }

  #named(
    schemas: Record<string, SchemaNode>,
    key: string,
    level: number,
    path: string,
  ): Record<string, SchemaNode> {
    const entries = Object.entries(schemas).filter(
      ([, schema]) => key !== 'properties' || !isImpossible(schema),
    );
    this.#properties += entries.length;
    const { maxProperties, provider } = this.#rules;
    if (this.#properties > maxProperties) {
      throw new Unexpressible(
        `its schema has more than ${maxProperties} properties; ${provider} takes no more`,
      );
    }
    return Object.fromEntries(
      entries.map(([name, schema]) => [name, this.#node(schema, level, `${path}/${name}`)]),
    );
  }

  /** Properties whose names are refused are told in words; the object stays open for them. */
  #withoutRefused(node: SchemaNode): SchemaNode {
    const refused = Object.keys(propertiesOf(node)).filter((name) => this.#refuses(name));
    let result = node;
    if (refused.length > 0) {
      const kept = Object.entries(propertiesOf(node)).filter(([name]) => !refused.includes(name));
      const words = refused.map(
        (name) => `${JSON.stringify(name)} (${sketch(propertyOf(node, name) ?? {}) ?? 'any value'})`,
      );
      result = withNote({ ...node, properties: Object.fromEntries(kept) }, `Also takes ${words.join(', ')}.`);
      if (result.additionalProperties === false) delete result.additionalProperties;
      this.notes.add(
        `${refused.map((name) => JSON.stringify(name)).join(', ')} cannot be a property for ${this.#rules.provider} and is told in words`,
      );
    }
    if (result.required === undefined) return result;
    const { required: _, ...rest } = result;
    const properties = propertiesOf(rest);
    const named = requiredOf(result).filter((name) => !this.#refuses(name));
    const names = this.#rules.definesRequired
      ? named.filter((name) => Object.hasOwn(properties, name))
      : named;
    const untold = named.filter((name) => !names.includes(name)).map((name) => JSON.stringify(name));
    if (names.length > 0) rest.required = names;
    return untold.length === 0 ? rest : withNote(rest, `Needs ${untold.join(', ')} as well.`);
  }

  #refuses(name: string): boolean {
    return this.#rules.propertyName !== undefined && !this.#rules.propertyName.test(name);
  }
}
