/**
 * Tools of the host itself, in the shape that tools of MCP servers have. Arguments are checked before the tool sees them;
 * what it throws becomes an output that a model can read and act on.
 */
import { BulkheadError } from '@bulkhead/workers';
import { z } from 'zod';
import type { ContentBlock } from '../api.js';
import { isMcpTool } from '../naming.js';
import { type ArgumentCheck, schemaCheck, zodCheck } from './argument-check.js';
import type { Capability, JsonSchema, Tool, ToolContext, ToolOutput } from './tool.js';

/** A text, blocks, or an output; nothing at all is an empty success. */
export type LocalAnswer = string | readonly ContentBlock[] | ToolOutput | undefined;

/** A tool of the host itself; see `defineTool()`. */
export interface LocalToolInit<Args> {
  /** `[A-Za-z0-9_-]{1,64}`; names that begin with `mcp__` belong to tools of servers. */
  name: string;
  /** What a model reads to decide whether to use it. */
  description: string;
  /**
   * A JSON Schema of an object (`{}` for no arguments; 2020-12, or draft-07 when `$schema` says so), or a zod 4 object schema, whose output is
   * what `execute` gets: its defaults and transformations apply.
   */
  inputSchema: JsonSchema | z.ZodType<Args>;
  /** What it may do to the world: at least one. The host's own word, so it is believed. */
  capabilities: Iterable<Capability>;
  /** An error that it throws is told to the model as an output with `isError`. */
  execute(args: Args, context: ToolContext): Promise<LocalAnswer> | LocalAnswer;
}

/**
 * A tool of the host. Its `execute` rejects only when the call was aborted (`CANCELLED`, at once, even if the tool does
 * not listen to its signal) or the schema cannot be compiled (`BAD_INPUT`).
 * @throws {BulkheadError} `BAD_INPUT` for a name, a schema or capabilities that no toolset could take.
 */
export function defineTool<Args extends object = Record<string, unknown>>(init: LocalToolInit<Args>): Tool {
  const { name, description } = init;
  const fail = (what: string): never => {
    throw new BulkheadError('BAD_INPUT', `local tool "${name}" ${what}`, { tool: name });
  };
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
    fail('has a name that model providers refuse: use 1 to 64 letters, digits, "_" and "-"');
  }
  if (isMcpTool(name)) fail('has a name that begins with "mcp__", as those of MCP servers do: rename it');
  const capabilities = new Set(init.capabilities);
  if (capabilities.size === 0) fail('names no capability: give at least one, "unknown" if nothing else fits');
  const { inputSchema } = init;
  const [written, check] = isZod(inputSchema)
    ? [jsonSchemaOf(inputSchema, fail), zodCheck(inputSchema)]
    : [inputSchema, schemaCheck(name, inputSchema)];
  const schema = Object.keys(written).length === 0 ? { type: 'object' } : written;
  if (schema.type !== 'object') fail('has a schema whose "type" is not "object": arguments are an object');

  return {
    name,
    description,
    inputSchema: schema,
    identity: { kind: 'local', tool: name },
    capabilities,
    execute: (args, context) => untilAborted(name, context.signal, () => run(init, check, args, context)),
  };
}

async function run<Args>(
  { name, execute }: LocalToolInit<Args>,
  check: ArgumentCheck,
  args: unknown,
  context: ToolContext,
): Promise<ToolOutput> {
  const verdict = await check(args);
  if (!verdict.ok) {
    const problems = verdict.problems.map((problem) => `- ${problem}`).join('\n');
    return errorOutput(
      `The arguments of ${name} are not valid:\n${problems}\nCorrect them and call it again.`,
    );
  }
  try {
    return outputOf(await execute(verdict.args as Args, context));
  } catch (error) {
    return errorOutput(`${name} failed: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** A failure of a tool, as a model reads it. */
export function errorOutput(text: string): ToolOutput {
  return { isError: true, content: [{ type: 'text', text }] };
}

function outputOf(answer: LocalAnswer): ToolOutput {
  if (answer === undefined) return { isError: false, content: [] };
  if (typeof answer === 'string') return { isError: false, content: [{ type: 'text', text: answer }] };
  return 'isError' in answer ? answer : { isError: false, content: answer };
}

function untilAborted<T>(name: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () =>
      reject(
        new BulkheadError('CANCELLED', `${name}: the call was cancelled`, {
          tool: name,
          cause: signal.reason,
        }),
      );
    if (signal.aborted) return stop();
    signal.addEventListener('abort', stop, { once: true });
    work()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', stop));
  });
}

function isZod(schema: object): schema is z.ZodType {
  return '_zod' in schema;
}

function jsonSchemaOf(schema: z.ZodType, fail: (what: string) => never): JsonSchema {
  try {
    // What the model writes, before defaults and transformations.
    const { $schema: _, ...body } = z.toJSONSchema(schema, { io: 'input' });
    return body;
  } catch (error) {
    return fail(`has a zod schema with no form in JSON Schema (${(error as Error).message})`);
  }
}
