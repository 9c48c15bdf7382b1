/** What the front page shows is what happens: its program, its commands, their output. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { serverDefaults, supervisorDefaults } from '@bulkhead/runtime';
import { beforeEach, describe, expect, it } from 'vitest';
import { useCensus } from '../support/census.js';
import { useTempDir } from '../support/temp-dir.js';
import { codeBlocks, readPage, root } from './markdown.js';

useCensus();
const temp = useTempDir();

const run = promisify(execFile);
const readme = readPage('README.md');
const scripts = Object.keys(JSON.parse(readPage('package.json')).scripts);
const commands = codeBlocks(readme, 'bash').flatMap((block) => block.trim().split('\n'));

interface End {
  code: number;
  output: string;
}

/** Runs a line in a shell; `npx bulkhead` is the built command line. Output is stdout, then stderr. */
async function shell(line: string, cwd: string): Promise<End> {
  const command = line.replaceAll(
    'npx bulkhead',
    `"${process.execPath}" "${join(root, 'packages/cli/dist/main.js')}"`,
  );
  try {
    const { stdout, stderr } = await run('/bin/sh', ['-c', command], { cwd });
    return { code: 0, output: stdout + stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, output: stdout + stderr };
  }
}

/** Makes `demo-output` as the demo does, in the test's own directory. */
async function makeDemoOutput(): Promise<void> {
  const script = `
    import { writeFileSync } from 'node:fs';
    import { makeCalls } from './examples/demo/calls.mjs';
    import { makeSetting } from './examples/demo/setting.mjs';
    const output = process.env.DEMO_OUTPUT;
    const calls = makeCalls(makeSetting(output, 'readme'));
    writeFileSync(output + '/calls.jsonl', calls.map(({ expect, ...call }) => JSON.stringify(call) + '\\n').join(''));
  `;
  const env = { ...process.env, DEMO_OUTPUT: temp('demo-output') };
  await run(process.execPath, ['--input-type=module', '-e', script], { cwd: root, env });
}

describe('the program of the front page', () => {
  it('is the example, word for word', () => {
    expect(codeBlocks(readme, 'js')).toEqual([readPage('examples/embed/main.mjs')]);
  });

  it('has the types that the runtime says', async () => {
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const { stdout } = await run(process.execPath, [tsc, '-p', 'examples/embed'], { cwd: root });
    expect(stdout).toBe('');
  });

  it('prints what the page says, and leaves nothing behind', async () => {
    const [, said] = /it prints\s+`(.*)`, then `TIMEOUT`/.exec(readme) ?? [];
    expect(commands).toContain('node examples/embed/main.mjs');
    expect(await shell('node examples/embed/main.mjs', root)).toEqual({
      code: 0,
      output: `${said}\nTIMEOUT\n`,
    });
  });
});

describe('the commands of the front page', () => {
  it.each(commands)('%s is a script of the workspace or an example that is run here', (command) => {
    const [, script] = /^npm (?:run )?([\w-]+)$/.exec(command) ?? [];
    if (script === undefined) expect(command).toBe('node examples/embed/main.mjs');
    else expect(scripts).toContain(script);
  });

  it('are joined in CONTRIBUTING by no script that does not exist', () => {
    const named = [...readPage('CONTRIBUTING.md').matchAll(/`npm (?:run )?([\w-]+)/g)].map(
      ([, name]) => name,
    );
    expect(named.length).toBeGreaterThan(3);
    expect(named.filter((name) => !scripts.includes(name ?? ''))).toEqual([]);
  });
});

describe('the comparison of the front page', () => {
  it('speaks of the SDK that is installed', () => {
    const manifest = readPage('packages/workers/node_modules/@modelcontextprotocol/sdk/package.json');
    const { version } = JSON.parse(manifest) as { version: string };
    expect(readme).toContain(`\`@modelcontextprotocol/sdk\` ${version},`);
  });

  it('quotes our numbers as they are', () => {
    const { window, queueMax, maxMessageBytes, callTimeoutMs, callMaxMs } = serverDefaults;
    const { deadAfterMs, restartMax, restartWindowMs } = supervisorDefaults;
    expect(readme).toContain(`\`deadAfterMs\` (${deadAfterMs / 1_000} s)`);
    expect(readme).toContain(`more than ${restartMax} failures in ${restartWindowMs / 1_000} s`);
    expect(readme).toContain(`${window} in flight per server, ${queueMax} waiting`);
    expect(readme).toContain(`| ${maxMessageBytes / 1024 ** 2} MiB, per server;`);
    expect(readme).toContain(
      `| ${callTimeoutMs / 1_000} s without progress and ${callMaxMs / 60_000} min in all`,
    );
  });
});

/** Commands of the transcripts, each with the lines that follow it. */
const transcripts = codeBlocks(readme, 'console').flatMap((block) =>
  block
    .split(/^\$ /m)
    .slice(1)
    .map((text) => {
      const end = text.indexOf('\n');
      return { command: text.slice(0, end), shown: text.slice(end + 1) };
    }),
);
/** Exit status of those that do not end with 0. */
const statuses = new Map([["npx bulkhead call sqlite.query sql='DELETE FROM loans'", 5]]);

describe('the transcripts of the front page', () => {
  beforeEach(makeDemoOutput);

  it.each(transcripts)('$command', async ({ command, shown }) => {
    const { code, output } = await shell(command, temp());
    const isBatch = command.includes('bulkhead batch');
    expect(isBatch ? withoutTimes(output) : output).toBe(isBatch ? withoutTimes(shown) : shown);
    expect(code).toBe(statuses.get(command.replace(/ --config \S+$/, '')) ?? 0);
  });

  it('show the demo with as many calls per server as it makes', () => {
    const [, transcript = ''] = /^\$ npm run demo\n(.*?)^```/ms.exec(readme) ?? [];
    const shown = [...transcript.matchAll(/^(\w+) +(\d+) +\d+ +\d+ /gm)].map(([, name, n]) => [
      name,
      Number(n),
    ]);
    const counts = new Map<string, number>();
    for (const line of readFileSync(temp('demo-output', 'calls.jsonl'), 'utf8').trim().split('\n')) {
      const { server } = JSON.parse(line) as { server: string };
      counts.set(server, (counts.get(server) ?? 0) + 1);
    }
    expect(shown).toEqual([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
  });
});

/** Durations and rates are different in every run; so are the columns that they need. */
function withoutTimes(text: string): string {
  return text
    .replaceAll(/"(queueMs|callMs)":[\d.]+/g, '"$1":0')
    .replaceAll(/ in [\d.]+ m?s \([\d.]+\/s\)/g, '')
    .replaceAll(/^(sqlite +\d+ +\d+ +\d+) .*$/gm, '$1')
    .replaceAll(/ +/g, ' ');
}
