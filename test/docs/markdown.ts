/** The Markdown files of the repository: their prose without code, their headings as anchors, their code blocks. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** Products and things that are not ours. */
const SKIPPED = new Set(['node_modules', 'dist', 'demo-output', 'coverage', '.git', '.bulkhead']);

/** Paths of all Markdown files, relative to the root. */
export function markdownFiles(directory = root): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : markdownFiles(path);
    return entry.name.endsWith('.md') ? [relative(root, path)] : [];
  });
}

export function readPage(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

/** Contents of the fenced blocks of one language, in order. */
export function codeBlocks(page: string, language: string): string[] {
  return [...page.matchAll(/^```(\w*)\n(.*?)^```$/gms)].flatMap(([, fence, code = '']) =>
    fence === language ? [code] : [],
  );
}

/** Targets of the links in prose; code is left out. */
export function linkTargets(page: string): string[] {
  const prose = page.replaceAll(/^```.*?^```$/gms, '').replaceAll(/`[^`\n]*`/g, 'code');
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
}

/** Anchors of a page's headings, the way the usual hosts make them. */
export function anchors(page: string): string[] {
  const prose = page.replaceAll(/^```.*?^```$/gms, '');
  return [...prose.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
