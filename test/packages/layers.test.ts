/** The dependency rule: who imports whom, and what pure policy reaches. Broken on purpose in a small tree as well. */
import { execFile } from 'node:child_process';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { useTempDir } from '../support/temp-dir.js';

// Compilers and installs, on cores that are busy with other tests.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 300_000 });

const root = fileURLToPath(new URL('../..', import.meta.url));
const program = join(root, 'scripts/node_modules/dependency-cruiser/bin/dependency-cruise.mjs');

interface Report {
  summary: { totalCruised: number; violations: { from: string; to: string; rule: { name: string } }[] };
}

/** `rule: from → to` of every violation, and how many modules were looked at. */
async function violations(rules: 'layers' | 'purity', directory: string) {
  const config = join(root, `scripts/rules/${rules}.mjs`);
  const args = [program, '--config', config, '--output-type', 'json', 'packages'];
  // The exit code is the number of violations only for some kinds of output; what is printed says it all.
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: directory,
    maxBuffer: 256 * 1024 * 1024,
  });
  const { summary } = JSON.parse(stdout) as Report;
  const found = summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`);
  return { found, modules: summary.totalCruised };
}

describe('the packages', () => {
  it('import only downwards, by what the others export, without circles', async () => {
    const { found, modules } = await violations('layers', root);
    expect(found).toEqual([]);
    expect(modules).toBeGreaterThan(300);
  });

  it('hold policy that reaches neither Node nor a library', async () => {
    const { found, modules } = await violations('purity', root);
    expect(found).toEqual([]);
    expect(modules).toBeGreaterThan(300);
  });
});

describe('a tree that breaks the rule', () => {
  const temp = useTempDir();

  async function tree(files: Record<string, string>): Promise<string> {
    const directory = temp();
    await cp(join(root, 'tsconfig.base.json'), join(directory, 'tsconfig.base.json'));
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(directory, path)), { recursive: true });
      await writeFile(join(directory, path), text);
    }
    return directory;
  }

  it('is told of an import upwards, also of a type, and of one past the exports', async () => {
    const directory = await tree({
      'packages/workers/src/a.ts': "import { b } from '@bulkhead/runtime';\nexport const a = b;\n",
      'packages/runtime/src/b.ts': "import type { C } from '../../cli/src/c.js';\nexport const b: C = 1;\n",
      'packages/cli/src/c.ts': 'export type C = number;\n',
    });
    const { found } = await violations('layers', directory);
    expect(found).toContain('workers-imports-upwards: packages/workers/src/a.ts → @bulkhead/runtime');
    expect(found).toContain('runtime-imports-upwards: packages/runtime/src/b.ts → packages/cli/src/c.ts');
    expect(found).toContain('past-the-exports: packages/runtime/src/b.ts → packages/cli/src/c.ts');
  });

  it('is told of a circle of values; types may go round', async () => {
    const directory = await tree({
      'packages/workers/src/a.ts': "import { b } from './b.js';\nexport const a = () => b;\n",
      'packages/workers/src/b.ts': "import { a } from './a.js';\nexport const b = () => a;\n",
      'packages/workers/src/c.ts':
        "import { d } from './d.js';\nexport type C = number;\nexport const c = d;\n",
      'packages/workers/src/d.ts': "import type { C } from './c.js';\nexport const d: C = 1;\n",
    });
    const { found } = await violations('layers', directory);
    expect(found).toEqual([expect.stringMatching(/^circle: packages\/workers\/src\/[ab]\.ts → /)]);
  });

  it('is told of an effect that pure policy reaches by way of another file, and of a library', async () => {
    const directory = await tree({
      'packages/runtime/src/breaker.ts': "import { now } from './now.js';\nexport const opened = now();\n",
      'packages/runtime/src/now.ts':
        "import { hrtime } from 'node:process';\nexport const now = () => hrtime();\n",
      'packages/runtime/src/mailbox.ts': "import Queue from 'p-queue';\nexport const queue = new Queue();\n",
    });
    const { found } = await violations('purity', directory);
    expect(found).toEqual([
      expect.stringMatching(/^policy-needs-a-library: packages\/runtime\/src\/mailbox\.ts → p-queue$/),
      expect.stringMatching(/^policy-reaches-node: packages\/runtime\/src\/breaker\.ts → (node:)?process$/),
    ]);
  });
});
