/** Every large source folder begins with a guide that leads to each of its files, and to nothing that is gone. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useTempDir } from '../support/temp-dir.js';
import { linkTargets, root } from './markdown.js';

/** From so many files on a list of names explains nothing any more. */
const LARGE = 8;
const GUIDE = 'README.md';

interface Folder {
  path: string;
  sources: string[];
  folders: string[];
}

function foldersOf(path: string): Folder[] {
  const entries = readdirSync(path, { withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  const sources = entries.map(({ name }) => name).filter((name) => /\.tsx?$/.test(name));
  return [{ path, sources, folders }, ...folders.flatMap((name) => foldersOf(join(path, name)))];
}

/** What is wrong with the guide of one folder, a sentence each. */
function mistakes({ path, sources, folders }: Folder): string[] {
  const guide = join(path, GUIDE);
  if (!existsSync(guide)) return sources.length < LARGE ? [] : [`${sources.length} files and no ${GUIDE}`];
  const page = readFileSync(guide, 'utf8');
  const targets = linkTargets(page);
  // The opening sentences speak of files in code, so that the list below them has each link once.
  const spoken = [...page.matchAll(/`([\w./-]+\.tsx?)`/g)].map(([, name = '']) => name);
  return [
    ...sources.flatMap((name) => {
      const times = targets.filter((target) => target === name).length;
      return times === 1 ? [] : [`${name} is listed ${times} times instead of once`];
    }),
    ...folders
      .filter((name) => !targets.some((target) => target.split('/')[0] === name))
      .map((name) => `the folder ${name} is not mentioned`),
    ...[...targets, ...spoken]
      .filter((name) => !/^\w+:/.test(name) && !existsSync(join(path, name)))
      .map((name) => `${name} does not exist`),
    ...[...page.matchAll(/\[([\w.-]+\.tsx?)\]\(([^)]+)\)/g)]
      .filter(([, shown, target = '']) => shown !== basename(target))
      .map(([, shown, target]) => `${shown} leads to ${target}`),
  ];
}

describe('the guides of the source folders', () => {
  const packages = readdirSync(join(root, 'packages')).map((name) => `packages/${name}/src`);
  const folders = packages
    .filter((path) => existsSync(join(root, path)))
    .flatMap((path) => foldersOf(join(root, path)))
    .map((folder) => [folder.path.slice(root.length), folder] as const);

  it('are looked for in every package', () => {
    expect(folders.filter(([, { sources }]) => sources.length >= LARGE).length).toBeGreaterThan(20);
  });

  it.each(folders)('lead to every file of %s', (_path, folder) => {
    expect(mistakes(folder)).toEqual([]);
  });
});

describe('a guide that does not fit its folder', () => {
  const temp = useTempDir();
  const names = ['a.ts', 'b.ts', 'c.ts', 'd.ts', 'e.ts', 'f.ts', 'g.ts', 'h.tsx'];

  async function found(guide: string | undefined, sources = names): Promise<string[]> {
    const path = await mkdtemp(temp('folder-'));
    for (const name of sources) await writeFile(join(path, name), '');
    await mkdir(join(path, 'inner'));
    if (guide !== undefined) await writeFile(join(path, GUIDE), guide);
    const [folder] = foldersOf(path);
    return folder === undefined ? ['no folder'] : mistakes(folder);
  }

  const list = [...names, 'inner'].map((name) => `* [${name}](${name}): a line`).join('\n');

  it('is told from one that does', async () => {
    expect(await found(`Begin with \`a.ts\`.\n\n${list}\n`)).toEqual([]);
  });

  it('is missed in a large folder and not in a small one', async () => {
    expect(await found(undefined)).toEqual(['8 files and no README.md']);
    expect(await found(undefined, names.slice(1))).toEqual([]);
  });

  it('is found when a file is left out, listed twice or gone', async () => {
    const [first = '', ...rest] = list.split('\n');
    expect(await found(rest.join('\n'))).toEqual(['a.ts is listed 0 times instead of once']);
    expect(await found(`${list}\n${first}`)).toEqual(['a.ts is listed 2 times instead of once']);
    expect(await found(`${list}\n* [z.ts](z.ts): gone`)).toEqual(['z.ts does not exist']);
    expect(await found(`Begin with \`z.ts\`.\n\n${list}`)).toEqual(['z.ts does not exist']);
  });

  it('is found when a folder is left out or a name leads elsewhere', async () => {
    expect(await found(list.replace('* [inner](inner): a line', ''))).toEqual([
      'the folder inner is not mentioned',
    ]);
    expect(await found(list.replace('[a.ts](a.ts)', '[b.ts](a.ts)'))).toEqual(['b.ts leads to a.ts']);
  });
});
