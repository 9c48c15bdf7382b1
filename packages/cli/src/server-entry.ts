/** The entry that the options of `add` describe. Pure; whether it is a valid one is for the schema to say. */
import { usageError } from './context.js';
import { isSecretName } from './mask.js';

export interface EntryOptions {
  url?: string;
  env?: string[];
  header?: string[];
  transport?: string;
  cwd?: string;
}

const transports = new Map([
  ['stdio', 'stdio'],
  ['http', 'http'],
  ['streamable-http', 'http'],
  ['sse', 'sse'],
]);

/** @throws {BulkheadError} `BAD_INPUT` for options that contradict each other. */
export function entryFrom(command: readonly string[], options: EntryOptions): Map<string, unknown> {
  const { url, env = [], header = [], transport, cwd } = options;
  const [program, ...args] = command;
  if (url === undefined && program === undefined) {
    throw usageError(
      'expected a command behind "--" or --url URL, for example: bulkhead add files -- npx -y my-server .',
    );
  }
  if (url !== undefined && program !== undefined) {
    throw usageError('expected either a command behind "--" or --url, not both');
  }
  if (program !== undefined && /^https?:\/\//.test(program)) {
    throw usageError(`"${program}" is a URL, not a program; pass it as --url ${program}`);
  }
  const type =
    transport === undefined
      ? url === undefined
        ? 'stdio'
        : 'http'
      : transports.get(transport.toLowerCase());
  if (type === undefined) {
    throw usageError(`--transport: expected ${[...transports.keys()].join(', ')}, got "${transport}"`);
  }
  if ((type === 'stdio') !== (url === undefined)) {
    throw usageError(
      `--transport ${transport}: ${url === undefined ? 'needs --url URL' : 'needs a command behind "--"'}`,
    );
  }
  if (url !== undefined) {
    if (env.length > 0)
      throw usageError('-e is for programs; a remote server takes headers: -H "Name: value"');
    if (cwd !== undefined) throw usageError('--cwd is for programs; a remote server has none');
    // Other hosts that read this file want the type said.
    const entry = new Map<string, unknown>([
      ['type', type],
      ['url', url],
    ]);
    if (header.length > 0) entry.set('headers', new Map(header.map(headerFrom)));
    return entry;
  }
  if (header.length > 0)
    throw usageError('-H is for remote servers; a program takes variables: -e NAME=value');
  const entry = new Map<string, unknown>([['command', program]]);
  if (args.length > 0) entry.set('args', args);
  if (env.length > 0) entry.set('env', new Map(env.map(variableFrom)));
  if (cwd !== undefined) entry.set('cwd', cwd);
  return entry;
}

/** Fields whose values are credentials in clear text, as dotted paths. */
export function clearSecrets(entry: ReadonlyMap<string, unknown>): string[] {
  return ['env', 'headers'].flatMap((field) => {
    const members = entry.get(field);
    if (!(members instanceof Map)) return [];
    return [...(members as Map<string, unknown>)]
      .filter(
        ([name, value]) =>
          isSecretName(name) && typeof value === 'string' && !value.includes('${') && value !== '',
      )
      .map(([name]) => `${field}.${name}`);
  });
}

function variableFrom(text: string): [string, string] {
  const at = text.indexOf('=');
  const name = at === -1 ? text : text.slice(0, at);
  if (!/^[A-Za-z_][A-Za-z0-9_.]*$/.test(name)) {
    throw usageError(
      `-e: expected NAME=value, or NAME for the variable of that name at start, got "${text}"`,
    );
  }
  return [name, at === -1 ? `\${${name}}` : text.slice(at + 1)];
}

function headerFrom(text: string): [string, string] {
  const at = text.indexOf(':');
  const name = text.slice(0, Math.max(at, 0)).trim();
  if (name === '') throw usageError(`-H: expected "Name: value", got "${text}"`);
  return [name, text.slice(at + 1).trim()];
}
