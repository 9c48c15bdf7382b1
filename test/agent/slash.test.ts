/** Prompts of a real server as slash commands: their names, their words, what comes back, what could follow. */
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import { SlashCommands } from '../../packages/runtime/src/agent/slash.js';
import { parseSlashLine } from '../../packages/runtime/src/agent/slash-line.js';
import { useCensus } from '../support/census.js';
import { failureOf, useRuntime } from '../support/runtime.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus({ graceMs: 8_000 });
const directory = useTempDir();
const start = useRuntime(directory);
const library = {
  command: process.execPath,
  args: [fileURLToPath(new URL('../fixtures/hooks/library-server.mjs', import.meta.url))],
};

describe('a line', () => {
  const wordsOf = (line: string) =>
    parseSlashLine(line)?.words.map(({ key, value }) => (key === undefined ? value : { [key]: value }));
  it.each([
    ['/name', []],
    ['/name   ', []],
    ['/name one two', ['one', 'two']],
    ['/name "one two" three', ['one two', 'three']],
    ['/name \'one "two"\'', ['one "two"']],
    ['/name "say \\"hi\\" \\\\ \\n"', ['say "hi" \\ \\n']],
    ['/name city=Rome days="3 or 4"', [{ city: 'Rome' }, { days: '3 or 4' }]],
    ["/name don't stop", ["don't", 'stop']],
    ['/name a=b=c =x ""', [{ a: 'b=c' }, '=x', '']],
    ['/name "never closed', ['never closed']],
    ['/name city=', [{ city: '' }]],
    ['/name line\nbreak', ['line', 'break']],
  ])('%j', (line, expected) => {
    expect(parseSlashLine(line)?.name).toBe('name');
    expect(wordsOf(line)).toEqual(expected);
  });

  it('without a slash is none', () => {
    expect(parseSlashLine('name /x')).toBeUndefined();
  });

  it('of any length is read in no time', () => {
    const started = performance.now();
    parseSlashLine(
      `/x ${'a '.repeat(100_000)}${'\\'.repeat(100_000)}"${'\\"'.repeat(100_000)}${'b='.repeat(100_000)}`,
    );
    expect(performance.now() - started).toBeLessThan(2_000);
  });
});

describe('the commands of a server', () => {
  let commands: SlashCommands;
  beforeEach(async () => {
    const runtime = await start({ library, plain: scripted({}) });
    expect((await runtime.ready()).ok).toBe(true);
    commands = new SlashCommands(runtime);
    expect(await commands.refresh()).toEqual([]);
  });
  const textOf = async (line: string): Promise<unknown> => {
    const result = await commands.run(line);
    const [message] = result?.messages ?? [];
    return JSON.parse(String(message?.content[0]?.text));
  };

  it('are listed with their arguments; a server without prompts has none', () => {
    expect(commands.list()).toEqual([
      {
        name: 'mcp__library__hello',
        server: 'library',
        prompt: 'hello',
        description: 'Says hello.',
        arguments: [],
      },
      {
        name: 'mcp__library__trip',
        server: 'library',
        prompt: 'trip',
        description: 'Plans a trip.',
        arguments: [
          { name: 'city', required: true },
          { name: 'days', required: true },
          { name: 'wishes', required: false },
        ],
      },
    ]);
  });

  it('give the messages of their prompt', async () => {
    const result = await commands.run('/mcp__library__trip Rome 3');
    expect(result?.messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: '{"city":"Rome","days":"3"}' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'Gladly.' }] },
    ]);
    expect(result?.command.prompt).toBe('trip');
  });

  it('take words in order, names in any, and the last argument takes the rest', async () => {
    expect(await textOf('/mcp__library__trip "New York" 3')).toEqual({ city: 'New York', days: '3' });
    expect(await textOf('/mcp__library__trip days=2 Rome')).toEqual({ city: 'Rome', days: '2' });
    expect(await textOf('/mcp__library__trip Rome 3 museums and a=b')).toEqual({
      city: 'Rome',
      days: '3',
      wishes: 'museums and a=b',
    });
  });

  it('say what is missing, and how the command is written', async () => {
    const failure = await failureOf(commands.run('/mcp__library__trip Rome'));
    expect(failure).toMatchObject({ code: 'INVALID_ARGUMENTS', server: 'library' });
    expect(failure.message).toContain('needs "days"; write /mcp__library__trip <city> <days> [wishes]');
    expect((await failureOf(commands.run('/mcp__library__hello x'))).message).toContain('1 words too many');
  });

  it("that do not exist are told apart from the host's own", async () => {
    expect(await commands.run('/clear')).toBeUndefined();
    expect(await commands.run('hello')).toBeUndefined();
    const failure = await failureOf(commands.run('/mcp__library__tripp Rome'));
    expect(failure).toMatchObject({ code: 'BAD_INPUT' });
    expect(failure.message).toContain('did you mean "/mcp__library__trip"?');
  });

  it('are completed: names, then values of the argument at the end', async () => {
    expect(await commands.complete('/mcp__lib')).toEqual(['/mcp__library__hello', '/mcp__library__trip']);
    expect(await commands.complete('/mcp__library__trip Ber')).toEqual(['Berlin', 'Bern']);
    expect(await commands.complete('/mcp__library__trip ')).toEqual(['Berlin', 'Bern', 'Rome']);
    expect(await commands.complete('/mcp__library__trip days=3 city=R')).toEqual(['Rome']);
    expect(await commands.complete('/mcp__library__trip Rome 3')).toEqual([]);
    expect(await commands.complete('/other x')).toEqual([]);
    expect(await commands.complete('no slash')).toEqual([]);
  });
});

describe('a server that cannot list its prompts', () => {
  it('costs its own commands and is named', async () => {
    const broken = scripted({
      capabilities: { tools: {}, prompts: {} },
      rules: [{ method: 'prompts/list', reply: null }],
    });
    const runtime = await start({ library, broken });
    await runtime.ready();
    const commands = new SlashCommands(runtime);
    const warnings = await commands.refresh({ timeoutMs: 1_000 });
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/"?broken"?.*1000 ms/);
    expect(commands.list().map(({ server }) => server)).toEqual(['library', 'library']);
  });
});
