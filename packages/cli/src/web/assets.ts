/** The files of the page, read once: nothing comes from elsewhere, and nothing else can be asked for. */
import { readFile } from 'node:fs/promises';

const types = {
  'page.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
  'page.js': 'text/javascript; charset=utf-8',
  'servers.js': 'text/javascript; charset=utf-8',
  'commands.js': 'text/javascript; charset=utf-8',
  'chart.js': 'text/javascript; charset=utf-8',
  'time-span.js': 'text/javascript; charset=utf-8',
  'timeline.js': 'text/javascript; charset=utf-8',
  'log.js': 'text/javascript; charset=utf-8',
  'figures.js': 'text/javascript; charset=utf-8',
  'dom.js': 'text/javascript; charset=utf-8',
} as const;

export interface Asset {
  type: string;
  text: string;
}

export interface Assets {
  /** With `%CSRF%` where the token goes. */
  page: string;
  files: ReadonlyMap<string, Asset>;
}

export async function readAssets(): Promise<Assets> {
  const text = (name: string) => readFile(new URL(`./assets/${name}`, import.meta.url), 'utf8');
  const files = Object.entries(types).map(
    async ([name, type]): Promise<[string, Asset]> => [name, { type, text: await text(name) }],
  );
  return { page: await text('page.html'), files: new Map(await Promise.all(files)) };
}

/** A page of a few words, for who may not see the other one. Its texts are our own. */
export function notice(title: string, sentence: string): string {
  return shell(`<title>${title}</title>`, `<h1>${title}</h1><p>${sentence}</p>`);
}

/**
 * Leads on to the page. Not by a status of HTTP: a browser that came from another site (a terminal in a web page, say)
 * sends no strict cookie along a redirection, but does so from a page of our own.
 */
export function doorway(): string {
  const head = '<title>Bulkhead</title><meta http-equiv="refresh" content="0;url=/">';
  return shell(head, '<p><a href="/">Go on to the page</a></p>');
}

function shell(head: string, body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">${head}<link rel="icon" href="/assets/icon.svg"><link rel="stylesheet" href="/assets/page.css"></head><body><main class="notice">${body}</main></body></html>\n`;
}
