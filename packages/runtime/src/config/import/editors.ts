/** Cursor and VS Code: entries with the editor's own variables, some of which only the editor can fill in. */
import { basename, dirname, join, sep } from 'node:path';
import {
  appDirectory,
  type ImportContext,
  type Members,
  mapTexts,
  membersOf,
  type OtherHost,
  Reading,
  type Translation,
} from './host.js';

export const cursor: OtherHost = {
  format: 'json',
  files: ({ home, cwd }) => [
    { path: join(home, '.cursor', 'mcp.json') },
    { path: join(cwd, '.cursor', 'mcp.json') },
  ],
  servers: (root) => membersOf(root.get('mcpServers')),
  translate(entry, context) {
    return withEditorVariables(entry, context, (filled) => {
      const reading = new Reading(filled).same(
        'type',
        'command',
        'args',
        'env',
        'cwd',
        'url',
        'headers',
        'disabled',
      );
      const auth = membersOf(reading.value('auth'));
      if (auth !== undefined) {
        const ours = new Map<string, unknown>();
        for (const [theirs, key] of [
          ['CLIENT_ID', 'clientId'],
          ['CLIENT_SECRET', 'clientSecret'],
          ['scopes', 'scopes'],
        ] as const) {
          if (auth.has(theirs)) ours.set(key, auth.get(theirs));
        }
        reading.set('auth', ours);
      }
      return reading.done();
    });
  },
};

export const vscode: OtherHost = {
  format: 'json',
  files: (context) => [
    { path: join(appDirectory(context), 'Code', 'User', 'mcp.json') },
    { path: join(context.cwd, '.vscode', 'mcp.json') },
  ],
  servers: (root) => membersOf(root.get('servers')) ?? membersOf(root.get('mcpServers')),
  translate(entry, context) {
    return withEditorVariables(entry, context, (filled) =>
      new Reading(filled)
        .same('type', 'command', 'args', 'env', 'cwd', 'url', 'headers')
        .ignore('dev', 'gallery', 'version')
        .done(),
    );
  },
};

function withEditorVariables(
  entry: Members,
  { home, cwd }: ImportContext,
  translate: (filled: Members) => Translation,
): Translation {
  if (entry.has('envFile')) {
    return { refused: 'it takes variables from an "envFile"; add it by hand and name them with -e' };
  }
  let refused: string | undefined;
  const fill = (text: string): string =>
    text.replaceAll(/\$\{([^}]*)\}/g, (whole, name: string) => {
      const known = new Map([
        ['workspaceFolder', cwd],
        ['workspaceRoot', cwd],
        ['workspaceFolderBasename', basename(cwd)],
        ['userHome', home],
        ['pathSeparator', sep],
        ['/', sep],
      ]).get(name);
      if (known !== undefined) return known;
      if (name.startsWith('input:')) {
        refused ??= `it asks a person for "${name.slice('input:'.length)}" at every start; add it by hand and take the value from a variable: \${NAME}`;
      } else if (/^(command|config|file|relativeFile|selectedText|defaultBuildTask)/.test(name)) {
        refused ??= `only the editor knows "${whole}"; add it by hand with the value itself`;
      }
      return whole;
    });
  const filled = mapTexts(entry, fill) as Members;
  return refused === undefined ? translate(filled) : { refused };
}

/** The project that an editor's file belongs to: the directory around `.vscode` or `.cursor`. */
export function projectOf(path: string): string | undefined {
  const directory = dirname(path);
  return ['.vscode', '.cursor'].includes(basename(directory)) ? dirname(directory) : undefined;
}
