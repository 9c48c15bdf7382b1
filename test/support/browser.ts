/**
 * The browser of this machine, for tests of pages. It is never downloaded: where none is installed, tests say so and
 * look at what the server sends instead, and with `CI_BROWSER=1` they fail.
 */
import { execFileSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const MAC = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome';

/** Path of the program; undefined where there is none. */
export const browserPath = find();
/** Whoever runs the tests insists on a browser. */
export const mustHaveBrowser = process.env.CI_BROWSER === '1';

/** Close it before the test ends. */
export async function launchBrowser(executablePath: string): Promise<Browser> {
  return chromium.launch({
    executablePath,
    // The superuser cannot use the browser's own sandbox; nothing but our page is opened.
    chromiumSandbox: process.getuid?.() !== 0,
    args: [
      '--disable-gpu',
      '--disable-quic',
      '--disable-background-networking',
      '--disable-component-update',
    ],
  });
}

function find(): string | undefined {
  const places = (process.env.PATH ?? '').split(delimiter);
  const paths = [...places.flatMap((place) => NAMES.map((name) => join(place, name))), MAC];
  return paths.find((path) => isExecutable(path) && works(path));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Some systems have a script of that name that only says how to install it. */
function works(path: string): boolean {
  try {
    return /\d+\.\d+/.test(execFileSync(path, ['--version'], { encoding: 'utf8', timeout: 20_000 }));
  } catch {
    return false;
  }
}
