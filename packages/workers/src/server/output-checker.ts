/**
 * Checks structured results against the tool's `outputSchema`. Compiled lazily, tool by tool, on the first result;
 * a schema that cannot be compiled only switches off the check for its tool. A hostile pattern can spin this thread:
 * that is what the watchdog is for.
 */
import type { ValidateFunction } from 'ajv';
import type { ToolDefinition } from '../protocol.js';
import { parseLarge } from './envelope.js';

/** Results above this are not parsed for a check. */
const CHECK_MAX_BYTES = 8 * 1024 * 1024;

type Compiled = ValidateFunction | { skipped: string };

export class OutputChecker {
  #schemas = new Map<string, Record<string, unknown>>();
  #compiled = new Map<string, Compiled>();
  #compile: ((schema: Record<string, unknown>) => ValidateFunction) | undefined;

  /** Takes the schemas of a fresh tool list; unchanged ones keep their compiled form. */
  async learn(tools: readonly ToolDefinition[]): Promise<void> {
    const schemas = new Map<string, Record<string, unknown>>();
    for (const tool of tools) {
      if (tool.outputSchema === undefined) continue;
      schemas.set(tool.name, tool.outputSchema);
      const before = this.#schemas.get(tool.name);
      if (before === undefined || JSON.stringify(before) !== JSON.stringify(tool.outputSchema)) {
        this.#compiled.delete(tool.name);
      }
    }
    this.#schemas = schemas;
    if (schemas.size > 0) this.#compile ??= (await import('./ajv.js')).compile;
  }

  /** Whether results of this tool are checked at all. */
  checks(tool: string): boolean {
    return this.#schemas.size > 0 && this.#schemas.has(tool);
  }

  /** Warnings about a result; empty when it conforms or nothing is declared. Never runs on error results. */
  check(tool: string, result: Record<string, unknown>): string[] {
    const schema = this.#schemas.get(tool);
    if (schema === undefined || result.isError === true) return [];
    const structured = result.structuredContent;
    if (structured === undefined || structured === null) {
      return [`tool "${tool}" declares an outputSchema but sent no structuredContent`];
    }
    const validate = this.#validator(tool, schema);
    if ('skipped' in validate)
      return [`the outputSchema of tool "${tool}" was not checked: ${validate.skipped}`];
    if (validate(structured)) return [];
    const first = validate.errors?.[0];
    const where =
      first === undefined || first.instancePath === ''
        ? 'structuredContent'
        : `structuredContent${first.instancePath}`;
    return [`tool "${tool}" does not keep its outputSchema: ${where} ${first?.message ?? 'is invalid'}`];
  }

  /** The same for a result that was not parsed: it is parsed only if there is something to check and it is safe. */
  checkLarge(tool: string, message: Buffer): string[] {
    if (!this.#schemas.has(tool)) return [];
    const parsed = message.length > CHECK_MAX_BYTES ? undefined : parseLarge(message);
    const result = parsed?.result;
    if (typeof result !== 'object' || result === null) {
      return [
        `the result of tool "${tool}" (${message.length} bytes) is too large to be checked against its outputSchema`,
      ];
    }
    return this.check(tool, result as Record<string, unknown>);
  }

  #validator(tool: string, schema: Record<string, unknown>): Compiled {
    let compiled = this.#compiled.get(tool);
    if (compiled === undefined) {
      try {
        compiled = (this.#compile as (schema: Record<string, unknown>) => ValidateFunction)(schema);
      } catch (error) {
        compiled = { skipped: error instanceof Error ? error.message : String(error) };
      }
      this.#compiled.set(tool, compiled);
    }
    return compiled;
  }
}
