/** Links between pages: what they point to is there, and no page is left out of the index. */
import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { anchors, linkTargets, markdownFiles, readPage, root } from './markdown.js';

const pages = markdownFiles();

describe('every relative link leads somewhere', () => {
  it.each(pages)('in %s', (path) => {
    const broken = linkTargets(readPage(path)).filter(
      (target) => !/^\w+:/.test(target) && !leads(path, target),
    );
    expect(broken).toEqual([]);
  });
});

function leads(from: string, target: string): boolean {
  const [file = '', anchor] = target.split('#');
  const path = file === '' ? from : join(dirname(from), file);
  if (!existsSync(join(root, path))) return false;
  return anchor === undefined || anchors(readPage(path)).includes(anchor);
}

describe('the indexes', () => {
  it.each(['docs', 'docs/decisions'])('of %s list every page beside them', (directory) => {
    const index = `${directory}/README.md`;
    const listed = linkTargets(readPage(index)).map((target) => join(directory, target));
    const beside = pages.filter((path) => dirname(path) === directory && path !== index);
    expect(beside.length).toBeGreaterThan(3);
    expect(beside.filter((path) => !listed.includes(path)).map((path) => relative(directory, path))).toEqual(
      [],
    );
  });

  it('are both reached from the front page', () => {
    expect(linkTargets(readPage('README.md'))).toContain('docs/README.md');
    expect(linkTargets(readPage('docs/README.md'))).toContain('decisions/README.md');
  });
});
