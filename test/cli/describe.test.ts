import { beforeEach, describe, expect, test } from 'vitest';
import { useCensus } from '../support/census.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';
import { shell } from './cli.js';
import { makeProject, type Project, userFile } from './project.js';

useCensus();
const directory = useTempDir();
let project: Project;
beforeEach(() => {
  project = makeProject(directory);
});

const CONTROL = /(?![\n\t])[\p{Cc}\p{Bidi_Control}]/u;
const evil = 'red \u001b[31m and \u202ereversed';
const tools = [
  {
    name: 'query',
    description: `Asks the database.\nSecond line, ${evil}.`,
    inputSchema: {
      type: 'object',
      properties: {
        limit: { type: 'integer', default: 10, description: 'Rows.' },
        sql: { type: 'string', description: 'What to ask.' },
        mode: { enum: ['fast', 'exact'] },
        tags: { type: 'array', items: { $ref: '#/$defs/tag' } },
      },
      required: ['sql'],
      $defs: { tag: { type: 'string' } },
    },
    annotations: { readOnlyHint: true },
  },
  { name: 'send_mail', description: 'Sends a letter to somebody.', inputSchema: { type: 'object' } },
];

function servers(entries: Record<string, object>): void {
  project.write(userFile(project), { mcpServers: entries });
}

describe('describe', () => {
  test('shows a tool with its arguments, required ones first, and nothing that moves the cursor', async () => {
    servers({ db: scripted({ tools }) });
    const ended = await project.run(['describe', 'db.query']);
    expect(ended.code).toBe(0);
    const lines = ended.stdout.split('\n').map((line) => line.split(/ {2,}/));
    expect(ended.stdout).toMatch(/^db\.query\nfull name: mcp__db__query\nits server says: read-only\n/);
    expect(lines).toContainEqual(['argument', 'type', '', 'description'].filter((cell) => cell !== ''));
    const rows = lines.filter(([name]) => ['sql', 'limit', 'mode', 'tags'].includes(name ?? ''));
    expect(rows).toEqual([
      ['sql', 'string', 'required', 'What to ask.'],
      ['limit', 'integer', 'default 10', 'Rows.'],
      ['mode', '"fast"|"exact"'],
      ['tags', 'string[]'],
    ]);
    expect(ended.stdout).not.toMatch(CONTROL);
  });

  test('with --json gives the whole definition', async () => {
    servers({ db: scripted({ tools }) });
    const ended = await project.run(['describe', 'mcp__db__query', '--json']);
    expect(JSON.parse(ended.stdout)).toMatchObject({ server: 'db', fullName: 'mcp__db__query', ...tools[0] });
  });

  test('of an unknown tool ends with 5 and the nearest, of an unknown server with 1', async () => {
    servers({ db: scripted({ tools }) });
    const tool = await project.run(['describe', 'db.qury']);
    expect(tool).toMatchObject({ code: 5, stdout: '' });
    expect(tool.stderr).toMatch(/nearest: query/);
    expect(await project.run(['describe', 'bd.query'])).toMatchObject({ code: 1, stdout: '' });
  });
});

describe('search', () => {
  test('gives the tools that fit, over all servers', async () => {
    servers({ db: scripted({ tools }), more: scripted({ tools: [], toolCount: 5 }) });
    const ended = await project.run(['search', 'send', 'a', 'letter', '--json', '--limit', '1']);
    expect(ended.code).toBe(0);
    expect(JSON.parse(ended.stdout)).toMatchObject([{ server: 'db', name: 'send_mail' }]);
    const text = await project.run(['search', 'database']);
    expect(text.stdout).toMatch(/^db\.query {2}/m);
    expect(text.stdout).not.toMatch(CONTROL);
    expect(await project.run(['search', 'zzzzqqqq'])).toMatchObject({ code: 0, stdout: '' });
  });
});

const reading = scripted({
  capabilities: { resources: {} },
  rules: [
    {
      method: 'resources/list',
      reply: { result: { resources: [{ uri: 'note://1', name: `one ${evil}`, mimeType: 'text/plain' }] } },
    },
    {
      method: 'resources/templates/list',
      reply: { result: { resourceTemplates: [{ uriTemplate: 'note://{id}', name: 'any' }] } },
    },
    {
      method: 'resources/read',
      where: { uri: 'note://1' },
      reply: { result: { contents: [{ uri: 'note://1', text: `first ${evil}` }] } },
    },
    {
      method: 'resources/read',
      where: { uri: 'note://b' },
      reply: { result: { contents: [{ uri: 'note://b', blob: 'AAEC/w==' }] } },
    },
    { method: 'resources/read', reply: { error: { code: -32002, message: 'no such note' } } },
  ],
});

describe('resources', () => {
  test('are listed with their templates, those of one server or of all', async () => {
    servers({ notes: reading, db: scripted({ tools }) });
    const list = await project.run(['resources', 'list']);
    expect(list.code).toBe(0);
    expect(list.stdout).toMatch(/^notes +note:\/\/1 +text\/plain +one red/m);
    expect(list.stdout).toMatch(/^notes +note:\/\/\{id\} +template +any$/m);
    expect(list.stdout).not.toMatch(CONTROL);
    const json = await project.run(['resources', 'list', 'notes', '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject([
      { server: 'notes', uri: 'note://1' },
      { uriTemplate: 'note://{id}' },
    ]);
    expect(await project.run(['resources', 'list', 'db', '--json'])).toMatchObject({
      code: 0,
      stdout: '[]\n',
    });
  });

  test('are read as the text or the bytes that they are', async () => {
    servers({ notes: reading });
    expect(await project.run(['resources', 'read', 'notes', 'note://1'])).toMatchObject({
      code: 0,
      stdout: `first ${evil}\n`,
    });
    const { env } = project;
    const variables = Object.entries(env).map(([name, value]) => `${name}='${value}'`);
    const bytes = await shell(
      `${variables.join(' ')} "$NODE" "$MAIN" resources read notes note://b | od -An -tx1`,
      project.path(),
    );
    expect(bytes.stdout.trim()).toBe('00 01 02 ff');
    const json = await project.run(['resources', 'read', 'notes', 'note://b', '--json']);
    expect(JSON.parse(json.stdout)).toEqual({ contents: [{ uri: 'note://b', blob: 'AAEC/w==' }] });
    const gone = await project.run(['resources', 'read', 'notes', 'note://x']);
    expect(gone).toMatchObject({ code: 5, stdout: '' });
    expect(gone.stderr).toContain('no such note');
  });
});

describe('prompts', () => {
  const prompting = scripted({
    capabilities: { prompts: {} },
    rules: [
      {
        method: 'prompts/list',
        reply: {
          result: {
            prompts: [
              {
                name: 'review',
                description: 'Reviews it.',
                arguments: [{ name: 'file', required: true }, { name: 'tone' }],
              },
            ],
          },
        },
      },
      {
        method: 'prompts/get',
        where: { arguments: { file: '007' } },
        reply: { result: { messages: [{ role: 'user', content: { type: 'text', text: 'Review 007.' } }] } },
      },
    ],
  });

  test('are listed with their arguments, and filled in with texts', async () => {
    servers({ p: prompting });
    const list = await project.run(['prompts', 'list']);
    expect(list.stdout).toMatch(/^p +review +file \[tone\] +Reviews it\.$/m);
    expect(await project.run(['prompts', 'get', 'p.review', 'file=007'])).toMatchObject({
      code: 0,
      stdout: 'user: Review 007.\n',
    });
    const json = await project.run(['prompts', 'get', 'p.review', 'file=007', '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({ messages: [{ role: 'user' }] });
  });

  test('that are unknown, or arguments that are no texts, end with 1', async () => {
    servers({ p: prompting });
    const unknown = await project.run(['prompts', 'get', 'p.reviw']);
    expect(unknown).toMatchObject({ code: 1, stdout: '' });
    expect(unknown.stderr).toMatch(/nearest: review/);
    expect(await project.run(['prompts', 'get', 'p.review', 'file:=7'])).toMatchObject({
      code: 1,
      stdout: '',
    });
  });
});

describe('the text of a call', () => {
  test('is harmless on a terminal and exact in a pipe', async () => {
    servers({ echo: scripted({}) });
    const variables = Object.entries(project.env).map(([name, value]) => `${name}='${value}'`);
    const line = `env ${variables.join(' ')} $NODE $MAIN call echo.echo text=@evil`;
    project.write(project.path('evil'), `a\u001b[31mb\nc`);
    const piped = await shell(line, project.path());
    expect(piped.stdout).toContain('a\u001b[31mb\nc');
    const shown = await shell(`script -qec "${line}" /dev/null`, project.path());
    expect(shown.stdout).toContain('a\ufffd[31mb');
    expect(shown.stdout).not.toContain('\u001b[31m');
  });
});
