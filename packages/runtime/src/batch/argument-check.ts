/** A rehearsal: the arguments of a line against the input schema of its tool, and the output line that tells. */
import type { Outcome } from '@bulkhead/workers';
import { validate } from '../control/validate.js';
import type { BatchRuntime } from './options.js';
import { checkedLine } from './reply.js';
import type { Item } from './router.js';

type Schema = Record<string, unknown>;

export class ArgumentCheck {
  readonly #runtime: BatchRuntime;
  /** Schemas of the tools of each server that a line has named. */
  readonly #schemas = new Map<string, ReadonlyMap<string, Schema>>();

  constructor(runtime: BatchRuntime) {
    this.#runtime = runtime;
  }

  /** To be asked only once the server is ready: its tools are known from then on. */
  async check({ head, call }: Item): Promise<{ text: string; outcome: Outcome }> {
    const { server = '', tool = '' } = head;
    const tools = this.#toolsOf(server);
    const schema = tools.get(tool);
    if (schema === undefined) {
      const some = [...tools.keys()].slice(0, 10).join(', ') || 'none';
      const message = `server "${server}" has no tool "${tool}"; it has: ${some}`;
      return { text: checkedLine(head, { error: { code: 'UNKNOWN_TOOL', message } }), outcome: 'rejected' };
    }
    const verdict = await validate(JSON.parse(call.arguments), schema);
    if (verdict.is === 'valid') return { text: checkedLine(head), outcome: 'ok' };
    if (verdict.is === 'skipped') {
      const note = `the arguments were not checked, the schema cannot be used: ${verdict.why}`;
      return { text: checkedLine(head, { note }), outcome: 'ok' };
    }
    const message = `line ${head.line}: the arguments do not fit "${tool}" of "${server}": ${verdict.problems.join('; ')}`;
    return {
      text: checkedLine(head, { error: { code: 'INVALID_ARGUMENTS', message } }),
      outcome: 'rejected',
    };
  }

  #toolsOf(server: string): ReadonlyMap<string, Schema> {
    let tools = this.#schemas.get(server);
    if (tools === undefined) {
      const own = this.#runtime.tools().filter((tool) => tool.server === server);
      tools = new Map(own.map(({ name, inputSchema }) => [name, inputSchema as Schema]));
      this.#schemas.set(server, tools);
    }
    return tools;
  }
}
