/**
 * Reads a server's tool list to the last page and validates it tool by tool: a bad tool is quarantined by name with
 * a reason, never the whole list. Requests go through a loose schema, because strict ones reject lists over trifles.
 */
import type { ToolDefinition } from '../protocol.js';
import { nestsDeeper, schemaProblem } from './schema-check.js';

const MAX_PAGES = 200;
const MAX_TOOLS = 10_000;
/** Of a tool's definition. */
const MAX_DEPTH = 200;

export interface ToolList {
  tools: ToolDefinition[];
  quarantined: { name: string; reason: string }[];
  warnings: string[];
}

/** One page of a list, as loosely as it comes. */
export type FetchPage = (cursor: string | undefined) => Promise<Record<string, unknown>>;

export async function readToolList(fetchPage: FetchPage): Promise<ToolList> {
  const list: ToolList = { tools: [], quarantined: [], warnings: [] };
  const names = new Set<string>();
  const cursors = new Set<string>();
  let cursor: string | undefined;
  for (let page = 0; ; page++) {
    const answer = await fetchPage(cursor);
    const tools = Array.isArray(answer.tools) ? answer.tools : [];
    if (!Array.isArray(answer.tools) && answer.tools !== null && answer.tools !== undefined) {
      list.warnings.push('tools/list: "tools" is not an array; it counts as empty');
    }
    for (const raw of tools) takeTool(raw, list, names);
    // An empty-string cursor is valid since 2026-07-28 and followed once; null or absent ends the list.
    const next = answer.nextCursor;
    if (typeof next !== 'string') return list;
    if (cursors.has(next)) {
      list.warnings.push(`tools/list: cursor ${JSON.stringify(next)} came twice; the list ends there`);
      return list;
    }
    if (page + 1 >= MAX_PAGES || list.tools.length >= MAX_TOOLS) {
      list.warnings.push(`tools/list: stopped after ${page + 1} pages and ${list.tools.length} tools`);
      return list;
    }
    cursors.add(next);
    cursor = next;
  }
}

function takeTool(raw: unknown, list: ToolList, names: Set<string>): void {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) {
    list.quarantined.push({ name: '?', reason: 'not an object' });
    return;
  }
  // Null is absent on optional members.
  const fields = new Map(Object.entries(raw).filter(([, value]) => value !== null));
  const name = fields.get('name');
  if (typeof name !== 'string') {
    list.quarantined.push({ name: '?', reason: '"name" is not a string' });
    return;
  }
  if (names.has(name)) {
    list.warnings.push(`tool "${name}" is listed twice; the first one counts`);
    return;
  }
  if (nestsDeeper(raw, MAX_DEPTH)) {
    list.quarantined.push({ name, reason: `it nests deeper than ${MAX_DEPTH} levels` });
    return;
  }
  const inputSchema = fields.get('inputSchema') ?? { type: 'object' };
  if (typeof inputSchema !== 'object' || Array.isArray(inputSchema)) {
    list.quarantined.push({ name, reason: '"inputSchema" is not an object' });
    return;
  }
  const problem = schemaProblem(inputSchema);
  if (problem !== undefined) {
    list.quarantined.push({ name, reason: `"inputSchema" is unusable: ${problem}` });
    return;
  }
  names.add(name);
  const tool: ToolDefinition = { name, inputSchema: inputSchema as Record<string, unknown> };
  const title = fields.get('title');
  if (typeof title === 'string') tool.title = title;
  const description = fields.get('description');
  if (typeof description === 'string') tool.description = description;
  for (const key of ['outputSchema', 'annotations', '_meta'] as const) {
    const value = fields.get(key);
    if (value === undefined) continue;
    const unfit = key === 'outputSchema' ? schemaProblem(value) : undefined;
    if (unfit !== undefined) {
      // Only the check of results is lost; the tool itself can be called.
      list.warnings.push(`tool "${name}": "outputSchema" is unusable and results are not checked: ${unfit}`);
    } else if (typeof value === 'object' && !Array.isArray(value)) {
      tool[key] = value as Record<string, unknown>;
    } else {
      list.warnings.push(`tool "${name}": "${key}" is not an object and was ignored`);
    }
  }
  list.tools.push(tool);
}
