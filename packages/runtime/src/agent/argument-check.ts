/** Arguments of local tools against their schema, with findings that a model can act on. Ajv is loaded on first use. */
import { BulkheadError } from '@bulkhead/workers';
import type { ErrorObject, ValidateFunction } from 'ajv';
import type { z } from 'zod';
import type { JsonSchema } from './tool.js';

export type ArgumentVerdict =
  | { readonly ok: true; readonly args: unknown }
  | { readonly ok: false; readonly problems: readonly string[] };

export type ArgumentCheck = (args: unknown) => ArgumentVerdict | Promise<ArgumentVerdict>;

/** A model corrects a few mistakes at a time; more are noise. */
const MOST_PROBLEMS = 10;
const options = { strict: false, logger: false, allErrors: true, addUsedSchema: false } as const;

export function zodCheck(schema: z.ZodType): ArgumentCheck {
  return async (args) => {
    const parsed = await schema.safeParseAsync(args);
    if (parsed.success) return { ok: true, args: parsed.data };
    const problems = parsed.error.issues.map(({ path, message }) => `${place(path.map(String))}: ${message}`);
    return { ok: false, problems: problems.slice(0, MOST_PROBLEMS) };
  };
}

/** Compiled at the first call. @throws {BulkheadError} `BAD_INPUT` when it cannot be compiled. */
export function schemaCheck(tool: string, schema: JsonSchema): ArgumentCheck {
  let compiled: Promise<ValidateFunction> | undefined;
  return async (args) => {
    compiled ??= compile(tool, schema);
    const validate = await compiled;
    if (validate(args) === true) return { ok: true, args };
    const problems = new Set((validate.errors ?? []).map(sentence));
    return { ok: false, problems: [...problems].slice(0, MOST_PROBLEMS) };
  };
}

async function compile(tool: string, { $schema: dialect, ...body }: JsonSchema): Promise<ValidateFunction> {
  const draft7 = typeof dialect === 'string' && /draft-0?[67]/.test(dialect);
  const [ajv, { default: formats }] = await Promise.all([
    draft7
      ? import('ajv').then(({ Ajv }) => new Ajv(options))
      : import('ajv/dist/2020.js').then(({ Ajv2020 }) => new Ajv2020(options)),
    import('ajv-formats'),
  ]);
  (formats as unknown as (engine: object) => void)(ajv);
  try {
    return ajv.compile(body);
  } catch (cause) {
    const why = (cause as Error).message;
    throw new BulkheadError('BAD_INPUT', `local tool "${tool}" has a schema that cannot be used: ${why}`, {
      tool,
      cause,
    });
  }
}

function sentence({ instancePath, message, keyword, params }: ErrorObject): string {
  const at = place(instancePath.split('/').slice(1));
  const facts: Record<string, unknown> = params;
  if (keyword === 'additionalProperties') return `${at}: unknown property "${facts.additionalProperty}"`;
  if (keyword === 'enum') return `${at}: must be one of ${JSON.stringify(facts.allowedValues)}`;
  return `${at}: ${message ?? keyword}`;
}

function place(path: readonly string[]): string {
  return path.length === 0 ? 'arguments' : `"${path.join('.')}"`;
}
