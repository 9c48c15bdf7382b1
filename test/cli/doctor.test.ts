import { chmodSync, existsSync } from 'node:fs';
import { beforeEach, describe, expect, test } from 'vitest';
import { useCensus } from '../support/census.js';
import { pidFrom, recorded } from '../support/record.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';
import { start } from './cli.js';
import { makeProject, type Project, userFile } from './project.js';

const { watch } = useCensus();
const directory = useTempDir();
let project: Project;
beforeEach(() => {
  project = makeProject(directory);
});

interface Diagnosis {
  server: string;
  verdict: string;
  checks: { check: string; result: string; detail: string }[];
  next?: string;
  stderr?: string[];
}

async function examined(
  args: readonly string[] = [],
): Promise<{ code: number | null; by: Map<string, Diagnosis> }> {
  const ended = await project.run(['doctor', ...args, '--json']);
  const list = JSON.parse(ended.stdout) as Diagnosis[];
  return { code: ended.code, by: new Map(list.map((diagnosis) => [diagnosis.server, diagnosis])) };
}

const found = (diagnosis: Diagnosis | undefined, check: string) =>
  diagnosis?.checks.filter((one) => one.check === check).map(({ result, detail }) => `${result}: ${detail}`);

describe('a server that works', () => {
  test('is found, started alone, asked and ended', async () => {
    project.write(userFile(project), { mcpServers: { good: { ...scripted({}), env: { OWN: 'x' } } } });
    const { code, by } = await examined();
    expect(code).toBe(0);
    const good = by.get('good');
    expect(good?.verdict).toBe('ok');
    expect(good?.next).toBeUndefined();
    expect(found(good, 'command')).toEqual([`ok: ${process.execPath}`]);
    expect(found(good, 'env')?.[0]).toMatch(/of its own: OWN/);
    expect(found(good, 'start')?.[0]).toMatch(/^ok: ready after \d+ ms/);
    expect(found(good, 'protocol')?.[0]).toMatch(/^ok: \d{4}-\d\d-\d\d \(with initialize\); /);
    expect(found(good, 'tools')?.[0]).toMatch(/^ok: \d+$/);
    expect(found(good, 'ping')?.[0]).toMatch(/^ok: [\d.]+ ms$/);
    expect(existsSync(project.home('.state', 'bulkhead', 'logs'))).toBe(false);
  });

  test('and says doubtful things gets a warning', async () => {
    const noisy = scripted({ wire: { noise: ['Starting up!'] }, tools: [{ name: 'bad' }] });
    project.write(userFile(project), { mcpServers: { noisy } });
    const { code, by } = await examined(['noisy']);
    expect(code).toBe(0);
    expect(by.get('noisy')?.verdict).toBe('warning');
    expect(found(by.get('noisy'), 'output')?.join()).toMatch(/lines on stdout were no protocol/);
  });
});

test('an interrupt ends every server that is being tried (B173)', async () => {
  const mute = (name: string) =>
    scripted({
      record: project.path(`${name}.record`),
      pidFile: project.path(`${name}.pid`),
      rules: [{ method: '*', reply: null }],
    });
  project.write(userFile(project), { mcpServers: { a: mute('a'), b: mute('b'), c: mute('c') } });
  const running = start(['doctor'], { cwd: project.path(), env: project.env });
  for (const name of ['a', 'b']) {
    await recorded(project.path(`${name}.record`), ({ methods }) => methods.length > 0);
  }
  running.child.kill('SIGINT');
  expect(await running.ended).toMatchObject({ code: 130, stdout: '' });
  for (const name of ['a', 'b']) watch(await pidFrom(project.path(`${name}.pid`)));
  expect(existsSync(project.path('c.record'))).toBe(false);
});

describe('a server that does not work', () => {
  test('gets a verdict and a next step, whatever is wrong with it, and the others are not touched by it', async () => {
    const plain = project.write(project.path('plain.sh'), '#!/bin/sh\n');
    chmodSync(plain, 0o644);
    project.write(userFile(project), {
      mcpServers: {
        crash: scripted({ exitAtStart: { code: 3, stderr: 'missing module "x"\n' } }),
        cwd: { ...scripted({}), cwd: '/no/such/directory' },
        good: scripted({}),
        gone: { command: 'no-such-program' },
        invalid: { command: 1 },
        mute: { ...scripted({ rules: [{ method: '*', reply: null }] }), startupTimeoutMs: '1s' },
        off: { command: 'node', disabled: true },
        plain: { command: plain },
      },
    });
    const { code, by } = await examined();
    expect(code).toBe(4);
    expect([...by.values()].map(({ server, verdict }) => [server, verdict])).toEqual([
      ['crash', 'failed'],
      ['cwd', 'failed'],
      ['gone', 'failed'],
      ['good', 'ok'],
      ['invalid', 'invalid'],
      ['mute', 'failed'],
      ['off', 'disabled'],
      ['plain', 'failed'],
    ]);
    expect(by.get('crash')?.stderr?.join()).toContain('missing module "x"');
    expect(by.get('crash')?.next).toMatch(/read what it wrote to stderr/);
    expect(by.get('cwd')?.next).toMatch(/make the directory/);
    expect(by.get('gone')?.next).toMatch(/install it, or correct "command"/);
    expect(by.get('mute')?.next).toMatch(/startupTimeoutMs/);
    expect(by.get('plain')?.next).toMatch(/chmod \+x/);
    for (const { server, verdict, next } of by.values()) {
      if (verdict !== 'ok') expect(next, server).toBeTruthy();
    }
  });

  test('of a project is not started before somebody approved it', async () => {
    project.write(project.path('.mcp.json'), {
      mcpServers: { theirs: scripted({ record: project.path('record') }) },
    });
    const { code, by } = await examined();
    expect(code).toBe(3);
    expect(by.get('theirs')).toMatchObject({ verdict: 'needs-approval', next: 'bulkhead approve theirs' });
    expect(existsSync(project.path('record'))).toBe(false);
    expect((await examined(['--trust-project'])).by.get('theirs')?.verdict).toBe('ok');
  });

  test('is told as text too, without an escape of its own', async () => {
    project.write(userFile(project), {
      mcpServers: { crash: scripted({ exitAtStart: { code: 3, stderr: '\u001b[31mred\n' } }) },
    });
    const ended = await project.run(['doctor']);
    expect(ended.code).toBe(4);
    expect(ended.stdout).toMatch(/^crash: failed\n {2}config: /);
    expect(ended.stdout).toMatch(/\n {2}stderr: .*red\n {2}next: /);
    expect(ended.stdout).not.toContain('\u001b');
    expect(await project.run(['doctor', 'crahs'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/nearest: crash/),
    });
  });
});
