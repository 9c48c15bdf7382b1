/** The web page over HTTP: who gets in, what a stranger gets, and what it tells of the servers and does with them. */
import { mkdirSync } from 'node:fs';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readPage } from '../docs/markdown.js';
import { useCensus } from '../support/census.js';
import { eventually } from '../support/eventually.js';
import { pidFrom } from '../support/record.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';
import { type Running, run, start, writeConfig } from './cli.js';
import { startWeb, type WebRun } from './web-page.js';

const { watch } = useCensus({ graceMs: 8_000 });
const path = useTempDir();
const running: Running[] = [];

beforeEach(() => {
  process.env.XDG_RUNTIME_DIR = path('run');
  mkdirSync(path('run'), { mode: 0o700 });
});
afterEach(async () => {
  for (const { child } of running) child.kill('SIGTERM');
  await Promise.all(running.splice(0).map(({ ended }) => ended));
  delete process.env.XDG_RUNTIME_DIR;
});

/** A page about a server `s` of its own. */
async function web(...args: string[]): Promise<WebRun> {
  const config = writeConfig(path('c.json'), { s: scripted({ pidFile: path('pid') }) });
  const page = await startWeb(['-c', config, ...args], { cwd: path() });
  running.push(page.running);
  return page;
}

async function csrfOf(page: WebRun): Promise<string> {
  const { text } = await page.ask('/');
  return /name="csrf" content="([\w-]+)"/.exec(text)?.[1] ?? '';
}

/** Whether anything listens there. */
function listens(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

describe('the address', () => {
  test('opens the page once, for the browser that got its cookie', async () => {
    const page = await web();
    expect((await page.ask('/')).status).toBe(403);
    expect((await page.ask('/?token=wrong')).status).toBe(403);
    const entered = await page.enter();
    expect(entered.status).toBe(200);
    expect(String(entered.headers['set-cookie'])).toMatch(
      /^bulkhead-web-\d+=[\w-]{43}; .*HttpOnly; SameSite=Strict$/,
    );
    expect((await page.ask('/')).text).toContain('<table id="servers"');
    // The same browser may go back to it, another one may not.
    expect((await page.ask(`/${page.url.search}`)).status).toBe(200);
    page.cookie = undefined;
    const again = await page.ask(`/${page.url.search}`);
    expect(again.status).toBe(403);
    expect(again.text).toContain('used already');
    expect(again.headers['set-cookie']).toBeUndefined();
  });

  test('is of this machine alone, on the port that was asked for', async () => {
    const page = await web();
    const port = Number(page.url.port);
    expect(await listens('127.0.0.1', port)).toBe(true);
    // Who listens on every address listens on this one, too.
    expect(await listens('127.0.0.2', port)).toBe(false);
    const config = path('c.json');
    const taken = await run(['web', '-c', config, '--port', String(port)], { cwd: path() });
    expect(taken).toMatchObject({ code: 1, stdout: '' });
    expect(taken.stderr).toMatch(/--port: \d+ of 127\.0\.0\.1 cannot be had \(EADDRINUSE\)/);
    expect((await run(['web', '-c', config, '--port', '0'], { cwd: path() })).code).toBe(1);
  });

  test('is data on stdout, and an object with --json', async () => {
    const config = writeConfig(path('c.json'), { s: scripted({}) });
    const page = start(['web', '-c', config, '--json'], { cwd: path() });
    running.push(page);
    const line = await eventually(
      () => page.stdout().includes('\n') && page.stdout(),
      () => 'the address',
    );
    const { url, port } = JSON.parse(line) as { url: string; port: number };
    expect(url).toMatch(new RegExp(`^http://127\\.0\\.0\\.1:${port}/\\?token=[\\w-]{43}$`));
  });
});

describe('a stranger', () => {
  test('gets nothing without the session: not the figures, not the logs, no command', async () => {
    const page = await web();
    for (const route of ['/', '/live', '/logs/s'])
      expect([route, (await page.ask(route)).status]).toEqual([route, 403]);
    expect((await page.ask('/servers/s/stop', { method: 'POST' })).status).toBe(403);
    page.cookie = `bulkhead-web-${page.url.port}=guessed`;
    expect((await page.ask('/live')).status).toBe(403);
  });

  test('who points a name of his own at the port is refused, with the cookie as without it', async () => {
    const page = await web();
    await page.enter();
    for (const host of ['evil.example', `evil.example:${page.url.port}`, '127.0.0.1']) {
      for (const route of ['/', '/live', '/assets/page.js'])
        expect([host, route, (await page.ask(route, { headers: { host } })).status]).toEqual([
          host,
          route,
          421,
        ]);
    }
    expect((await page.ask('/', { headers: { host: `localhost:${page.url.port}` } })).status).toBe(200);
  });

  test('whose site makes the browser send a request cannot change anything', async () => {
    const page = await web();
    await page.enter();
    const pid = await pidFrom(path('pid'));
    watch(pid);
    const csrf = await csrfOf(page);
    expect(csrf).toMatch(/^[\w-]{43}$/);
    const own = `http://127.0.0.1:${page.url.port}`;
    const tries: Record<string, string>[] = [
      {},
      { origin: own },
      { origin: own, 'bulkhead-csrf': 'guessed' },
      { 'bulkhead-csrf': csrf },
      { origin: 'http://evil.example', 'bulkhead-csrf': csrf },
      { origin: 'null', 'bulkhead-csrf': csrf },
    ];
    for (const headers of tries) {
      const { status } = await page.ask('/servers/s/stop', { method: 'POST', headers });
      expect([headers, status]).toEqual([headers, 403]);
    }
    expect(
      (await page.ask('/servers/s/stop', { headers: { origin: own, 'bulkhead-csrf': csrf } })).status,
    ).toBe(404);
    const headers = { origin: own, 'bulkhead-csrf': csrf };
    expect((await page.ask('/servers/s/disable', { method: 'POST', headers })).status).toBe(404);
    const stopped = await page.ask('/servers/s/stop', { method: 'POST', headers });
    expect(JSON.parse(stopped.text)).toMatchObject({ server: 's', state: 'stopped' });
    const unknown = await page.ask('/servers/x/stop', { method: 'POST', headers });
    expect(unknown.status).toBe(409);
    expect(JSON.parse(unknown.text)).toMatchObject({ error: { code: 'UNKNOWN_SERVER' } });
  });

  test('cannot put the page into a frame, and the page loads nothing from elsewhere', async () => {
    const page = await web();
    await page.enter();
    const { headers, text } = await page.ask('/');
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(headers).toMatchObject({
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    });
    const named = [...text.matchAll(/(?:src|href)="([^#"]+)"/g)].map(([, target]) => String(target));
    expect(named).toContain('/assets/page.js');
    for (const asset of named) {
      const { status, text: body } = await page.ask(asset);
      expect([asset, status]).toEqual([asset, 200]);
      for (const [, file] of body.matchAll(/from '\.\/([\w.-]+)'/g))
        expect([file, (await page.ask(`/assets/${file}`)).status]).toEqual([file, 200]);
      expect(body.replaceAll('http://www.w3.org/2000/svg', '')).not.toMatch(/https?:\/\//);
    }
    expect((await page.ask('/assets/..%2Fopen.js')).status).toBe(404);
  });
});

describe('the page', () => {
  test('is told the whole at first, then each look and what happens', async () => {
    const page = await web();
    await page.enter();
    watch(await pidFrom(path('pid')));
    const { text } = await page.ask('/live', { until: '"state":"ready"' });
    expect(text).toMatch(/^event: whole\ndata: \{"events":\[.*\],"samples":\[/);
    const csrf = await csrfOf(page);
    let told: ReturnType<WebRun['ask']> | undefined;
    await new Promise<void>((resolve) => {
      told = page.ask('/live', { until: '"state":"stopped","generation"', onBegin: resolve });
    });
    const headers = { origin: page.url.origin, 'bulkhead-csrf': csrf };
    await page.ask('/servers/s/stop', { method: 'POST', headers });
    expect((await told)?.text).toContain('event: happened');
  });

  test('shows the resident of the directory when one is up, and waits for it when it goes', async () => {
    const config = writeConfig(path('c.json'), { s: scripted({ pidFile: path('pid') }) });
    const resident = start(['up', '-c', config, '--name', 'mine'], { cwd: path() });
    running.push(resident);
    await eventually(
      () => resident.stderr().includes('is up (process'),
      () => 'the resident',
    );
    const page = await web();
    await eventually(
      () => page.running.stderr().includes('resident "mine"'),
      () => 'the page to say what it shows',
    );
    await page.enter();
    expect((await page.ask('/live', { until: '"name":"mine"' })).text).toContain('event: look');
    const gone = page.ask('/live', { until: 'event: gone' });
    expect((await run(['down', '--resident', 'mine'])).code).toBe(0);
    expect((await gone).text).toContain('does not answer');
    const again = start(['up', '-c', config, '--name', 'mine'], { cwd: path() });
    running.push(again);
    const pid = `"pid":${again.child.pid}`;
    expect((await page.ask('/live', { until: pid })).text).toContain(pid);
  });

  test('tails the log of a server', async () => {
    const noisy = scripted({ exitAtStart: { code: 1, stderr: 'no database\n' } });
    const config = writeConfig(path('c.json'), { noisy });
    const page = await startWeb(['-c', config], { cwd: path() });
    running.push(page.running);
    await page.enter();
    const { text } = await page.ask('/logs/noisy', { until: 'no database' });
    expect(text).toContain('no database');
    expect((await page.ask('/logs/nobody')).text).toContain('nobody');
  });

  test('ends with Ctrl-C, its servers and open connections with it', async () => {
    const page = await web();
    await page.enter();
    watch(await pidFrom(path('pid')));
    let open: ReturnType<WebRun['ask']> | undefined;
    await new Promise<void>((resolve) => {
      open = page.ask('/live', { onBegin: resolve });
    });
    page.running.child.kill('SIGINT');
    expect(await page.running.ended).toMatchObject({ code: 130 });
    expect((await open)?.text).toContain('event: whole');
  });
});

test('the page about the command line tells of web and each of its own options', async () => {
  const { stdout } = await run(['web', '--help']);
  const options = [...stdout.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map(([, option]) => String(option));
  expect(options).toContain('--port');
  const page = readPage('docs/cli.md');
  const section = page.split('### bulkhead web')[1]?.split(/^## /m)[0] ?? '';
  const shared = page.slice(page.indexOf('## Options of every command'), page.indexOf('## bulkhead batch'));
  for (const option of options) if (option !== '--help') expect(section + shared).toContain(`\`${option}`);
});
