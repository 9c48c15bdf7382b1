/**
 * Shows an authorization URL to a person. No shell is involved: the URL comes from a foreign server, and only http and
 * https ones are opened.
 */
import { spawn } from 'node:child_process';

/** The program that opens a URL, with its arguments in front of the URL. */
export function browserCommand(platform: NodeJS.Platform): readonly [string, ...string[]] {
  switch (platform) {
    case 'darwin':
      return ['open'];
    case 'win32':
      // `start` belongs to a shell, which would read "&" in the URL.
      return ['rundll32', 'url.dll,FileProtocolHandler'];
    default:
      return ['xdg-open'];
  }
}

/**
 * Resolves with whether a browser was started; false where there is none (a container, SSH): print the URL then.
 * @throws {TypeError} for anything but an http or https URL.
 */
export function openBrowser(
  url: string,
  command: readonly [string, ...string[]] = browserCommand(process.platform),
): Promise<boolean> {
  const protocol = URL.canParse(url) ? new URL(url).protocol : undefined;
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw new TypeError(`Expected an http or https URL to open, got ${protocol ?? 'no URL at all'}.`);
  }
  const [program, ...args] = command;
  return new Promise((resolve) => {
    const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true });
    child.once('error', () => resolve(false));
    child.once('exit', (code) => resolve(code === 0));
    // Some openers stay as long as the browser does; nobody waits for that.
    child.once('spawn', () => {
      child.unref();
      setTimeout(() => resolve(true), 1_000).unref();
    });
  });
}
