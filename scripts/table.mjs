#!/usr/bin/env node
/**
 * `npm run table`: the repository in numbers, as Markdown, counted from the tree as it stands: files, lines, share of
 * comments, the largest files, public symbols and how many of them are documented, tests.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import ts from 'typescript';
import { root } from './tool.mjs';

const PARTS = ['packages/workers/src', 'packages/runtime/src', 'packages/cluster/src', 'packages/cli/src'];
const BESIDE = ['test', 'bench', 'examples', 'scripts'];
const SOURCE = /\.(ts|tsx|mts|mjs|js)$/;
const SKIPPED = new Set(['node_modules', 'dist', '.peers', '.bulkhead']);
/** TypeDoc's numbers for variable, function, class, interface, method, type alias. */
const COUNTED = new Set([32, 64, 128, 256, 2_048, 2_097_152]);
/** Longer files are named: each has a reason, or is split. */
const LONG_LINES = 300;
const LARGEST = 10;

const rows = [...PARTS, ...BESIDE].map((path) => ({
  path,
  files: filesBelow(join(root, path)).map(measure),
}));
const ours = rows.filter(({ path }) => PARTS.includes(path)).flatMap(({ files }) => files);

print(
  ['part', 'files', 'lines', 'comments', 'median file', 'over 300 lines'],
  [
    ...rows.map(({ path, files }) => [`\`${path}\``, ...figures(files)]),
    ['the packages together', ...figures(ours)],
  ],
);

const largest = ours.toSorted((a, b) => b.lines - a.lines).slice(0, LARGEST);
print(
  ['largest files', 'lines'],
  largest.map(({ path, lines }) => [`\`${path}\``, lines]),
);

const tests = rows.find(({ path }) => path === 'test').files.filter(({ path }) => path.endsWith('.test.ts'));
const cases = tests.reduce(
  (sum, { text }) => sum + (text.match(/^\s*(?:it|test)(?:\.\w+)*[(`]/gm)?.length ?? 0),
  0,
);
const { documented, symbols } = publicSymbols();
print(
  ['', 'count'],
  [
    ['test files', tests.length],
    ['tests as written (a table of cases counts once)', cases],
    ['public symbols', symbols],
    ['of them documented', documented],
  ],
);

function figures(files) {
  const lines = files.reduce((sum, file) => sum + file.lines, 0);
  const comments = files.reduce((sum, file) => sum + file.comments, 0);
  const sorted = files.map((file) => file.lines).sort((a, b) => a - b);
  const share = lines === 0 ? '–' : `${((100 * comments) / lines).toFixed(1)} %`;
  const long = files.filter((file) => file.lines > LONG_LINES).length;
  return [files.length, lines, share, sorted[Math.floor(sorted.length / 2)] ?? 0, long];
}

function filesBelow(directory) {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : filesBelow(path);
    return SOURCE.test(entry.name) ? [path] : [];
  });
}

/** Lines, and those on which nothing but a comment stands. */
function measure(path) {
  const text = readFileSync(path, 'utf8');
  const all = text.split('\n');
  const lines = all.at(-1) === '' ? all.length - 1 : all.length;
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, false);
  const code = new Set();
  // Whatever is not a token's own text is trivia: a line without a token is blank or a comment.
  const visit = (node) => {
    if (node.getChildCount(source) === 0 && node.getWidth(source) > 0) {
      const first = source.getLineAndCharacterOfPosition(node.getStart(source)).line;
      const last = source.getLineAndCharacterOfPosition(node.getEnd()).line;
      for (let line = first; line <= last; line++) code.add(line);
    }
    for (const child of node.getChildren(source)) {
      if (child.kind < ts.SyntaxKind.FirstJSDocNode || child.kind > ts.SyntaxKind.LastJSDocNode) visit(child);
    }
  };
  visit(source);
  const comments = all.filter((line, index) => line.trim() !== '' && !code.has(index)).length;
  return { path: relative(root, path), text, lines, comments };
}

/** Exported things and their methods, by TypeDoc; see typedoc.json for what must be documented. */
function publicSymbols() {
  const directory = mkdtempSync(join(tmpdir(), 'bulkhead-table-'));
  const file = join(directory, 'api.json');
  try {
    spawnSync(process.execPath, [join(root, 'scripts/api-docs.mjs'), '--json', file, '--logLevel', 'None'], {
      cwd: root,
      stdio: 'ignore',
    });
    const found = { symbols: 0, documented: 0 };
    const count = ({ kind, comment, signatures, children = [], type }) => {
      if (COUNTED.has(kind)) {
        found.symbols++;
        const said = comment ?? signatures?.[0]?.comment ?? type?.declaration?.signatures?.[0]?.comment;
        if (said !== undefined) found.documented++;
      }
      for (const child of children) count(child);
    };
    count(JSON.parse(readFileSync(file, 'utf8')));
    return found;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function print(head, body) {
  console.log([head, head.map(() => '---'), ...body].map((cells) => `| ${cells.join(' | ')} |`).join('\n'));
  console.log();
}
