/**
 * A project of somebody else: the tarballs installed by npm into an empty directory, run by this Node and by Node 24,
 * compiled under both resolutions by two compilers, and bundled.
 */
import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type BuildOptions, build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { nodeProgram, npm } from '../../scripts/npm.mjs';
import { packAll } from '../../scripts/pack.mjs';
import { codeBlocks, readPage } from '../docs/markdown.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const typescript7 = join(root, 'node_modules/typescript/bin/tsc');
const typescript5 = join(root, 'scripts/node_modules/typescript/bin/tsc');
const nodes = new Map([[`Node ${process.versions.node.split('.')[0]}`, process.execPath]]);

let directory = '';
let imports: string[] = [];
beforeAll(() => {
  nodes.set('Node 24', nodeProgram(24));
  directory = mkdtempSync(join(tmpdir(), 'bulkhead-consumer-'));
  const packed = packAll(join(directory, 'tarballs'));
  const dependencies = Object.fromEntries(packed.map(({ name, tarball }) => [name, `file:${tarball}`]));
  write('package.json', JSON.stringify({ private: true, type: 'module', dependencies }));
  npm(['install', '--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund'], directory);
  imports = packed.flatMap(({ name }) => importsOf(name));
  // The example names its servers by paths that lead from the project.
  for (const server of ['echo', 'hang']) {
    cpSync(join(root, 'examples', server), join(directory, 'examples', server), { recursive: true });
  }
  write('main.mjs', example());
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function write(path: string, text: string): void {
  writeFileSync(join(directory, path), text);
}

/** What a package can be imported as, by what its installed manifest says. */
function importsOf(name: string): string[] {
  const path = join(directory, 'node_modules', name, 'package.json');
  const { exports } = JSON.parse(readFileSync(path, 'utf8')) as { exports: Record<string, unknown> };
  return Object.entries(exports)
    .filter(([, target]) => typeof target === 'object')
    .map(([subpath]) => `${name}${subpath.slice(1)}`);
}

/** The first program of the front page. */
function example(): string {
  const [program] = codeBlocks(readPage('README.md'), 'js').filter((code) => code.includes('createRuntime'));
  if (program === undefined) throw new Error('README.md has no program any more');
  return program;
}

/** What a program printed. @throws with its stderr when it did not exit with 0 */
async function output(node: string, ...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(node, args, { cwd: directory, timeout: 200_000 });
  return stdout;
}

const program = (name: string): string => nodes.get(name) ?? '';

describe.each([...new Set([...nodes.keys(), 'Node 24'])])('with %s', (node) => {
  it("the front page's example runs: the threads are found", async () => {
    expect(await output(program(node), 'main.mjs')).toBe('still here\nTIMEOUT\n');
  });

  it('everything that is exported can be imported, and required by a CommonJS program', async () => {
    expect(imports).toEqual(expect.arrayContaining(['@bulkhead/runtime', '@bulkhead/runtime/agent']));
    const lines = imports.map((name) => `console.log(Object.keys(await import('${name}')).length > 0);`);
    write('all.mjs', lines.join('\n'));
    expect(await output(program(node), 'all.mjs')).toBe('true\n'.repeat(imports.length));
    const required = imports.map((name) => `console.log(Object.keys(require('${name}')).length > 0);`);
    write('all.cjs', required.join('\n'));
    expect(await output(program(node), 'all.cjs')).toBe('true\n'.repeat(imports.length));
  });

  it('the installed command calls a tool', async () => {
    const echo = { command: process.execPath, args: ['examples/echo/server.mjs'] };
    write('mcp.json', JSON.stringify({ mcpServers: { echo } }));
    const command = join(directory, 'node_modules/@bulkhead/cli/bin/bulkhead.mjs');
    const { version } = JSON.parse(readFileSync(join(root, 'packages/cli/package.json'), 'utf8')) as {
      version: string;
    };
    expect(await output(program(node), command, '--version')).toBe(`${version}\n`);
    const args = ['call', 'echo.echo', 'text=from afar', '--config', 'mcp.json'];
    expect(await output(program(node), command, ...args)).toBe('from afar\n');
  });
});

it('the command does without the package for many machines, and says what to install for it', async () => {
  const command = join(directory, 'node_modules/@bulkhead/cli/bin/bulkhead.mjs');
  const place = join(directory, 'node_modules/@bulkhead/cluster');
  renameSync(place, `${place}-away`);
  try {
    expect(await output(process.execPath, command, '--help')).toContain('@bulkhead/cluster');
    const refused = output(
      process.execPath,
      command,
      'submit',
      'calls.jsonl',
      '--redis',
      'redis://localhost',
    );
    await expect(refused).rejects.toThrow('npm install -g @bulkhead/cli @bulkhead/cluster');
  } finally {
    renameSync(`${place}-away`, place);
  }
  expect(await output(process.execPath, command, 'submit', '--help')).toContain('--redis <url>');
});

describe('a compiler', () => {
  it.each([
    ['TypeScript 7', 'NodeNext', 'NodeNext', typescript7],
    ['TypeScript 7', 'Bundler', 'ESNext', typescript7],
    ['TypeScript 5', 'NodeNext', 'NodeNext', typescript5],
  ])(
    '%s with the resolution %s finds the types of everything and checks them',
    async (_, resolution, module, tsc) => {
      const used = imports.map(
        (name, index) => `import * as m${index} from '${name}';\nconsole.log(m${index});`,
      );
      write(
        'types.ts',
        `${used.join('\n')}
import { createRuntime, type Runtime } from '@bulkhead/runtime';
const runtime: Runtime = await createRuntime({ servers: { echo: { command: 'node' } } });
const text: string = (await runtime.server('echo').callTool('echo', {})).text();
// @ts-expect-error a time limit is a number of milliseconds
await runtime.server('echo').callTool('echo', {}, { timeoutMs: text });
`,
      );
      write(
        'tsconfig.json',
        JSON.stringify({
          compilerOptions: {
            strict: true,
            noEmit: true,
            target: 'ES2023',
            module,
            moduleResolution: resolution,
            // Our own declarations are checked as well, and that without any package that is optional.
            skipLibCheck: false,
            types: ['node'],
            typeRoots: [join(root, 'node_modules/@types')],
          },
          files: ['types.ts'],
        }),
      );
      await expect(output(process.execPath, tsc, '-p', '.')).resolves.toBe('');
    },
  );
});

// Compilers and installs, on cores that are busy with other tests.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 300_000 });

describe('a bundle made by esbuild', () => {
  const common = {
    entryPoints: ['main.mjs'],
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'silent',
  } satisfies BuildOptions;

  it('runs when the packages stay outside', async () => {
    const outfile = join(directory, 'outside/main.mjs');
    const { warnings } = await build({ ...common, absWorkingDir: directory, outfile, packages: 'external' });
    expect(warnings).toEqual([]);
    for (const node of nodes.values()) expect(await output(node, outfile)).toBe('still here\nTIMEOUT\n');
  });

  it('runs with the packages inside and the threads beside it', async () => {
    const outfile = join(directory, 'inside/main.mjs');
    const { warnings } = await build({
      ...common,
      absWorkingDir: directory,
      outfile,
      external: ['piscina'],
      banner: {
        js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
      },
    });
    expect(warnings).toEqual([]);
    mkdirSync(join(directory, 'inside'), { recursive: true });
    const threads = join(directory, 'node_modules/@bulkhead/workers/dist/threads');
    cpSync(threads, join(directory, 'inside/threads'), { recursive: true });
    for (const node of nodes.values()) expect(await output(node, outfile)).toBe('still here\nTIMEOUT\n');
  });

  it('says what is missing when the threads were left behind', async () => {
    rmSync(join(directory, 'inside/threads'), { recursive: true });
    expect(existsSync(join(directory, 'inside/main.mjs'))).toBe(true);
    await expect(output(process.execPath, join(directory, 'inside/main.mjs'))).rejects.toThrow(
      /threads\/supervisor\.js.*not there.*bundle/s,
    );
  });
});
