/** The issue tracker and the notes, each as a host meets it: over stdio, in a process of its own. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { useCensus } from '../support/census.js';
import { RawHost, type RawMessage } from '../support/raw-host.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus();
const temp = useTempDir();
const hosts: RawHost[] = [];

afterEach(async () => {
  await Promise.all(hosts.splice(0).map((host) => host.dispose()));
});

function spawnExample(path: string, ...args: string[]): RawHost {
  const script = fileURLToPath(new URL(`../../examples/${path}`, import.meta.url));
  const host = new RawHost({ command: process.execPath, args: [script, ...args] });
  hosts.push(host);
  return host;
}

async function start(path: string, ...args: string[]): Promise<RawHost> {
  const host = spawnExample(path, ...args);
  await host.handshake();
  return host;
}

function textOf({ result }: RawMessage): string {
  const [block] = (result?.content ?? []) as { text: string }[];
  return block?.text ?? '';
}

async function readOnlyTools(host: RawHost): Promise<[string, boolean][]> {
  const { result } = await host.request('tools/list');
  const tools = result?.tools as { name: string; annotations: { readOnlyHint: boolean } }[];
  return tools.map(({ name, annotations }) => [name, annotations.readOnlyHint]);
}

describe('the issue tracker', () => {
  test('has two tools that read and one that writes, and says so', async () => {
    const host = await start('issues/server.mjs');
    expect(await readOnlyTools(host)).toEqual([
      ['list_issues', true],
      ['get_issue', true],
      ['add_comment', false],
    ]);
  });

  test('lists open issues, newest first, and all of them on request', async () => {
    const host = await start('issues/server.mjs');
    const ids = async (args: Record<string, unknown>): Promise<number[]> =>
      (JSON.parse(textOf(await host.call('list_issues', args))) as { id: number }[]).map(({ id }) => id);
    expect(await ids({})).toEqual([3, 2]);
    expect(await ids({ state: 'all' })).toEqual([3, 2, 1]);
    expect(await ids({ label: 'performance' })).toEqual([2]);
  });

  test('keeps a comment over a restart when it has a file', async () => {
    const file = temp('tracker.json');
    const first = await start('issues/server.mjs', file);
    expect(textOf(await first.call('add_comment', { id: 2, body: ' with an index ' }))).toContain(
      '"comment": 1',
    );
    first.endInput();
    expect((await first.exited).code).toBe(0);
    const second = await start('issues/server.mjs', file);
    expect(JSON.parse(textOf(await second.call('get_issue', { id: 2 })))).toMatchObject({
      comments: [{ author: 'agent', body: 'with an index' }],
    });
  });

  test('answers an unknown number and an empty comment with what to do instead', async () => {
    const host = await start('issues/server.mjs');
    expect((await host.call('get_issue', { id: 9 })).result).toMatchObject({ isError: true });
    expect(textOf(await host.call('get_issue', { id: 9 }))).toContain('Known: 1, 2, 3');
    expect((await host.call('add_comment', { id: 2, body: '  ' })).result).toMatchObject({ isError: true });
  });

  test('does not start on a file that it cannot read, and leaves that as it is', async () => {
    writeFileSync(temp('broken.json'), '{ not a list');
    const host = spawnExample('issues/server.mjs', temp('broken.json'));
    expect((await host.exited).code).toBe(1);
    expect(host.stderr).toContain('broken.json');
    expect(readFileSync(temp('broken.json'), 'utf8')).toBe('{ not a list');
  });
});

describe('the notes', () => {
  test('are added, read and listed, and are there after a restart', async () => {
    const first = await start('notes/server.mjs', temp('notes'));
    await first.call('add_note', { name: 'b', body: 'two' });
    await first.call('add_note', { name: 'a', body: 'one é' });
    expect(textOf(await first.call('list_notes'))).toBe('a\nb');
    first.endInput();
    expect((await first.exited).code).toBe(0);
    expect(readdirSync(temp('notes')).sort()).toEqual(['a.md', 'b.md']);
    const second = await start('notes/server.mjs', temp('notes'));
    expect(textOf(await second.call('get_note', { name: 'a' }))).toBe('one é');
  });

  test('have no name that leads out of their directory', async () => {
    const host = await start('notes/server.mjs', temp('notes'));
    expect((await host.call('add_note', { name: '../out', body: 'x' })).result).toMatchObject({
      isError: true,
    });
    expect(existsSync(temp('out.md'))).toBe(false);
  });

  test('are a resource, whose subscriber is told of a new one', async () => {
    const host = await start('notes/server.mjs');
    expect((await host.request('resources/list')).result?.resources).toMatchObject([{ uri: 'notes://list' }]);
    await host.request('resources/subscribe', { uri: 'notes://list' });
    await host.call('add_note', { name: 'new', body: 'x' });
    expect(host.messages).toContainEqual(
      expect.objectContaining({
        method: 'notifications/resources/updated',
        params: { uri: 'notes://list' },
      }),
    );
    const read = await host.request('resources/read', { uri: 'notes://list' });
    expect(read.result?.contents).toMatchObject([{ uri: 'notes://list', text: 'new' }]);
  });

  test('say which names there are when one is missing', async () => {
    const host = await start('notes/server.mjs');
    expect(textOf(await host.call('get_note', { name: 'x' }))).toBe('There is no note x. Known: none.');
  });
});
