/** Ajv by dialect: `$schema` decides, 2020-12 (the protocol's default) otherwise. Its own chunk, loaded on need. */
import { Ajv, type ValidateFunction } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

const options = {
  strict: false,
  logger: false,
  allErrors: false,
  validateFormats: true,
  addUsedSchema: false,
} as const;
const engines = new Map<string, Ajv>();

/** @throws when the schema cannot be compiled or its dialect is unknown. */
export function compile(schema: Record<string, unknown>): ValidateFunction {
  const dialect = typeof schema.$schema === 'string' ? schema.$schema : '2020-12';
  // The dialect is decided here, so that draft-04/06 and http/https spellings do not fail on a missing meta-schema.
  const { $schema: _, ...body } = schema;
  return engine(dialect).compile(body);
}

function engine(dialect: string): Ajv {
  const kind = /2020-12/.test(dialect)
    ? '2020'
    : /2019-09/.test(dialect)
      ? '2019'
      : /draft-0?[467]/.test(dialect)
        ? '7'
        : undefined;
  if (kind === undefined) throw new Error(`unknown JSON Schema dialect ${dialect}`);
  let found = engines.get(kind);
  if (found === undefined) {
    found =
      kind === '2020' ? new Ajv2020(options) : kind === '2019' ? new Ajv2019(options) : new Ajv(options);
    (formats as unknown as (ajv: Ajv) => void)(found);
    engines.set(kind, found);
  }
  return found;
}
