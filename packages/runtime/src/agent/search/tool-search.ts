/**
 * The tool with which a model finds other tools: by words, or by exact names (`select:name,name`). What it finds is loaded
 * into the set that it belongs to; its own text only names it, because the schemas come with the next prompt.
 */
import { head, oneLine } from '../fence.js';
import { defineTool, errorOutput, type LocalAnswer } from '../local-tool.js';
import type { Tool } from '../tool.js';
import type { ToolIndex } from './tool-index.js';

/** Name of the tool by which a model finds those that are held back. */
export const TOOL_SEARCH_NAME = 'tool_search';

/** Tools of one answer, unless the model asks for another number … */
const DEFAULT_RESULTS = 5;
/** … up to this. */
const MAX_RESULTS = 20;
const LINE_MAX_CHARS = 160;

/** The set in which is searched. */
export interface SearchedSet {
  /** What may be found, by name: deferred and loaded tools alike. */
  readonly tools: ReadonlyMap<string, Tool>;
  readonly index: ToolIndex;
  /** Makes them callable. @returns those that were not before. */
  load(tools: readonly Tool[]): readonly Tool[];
}

/** Its bytes are the same for every set, whatever can be found in it. */
export function toolSearch(set: SearchedSet): Tool {
  return defineTool<{ query: string; max_results?: number }>({
    name: TOOL_SEARCH_NAME,
    description:
      'Finds tools that are not loaded yet and loads them, so that they can be called from the next step on. ' +
      'Many tools of the connected servers are known by name only until they are found. Use it whenever no loaded tool ' +
      'fits what has to be done. Give a few words for the action, the thing and the service, for instance ' +
      '"create issue github". To load tools whose exact names are known: "select:name_one,name_two".',
    inputSchema: {
      type: 'object',
      properties: {
        query: {
          type: 'string',
          description: 'Words to look for, or "select:" and exact names.',
          minLength: 1,
        },
        max_results: {
          type: 'integer',
          description: `How many tools to load at most; ${DEFAULT_RESULTS} when left out.`,
          minimum: 1,
          maximum: MAX_RESULTS,
        },
      },
      required: ['query'],
      additionalProperties: false,
    },
    capabilities: ['read'],
    execute: ({ query, max_results: limit = DEFAULT_RESULTS }) => {
      const exact = /^\s*select:(.*)$/s.exec(query);
      return exact === null ? byWords(set, query, limit) : byNames(set, exact[1] ?? '');
    },
  });
}

async function byWords(set: SearchedSet, query: string, limit: number): Promise<string> {
  const found = await set.index.find([...set.tools.values()], query, limit);
  if (found.length === 0) {
    return `No tool fits "${short(query)}". ${serversOf(set)} Try other words for the action or the thing.`;
  }
  return answer(set, found);
}

async function byNames(set: SearchedSet, list: string): Promise<LocalAnswer> {
  const names = [...new Set(list.split(',').map((name) => name.trim()))].filter((name) => name !== '');
  const found = names.flatMap((name) => set.tools.get(name) ?? []).slice(0, MAX_RESULTS);
  const notes: string[] = [];
  for (const name of names.filter((name) => !set.tools.has(name)).slice(0, MAX_RESULTS)) {
    notes.push(`There is no tool "${short(name)}".${await nearest(set, name)}`);
  }
  if (names.length > MAX_RESULTS) notes.push(`At most ${MAX_RESULTS} tools are loaded at a time.`);
  if (found.length > 0) return [answer(set, found), ...notes].join('\n');
  return errorOutput(notes.join('\n') || 'Give at least one name behind "select:".');
}

function answer(set: SearchedSet, found: readonly Tool[]): string {
  const fresh = new Set(set.load(found));
  const lines = found.map((tool) => `- ${toolLine(tool)}${fresh.has(tool) ? '' : ' (was loaded before)'}`);
  return `Loaded, call them by these names:\n${lines.join('\n')}`;
}

/** Name and one line: all that is known of a deferred tool. */
export function toolLine({ name, description }: Tool): string {
  const line = oneLine(head(description, 4 * LINE_MAX_CHARS).text);
  const { text, left } = head(line, LINE_MAX_CHARS);
  return line === '' ? name : `${name}: ${text.trimEnd()}${left > 0 ? '…' : ''}`;
}

async function nearest(set: SearchedSet, name: string): Promise<string> {
  const [tool] = await set.index.find([...set.tools.values()], name, 1);
  return tool === undefined ? '' : ` Did you mean "${tool.name}"?`;
}

function serversOf(set: SearchedSet): string {
  const servers = new Set<string>();
  for (const { identity } of set.tools.values()) if (identity.kind === 'mcp') servers.add(identity.server);
  const names = [...servers];
  const more = names.length > MAX_RESULTS ? ' and others' : '';
  return names.length === 0
    ? 'No server is connected.'
    : `Connected servers: ${names.slice(0, MAX_RESULTS).join(', ')}${more}.`;
}

function short(text: string): string {
  return oneLine(head(text, LINE_MAX_CHARS).text);
}
