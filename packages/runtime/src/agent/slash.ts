/**
 * Prompts of servers as slash commands: `/mcp__<server>__<prompt> word "two words" key=value`. Names are made like
 * those of tools and looked up, never taken apart.
 */
import { BulkheadError } from '@bulkhead/workers';
import type { CallOptions, ContentBlock, RuntimeApi } from '../api.js';
import { closest } from '../config/keys.js';
import { contentBlocks, isRecord } from '../content.js';
import { assignNames } from '../naming.js';
import { oneLine } from './fence.js';
import { completionValues } from './mention-completion.js';
import { parseSlashLine, type SlashWord } from './slash-line.js';

/** An argument of a prompt. */
export interface SlashArgument {
  name: string;
  description?: string;
  required: boolean;
}

/** A server's prompt as a command that a user can type. */
export interface SlashCommand {
  /** `mcp__<server>__<prompt>`, without the slash. */
  name: string;
  server: string;
  /** Name on the wire. */
  prompt: string;
  description: string;
  arguments: SlashArgument[];
}

/** A message that a prompt gave. */
export interface SlashMessage {
  role: 'user' | 'assistant';
  content: ContentBlock[];
}

/** What a slash command brings into the conversation. */
export interface SlashResult {
  command: SlashCommand;
  /** For the conversation, in order. They are a server's words in the user's name: show them. */
  messages: SlashMessage[];
}

type Options = Pick<CallOptions, 'signal' | 'timeoutMs'>;

/** The prompts of all servers as slash commands: listed, completed and run. */
export class SlashCommands {
  readonly #runtime: Pick<RuntimeApi, 'servers' | 'server'>;
  #commands = new Map<string, SlashCommand>();

  /** @param runtime whose servers' prompts they are; the list is read by `refresh()` */
  constructor(runtime: Pick<RuntimeApi, 'servers' | 'server'>) {
    this.#runtime = runtime;
  }

  /**
   * Reads the prompts of all servers that are ready; call it again on a `prompts` or `state` event. A server whose
   * list cannot be read keeps the commands it had, and is a sentence in the answer.
   */
  async refresh(options: Options = {}): Promise<string[]> {
    const warnings: string[] = [];
    const ready = this.#runtime.servers().filter(({ state }) => state === 'ready');
    const lists = await Promise.all(
      ready.map(async (server) => {
        try {
          return (await server.listPrompts(options)).flatMap((raw) => commandOf(server.name, raw));
        } catch (error) {
          warnings.push(error instanceof Error ? error.message : String(error));
          return this.list().filter((command) => command.server === server.name);
        }
      }),
    );
    const commands = lists.flat();
    const byOrigin = new Map(commands.map((command) => [originOf(command.server, command.prompt), command]));
    const origins = commands.map(({ server, prompt }) => ({ server, tool: prompt }));
    this.#commands = new Map();
    for (const [name, { server, tool }] of assignNames(origins)) {
      const command = byOrigin.get(originOf(server, tool));
      if (command !== undefined) this.#commands.set(name, { ...command, name });
    }
    return warnings;
  }

  /** Sorted by name. */
  list(): SlashCommand[] {
    return [...this.#commands.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /**
   * Runs a line. Words fill the arguments that no `key=` names, in their declared order; the last one takes all that
   * is left. A `key=` that is no argument is an ordinary word.
   * @returns Undefined when the line is none of these commands: it may be the host's own.
   * @throws {BulkheadError} `INVALID_ARGUMENTS` (the message has the usage), `BAD_INPUT` for an unknown `/mcp__…`,
   * and whatever `ServerView.getPrompt()` throws.
   */
  async run(line: string, options: Options = {}): Promise<SlashResult | undefined> {
    const parsed = parseSlashLine(line);
    const command = this.#commands.get(parsed?.name ?? '');
    if (parsed === undefined || command === undefined) {
      if (parsed?.name.startsWith('mcp__')) throw this.#unknown(parsed.name);
      return undefined;
    }
    const args = assign(command, parsed.words);
    const missing = command.arguments.filter(({ name, required }) => required && !args.has(name));
    if (missing.length > 0) {
      const names = missing.map(({ name }) => `"${name}"`).join(', ');
      throw invalid(command, `needs ${names}; write ${usage(command)}`);
    }
    const server = this.#runtime.server(command.server);
    const result = await server.getPrompt(command.prompt, Object.fromEntries(args), options);
    return { command, messages: messagesOf(command, result) };
  }

  /**
   * What the line could go on with: names of commands with their slash, or values of the argument at its end. Empty
   * when the server proposes nothing or does not answer.
   */
  async complete(line: string, options: Options = {}): Promise<string[]> {
    const parsed = parseSlashLine(line);
    if (parsed === undefined) return [];
    if (!/\S\s/.test(line)) {
      return this.list().flatMap(({ name }) => (name.startsWith(parsed.name) ? [`/${name}`] : []));
    }
    const command = this.#commands.get(parsed.name);
    if (command === undefined) return [];
    const typed = parsed.open ? parsed.words.at(-1) : undefined;
    const before = assign(command, parsed.open ? parsed.words.slice(0, -1) : parsed.words, true);
    const named = command.arguments.find(({ name }) => name === typed?.key);
    const argument = named ?? command.arguments.find(({ name }) => !before.has(name));
    if (argument === undefined) return [];
    const value = named === undefined && typed?.key !== undefined ? wordText(typed) : (typed?.value ?? '');
    try {
      const { completion } = await this.#runtime.server(command.server).complete(
        {
          ref: { type: 'ref/prompt', name: command.prompt },
          argument: { name: argument.name, value },
          context: { arguments: Object.fromEntries(before) },
        },
        options,
      );
      return completionValues(completion);
    } catch {
      return [];
    }
  }

  #unknown(name: string): BulkheadError {
    const near = closest(name, [...this.#commands.keys()]);
    const hint =
      near === undefined ? `there are ${this.#commands.size}, see the list` : `did you mean "/${near}"?`;
    return new BulkheadError('BAD_INPUT', `There is no command "/${oneLine(name)}": ${hint}`);
  }
}

function commandOf(server: string, raw: Record<string, unknown>): SlashCommand[] {
  const { name: prompt } = raw;
  if (typeof prompt !== 'string') return [];
  const args = Array.isArray(raw.arguments) ? raw.arguments.filter(isRecord) : [];
  return [
    {
      name: '',
      server,
      prompt,
      description: oneLine([raw.description, raw.title].find((text) => typeof text === 'string') ?? ''),
      arguments: args.flatMap(({ name, description, required }) =>
        typeof name === 'string'
          ? [
              {
                name,
                required: required === true,
                ...(typeof description === 'string' ? { description: oneLine(description) } : {}),
              },
            ]
          : [],
      ),
    },
  ];
}

/**
 * Words as arguments.
 * @param partial the line is not finished: nothing is joined, and words too many are nobody's fault yet.
 */
function assign(command: SlashCommand, words: readonly SlashWord[], partial = false): Map<string, string> {
  const args = new Map<string, string>();
  const loose: string[] = [];
  for (const word of words) {
    if (word.key !== undefined && command.arguments.some(({ name }) => name === word.key)) {
      args.set(word.key, word.value);
    } else loose.push(wordText(word));
  }
  const free = command.arguments.filter(({ name }) => !args.has(name));
  if (free.length === 0 && loose.length > 0 && !partial) {
    throw invalid(command, `got ${loose.length} words too many; write ${usage(command)}`);
  }
  for (const [index, { name }] of free.entries()) {
    const last = index === free.length - 1 && !partial;
    const text = last ? loose.slice(index).join(' ') : loose[index];
    if (index < loose.length && text !== undefined) args.set(name, text);
  }
  return args;
}

function wordText({ key, value }: SlashWord): string {
  return key === undefined ? value : `${key}=${value}`;
}

function usage({ name, arguments: args }: SlashCommand): string {
  return [`/${name}`, ...args.map((arg) => (arg.required ? `<${arg.name}>` : `[${arg.name}]`))].join(' ');
}

function invalid(command: SlashCommand, what: string): BulkheadError {
  const { name, server } = command;
  return new BulkheadError('INVALID_ARGUMENTS', `The command "/${name}" of server "${server}" ${what}`, {
    server,
  });
}

function messagesOf({ name, server }: SlashCommand, result: Record<string, unknown>): SlashMessage[] {
  const messages = Array.isArray(result.messages) ? result.messages.filter(isRecord) : [];
  if (messages.length === 0) {
    const text = `The prompt behind "/${name}" of server "${server}" came without messages; ask its author`;
    throw new BulkheadError('PROTOCOL_ERROR', text, { server });
  }
  return messages.map(({ role, content }) => ({
    role: role === 'assistant' ? 'assistant' : 'user',
    content: contentBlocks(content),
  }));
}

function originOf(server: string, prompt: string): string {
  return JSON.stringify([server, prompt]);
}
