/**
 * What can stand behind an `@`: servers, their resources, and values that a server proposes for the variables of its
 * resource templates.
 */
import type { RuntimeApi, ServerView } from '../api.js';
import { oneLine } from './fence.js';

/** What a mention that was begun could become. */
export interface MentionProposal {
  /** The whole mention, with `@`. */
  value: string;
  /** The resource's name, for a menu. */
  title?: string;
}

/** Limits of one completion. */
export interface MentionCompletionOptions {
  /** Default 50. */
  max?: number;
  signal?: AbortSignal;
  timeoutMs?: number;
}

type Options = { signal?: AbortSignal; timeoutMs?: number };

/** `typed` is the mention as far as it is written, with or without its `@`. Never rejects for a server. */
export async function completeMention(
  runtime: Pick<RuntimeApi, 'servers'>,
  typed: string,
  { max = 50, ...options }: MentionCompletionOptions = {},
): Promise<MentionProposal[]> {
  const text = typed.startsWith('@') ? typed.slice(1) : typed;
  const servers = [...runtime.servers()].sort((a, b) => (a.name < b.name ? -1 : 1));
  const server = servers
    .filter(({ name }) => text.startsWith(`${name}:`))
    .reduce<ServerView | undefined>(
      (a, b) => (a !== undefined && a.name.length > b.name.length ? a : b),
      undefined,
    );
  if (server === undefined) {
    return servers
      .filter(({ name }) => name.startsWith(text))
      .slice(0, max)
      .map(({ name }) => ({ value: `@${name}:` }));
  }
  const uri = text.slice(server.name.length + 1);
  const proposals = new Map<string, MentionProposal>();
  const lists = await Promise.allSettled([listed(server, uri, options), fromTemplates(server, uri, options)]);
  for (const list of lists) {
    for (const proposal of list.status === 'fulfilled' ? list.value : []) {
      if (!proposals.has(proposal.value)) proposals.set(proposal.value, proposal);
    }
  }
  return [...proposals.values()].slice(0, max);
}

async function listed(server: ServerView, typed: string, options: Options): Promise<MentionProposal[]> {
  const resources = await server.listResources(options);
  const wanted = typed.toLowerCase();
  const found = resources.flatMap(({ uri, name, title }) => {
    if (typeof uri !== 'string') return [];
    const label = typeof title === 'string' ? title : typeof name === 'string' ? name : undefined;
    const rank = uri.startsWith(typed) ? 0 : `${uri} ${label ?? ''}`.toLowerCase().includes(wanted) ? 1 : 2;
    const proposal = {
      value: `@${server.name}:${uri}`,
      ...(label === undefined ? {} : { title: oneLine(label) }),
    };
    return rank === 2 ? [] : [{ rank, proposal }];
  });
  return found.sort((a, b) => a.rank - b.rank).map(({ proposal }) => proposal);
}

async function fromTemplates(
  server: ServerView,
  typed: string,
  options: Options,
): Promise<MentionProposal[]> {
  const templates = await server.listResourceTemplates(options);
  const found = await Promise.all(
    templates.map(async ({ uriTemplate, name }) => {
      const place = typeof uriTemplate === 'string' ? openVariable(uriTemplate, typed) : undefined;
      if (place === undefined) return [];
      const { variable, value, before, known } = place;
      try {
        const { completion } = await server.complete(
          {
            ref: { type: 'ref/resource', uri: uriTemplate },
            argument: { name: variable, value },
            context: { arguments: Object.fromEntries(known) },
          },
          options,
        );
        return completionValues(completion).map((text) => ({
          value: `@${server.name}:${before}${text}`,
          ...(typeof name === 'string' ? { title: oneLine(name) } : {}),
        }));
      } catch {
        // A server need not propose anything.
        return [];
      }
    }),
  );
  return found.flat();
}

interface OpenVariable {
  variable: string;
  /** As far as it is written. */
  value: string;
  /** What is written in front of it. */
  before: string;
  known: Map<string, string>;
}

/** Which variable of a template (`{name}`, `{+name}`) the written text ends in; undefined when it does not fit. */
export function openVariable(template: string, typed: string): OpenVariable | undefined {
  const known = new Map<string, string>();
  let at = 0;
  // Pieces alternate: literal, variable, literal …
  const pieces = template.split(/\{\+?(\w+)\}/);
  for (let index = 0; index + 1 < pieces.length; index += 2) {
    const literal = pieces[index] ?? '';
    const variable = pieces[index + 1] ?? '';
    if (!typed.startsWith(literal, at)) return undefined;
    at += literal.length;
    const next = pieces[index + 2] ?? '';
    const end = next === '' ? -1 : typed.indexOf(next, at);
    if (end === -1) return { variable, value: typed.slice(at), before: typed.slice(0, at), known };
    known.set(variable, typed.slice(at, end));
    at = end;
  }
  return undefined;
}

/** Values of a `completion/complete` result; at most 100, as the specification says. */
export function completionValues(completion: unknown): string[] {
  const values: unknown = (completion as { values?: unknown } | undefined)?.values;
  return Array.isArray(values) ? values.filter((value) => typeof value === 'string').slice(0, 100) : [];
}
