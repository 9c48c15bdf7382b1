/**
 * Arguments against the tool's input schema, before anything is sent. Ajv is loaded on first use, and a schema is
 * compiled once for as long as its catalog is held.
 */
import type { ErrorObject, ValidateFunction } from 'ajv';

/** Whether arguments fit a tool's input schema; `skipped` when the schema itself cannot be used. */
export type Verdict =
  | { is: 'valid' }
  | { is: 'invalid'; problems: string[] }
  | { is: 'skipped'; why: string };

const MOST_PROBLEMS = 10;
const options = { strict: false, logger: false, allErrors: true, addUsedSchema: false } as const;

type Check = { fits: ValidateFunction } | { why: string };
const compiled = new WeakMap<object, Promise<Check>>();

/** `$schema` chooses the dialect, 2020-12 otherwise. A schema that cannot be compiled is skipped, not an error. */
export async function validate(args: unknown, schema: Record<string, unknown>): Promise<Verdict> {
  const known = compiled.get(schema);
  const compiling = known ?? compile(schema);
  if (known === undefined) compiled.set(schema, compiling);
  const check = await compiling;
  if ('why' in check) return { is: 'skipped', why: check.why };
  try {
    if (check.fits(args) === true) return { is: 'valid' };
    const problems = [...new Set((check.fits.errors ?? []).map(sentence))];
    return { is: 'invalid', problems: problems.slice(0, MOST_PROBLEMS) };
  } catch (error) {
    return { is: 'skipped', why: (error as Error).message };
  }
}

async function compile({ $schema: named, ...body }: Record<string, unknown>): Promise<Check> {
  const dialect = typeof named === 'string' ? named : '2020-12';
  try {
    const ajv = await engine(dialect);
    if (ajv === undefined) return { why: `unknown JSON Schema dialect ${dialect}` };
    return { fits: ajv.compile(body) };
  } catch (error) {
    return { why: (error as Error).message };
  }
}

/** By way of `default`: where this is bundled, a CommonJS module has no other name when it is imported late. */
async function engine(dialect: string) {
  const formats = (await import('ajv-formats')).default as unknown as (ajv: object) => void;
  if (/2020-12/.test(dialect)) {
    const { Ajv2020 } = (await import('ajv/dist/2020.js')).default;
    const ajv = new Ajv2020(options);
    formats(ajv);
    return ajv;
  }
  if (/2019-09/.test(dialect)) {
    const { Ajv2019 } = (await import('ajv/dist/2019.js')).default;
    const ajv = new Ajv2019(options);
    formats(ajv);
    return ajv;
  }
  if (!/draft-0?[467]/.test(dialect)) return undefined;
  const { Ajv } = (await import('ajv')).default;
  const ajv = new Ajv(options);
  formats(ajv);
  return ajv;
}

function sentence({ instancePath, message, keyword, params }: ErrorObject): string {
  const place = instancePath === '' ? 'arguments' : `"${instancePath.slice(1).replaceAll('/', '.')}"`;
  const extra = params as Record<string, unknown>;
  if (keyword === 'additionalProperties') return `${place}: unknown property "${extra.additionalProperty}"`;
  if (keyword === 'enum') return `${place}: must be one of ${JSON.stringify(extra.allowedValues)}`;
  return `${place}: ${message ?? keyword}`;
}
