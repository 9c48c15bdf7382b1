/** The web page in a real browser: what a person sees, presses and hears; without a browser, what it is made of. */
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { browserPath, launchBrowser, mustHaveBrowser } from '../support/browser.js';
import { useCensus } from '../support/census.js';
import { eventually } from '../support/eventually.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';
import { type Running, run, start, writeConfig } from './cli.js';
import { startWeb } from './web-page.js';

useCensus({ graceMs: 8_000 });
const path = useTempDir();
const running: Running[] = [];
let browser: Browser | undefined;

beforeEach(() => {
  process.env.XDG_RUNTIME_DIR = path('run');
  mkdirSync(path('run'), { mode: 0o700 });
});
afterEach(async () => {
  await browser?.close();
  browser = undefined;
  for (const { child } of running) child.kill('SIGTERM');
  await Promise.all(running.splice(0).map(({ ended }) => ended));
  delete process.env.XDG_RUNTIME_DIR;
});

const longName = 'a-server-with-a-very-long-name-that-somebody-once-thought-to-be-a-good-idea';

/** A resident with honest, failing and oddly named servers, some calls behind it. */
async function resident(): Promise<void> {
  const config = writeConfig(path('c.json'), {
    files: scripted({}),
    [longName]: scripted({}),
    broken: scripted({ exitAtStart: { code: 1, stderr: '\u001b[31mno database\u001b[0m <b>here</b>\n' } }),
    missing: { command: '/no/such/program' },
  });
  const up = start(['up', '-c', config, '--name', 'mine'], { cwd: path() });
  running.push(up);
  await eventually(
    () => up.stderr().includes('is up (process'),
    () => `the resident; it said ${up.stderr()}`,
  );
  for (const text of ['a', 'b'])
    expect(await run(['call', 'files.echo', `text=${text}`, '--resident', 'mine'])).toMatchObject({
      code: 0,
    });
}

/** Opens the page and collects whatever the browser complains about. */
async function open(executable: string, options: BrowserContextOptions = {}) {
  await resident();
  const web = await startWeb(['--resident', 'mine'], { cwd: path() });
  running.push(web.running);
  browser = await launchBrowser(executable);
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('requestfailed', (request) => {
    // What the page itself gave up is no failure: a log that is not followed any more, an icon of the doorway.
    const why = request.failure()?.errorText;
    if (why !== 'net::ERR_ABORTED') complaints.push(`${request.url()}: ${why}`);
  });
  await page.goto(web.url.href);
  await page.getByRole('row', { name: /files.*ready/ }).waitFor();
  await picture(page, 'first');
  return { page, complaints };
}

/** For eyes; only where somebody asks for pictures. */
async function picture(page: Page, name: string): Promise<void> {
  const directory = process.env.BULKHEAD_TEST_PICTURES;
  if (directory === undefined) return;
  const { width } = page.viewportSize() ?? { width: 0 };
  const dark = await page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches");
  await page.screenshot({
    path: `${directory}/${name}-${width}-${dark ? 'dark' : 'light'}.png`,
    fullPage: true,
  });
}

/** What axe finds against WCAG 2.2 AA. */
async function barriers(page: Page): Promise<string[]> {
  const axe = createRequire(import.meta.url)('axe-core') as { source: string };
  await page.evaluate(axe.source);
  const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
  const { violations } = await page.evaluate<{
    violations: { id: string; help: string; nodes: { html: string }[] }[];
  }>(`axe.run({ runOnly: ${JSON.stringify(tags)} })`);
  return violations.map(
    ({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(' ')}`,
  );
}

if (browserPath === undefined) {
  test('no browser is installed: the page is looked at over HTTP', async () => {
    const message =
      'no Chromium or Chrome was found on PATH; install one to test the page as a person sees it';
    if (mustHaveBrowser) throw new Error(`CI_BROWSER=1, but ${message}`);
    process.stderr.write(`${message}\n`);
    await resident();
    const web = await startWeb(['--resident', 'mine'], { cwd: path() });
    running.push(web.running);
    await web.enter();
    const { text } = await web.ask('/');
    for (const part of ['id="servers"', 'id="chart"', 'id="events"', 'id="log"', 'id="confirm"'])
      expect(text).toContain(part);
    expect((await web.ask('/live', { until: longName })).text).toContain(longName);
  });
} else {
  const executable = browserPath;

  describe('in a browser', () => {
    test('the page shows each server and what became of it, as text and nothing else', async () => {
      const { page, complaints } = await open(executable);
      const broken = page.getByRole('row', { name: /^broken/ });
      await broken.getByText(/backoff|quarantined/).waitFor();
      expect(await page.getByRole('row').count()).toBe(5);
      await page.getByRole('row', { name: /missing.*ENOENT|missing.*not found/ }).waitFor();
      await broken.getByRole('button', { name: 'Log broken' }).click();
      await page.locator('#log', { hasText: 'no database <b>here</b>' }).waitFor();
      expect(await page.locator('#log').textContent()).not.toContain('[31m');
      expect(await page.locator('#events').textContent()).toContain('no database');
      expect(new URL(page.url()).search).toBe('');
      await picture(page, 'log');
      expect(complaints).toEqual([]);
    });

    test('its buttons work with the keyboard alone, and keep the focus', async () => {
      const { page, complaints } = await open(executable);
      const row = page.getByRole('row', { name: /^files/ });
      await row.getByRole('button', { name: 'Stop files' }).focus();
      await page.keyboard.press('Enter');
      await row.getByText('stopped', { exact: true }).waitFor();
      const start = row.getByRole('button', { name: 'Start files', exact: true });
      await start.waitFor();
      expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toBe('Start files');
      await page.locator('#said', { hasText: 'files is stopped' }).waitFor();
      await page.keyboard.press('Enter');
      await row.getByText('ready', { exact: true }).waitFor();
      await row.getByRole('button', { name: 'Restart files' }).click();
      await page.locator('#said', { hasText: /files (was|is being) restarted/ }).waitFor();
      await row.getByText('ready', { exact: true }).waitFor();
      expect(complaints).toEqual([]);
    });

    test('asks before it breaks calls that are under way', async () => {
      const { page, complaints } = await open(executable);
      const row = page.getByRole('row', { name: /^files/ });
      const calling = start(['call', 'files.sleep', 'ms:=60000', '--resident', 'mine'], { cwd: path() });
      await row.locator('[data-label="In flight"]', { hasText: '1' }).waitFor();
      await row.getByRole('button', { name: 'Stop files' }).click();
      const dialog = page.getByRole('dialog', { name: 'Stop files?' });
      await dialog.getByText('A call is under way and will fail.').waitFor();
      await picture(page, 'dialog');
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'hidden' });
      expect(calling.child.exitCode).toBe(null);
      await row.getByRole('button', { name: 'Stop files' }).click();
      await dialog.getByRole('button', { name: 'Stop it' }).click();
      expect((await calling.ended).code).not.toBe(0);
      await row.getByText('stopped', { exact: true }).waitFor();
      expect(complaints).toEqual([]);
    });

    test('nothing is cut off sideways and nobody is shut out, wide or narrow, light or dark', async () => {
      const { page, complaints } = await open(executable, { reducedMotion: 'reduce' });
      const broken = page.getByRole('row', { name: /^broken/ });
      await broken.getByText(/backoff|quarantined/).waitFor();
      await page.locator('#chart polyline').first().waitFor({ state: 'attached' });
      for (const [width, colorScheme] of [
        [1_280, 'light'],
        [1_280, 'dark'],
        [800, 'light'],
        [360, 'light'],
        [360, 'dark'],
      ] as const) {
        await page.setViewportSize({ width, height: 800 });
        await page.emulateMedia({ colorScheme });
        const tooWide = await page.evaluate(
          "[document.documentElement, ...document.querySelectorAll('section, figure, table, th, td')].filter((node) => node.scrollWidth > node.clientWidth).map(({ tagName, textContent }) => tagName + textContent.slice(0, 40))",
        );
        expect([width, tooWide]).toEqual([width, []]);
        // Roles stay what they are, however the table is laid out.
        expect(await page.getByRole('table', { name: 'Servers' }).getByRole('rowheader').count()).toBe(4);
        await picture(page, 'whole');
        expect([width, colorScheme, await barriers(page)]).toEqual([width, colorScheme, []]);
      }
      expect(complaints).toEqual([]);
    });

    test('it says so when bulkhead web has ended', async () => {
      const { page } = await open(executable);
      const web = running.at(-1);
      web?.child.kill('SIGINT');
      await web?.ended;
      await page.getByText('Connection lost').waitFor();
    });
  });
}
