/** Opening a browser: real programs in place of one. */
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { browserCommand, openBrowser } from '../../packages/runtime/src/auth/open-browser.js';
import { useCensus } from '../support/census.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus();
const temp = useTempDir();

describe('opening a browser', () => {
  it('hands the URL over whole, without a shell between', async () => {
    const url = `https://as.example/authorize?a=1&b=$(touch ${temp('pwned')})`;
    const script = 'require("node:fs").writeFileSync(process.argv[1], process.argv[2])';
    const command = [process.execPath, '-e', script, temp('url')] as const;
    expect(await openBrowser(url, command)).toBe(true);
    expect(readFileSync(temp('url'), 'utf8')).toBe(url);
    expect(existsSync(temp('pwned'))).toBe(false);
  });

  it('says when there is no browser, or none that works', async () => {
    expect(await openBrowser('https://as.example/', [temp('no-such-program')])).toBe(false);
    expect(await openBrowser('https://as.example/', [process.execPath, '-e', 'process.exit(3)', '--'])).toBe(
      false,
    );
  });

  it.each(['javascript:alert(1)', 'file:///etc/passwd', '-option'])('refuses to open %s', (url) => {
    expect(() => openBrowser(url)).toThrow(TypeError);
  });

  it('knows a program for every platform', () => {
    expect(browserCommand('darwin')).toEqual(['open']);
    expect(browserCommand('linux')).toEqual(['xdg-open']);
    expect(browserCommand('win32')[0]).toBe('rundll32');
  });
});
