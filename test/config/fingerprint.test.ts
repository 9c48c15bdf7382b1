/** Which changes of an entry ask for a new approval, and which for a restart. */
import { describe, expect, it } from 'vitest';
import { resolveServers } from '../../packages/runtime/src/config/load.js';
import type { LoadedServer } from '../../packages/runtime/src/config/types.js';

const host = { PATH: '/bin', HOME: '/home/me', V: '1', TERM: 'a' };

function load(entry: Record<string, unknown>, env: Record<string, string> = host): LoadedServer {
  const [server] = resolveServers({ s: entry }, { cwd: '/base', env }).servers;
  if (server === undefined) throw new Error(`${JSON.stringify(entry)} does not resolve`);
  return server;
}

const program = { command: 'node', args: ['a', 'b'], env: { X: '1', Y: `\${V}` } };
const remote = { url: 'https://h/', headers: { A: `\${V}`, B: '2' } };

const changes: [string, Record<string, unknown>, Record<string, unknown>][] = [
  ['command', program, { command: 'deno' }],
  ['args', program, { args: ['a b'] }],
  ['env', program, { env: { X: '2', Y: `\${V}` } }],
  ['a removed variable', program, { env: { ...program.env, TERM: null } }],
  ['inheritEnv', program, { inheritEnv: true }],
  ['cwd', program, { cwd: 'sub' }],
  ['type', remote, { type: 'sse' }],
  ['url', remote, { url: 'https://h/x' }],
  ['headers', remote, { headers: { A: `\${V}`, B: '3' } }],
];

describe('the approval fingerprint', () => {
  it.each(changes)('changes with %s', (_, base, change) => {
    expect(load({ ...base, ...change }).approvalFingerprint).not.toBe(load(base).approvalFingerprint);
  });

  it('is of the text before expansion: values of variables do not change it, other references do', () => {
    expect(load(program, { ...host, V: '2' }).approvalFingerprint).toBe(load(program).approvalFingerprint);
    const literal = { ...program, env: { X: '1', Y: '1' } };
    expect(load(literal).approvalFingerprint).not.toBe(load(program).approvalFingerprint);
  });

  it.each<[string, Record<string, unknown>]>([
    ['timeouts', { timeout: '5s' }],
    ['window', { window: 1 }],
    ['disabled', { disabled: true }],
    ['notes', { description: 'x' }],
    ['the type that was meant anyway', { type: 'stdio' }],
    ['the order of env', { env: { Y: `\${V}`, X: '1' } }],
  ])('does not change with %s', (_, change) => {
    expect(load({ ...program, ...change }).approvalFingerprint).toBe(load(program).approvalFingerprint);
  });

  it('tells one argument from two', () => {
    expect(load({ command: 'a', args: ['b', 'c'] }).approvalFingerprint).not.toBe(
      load({ command: 'a', args: ['b,c'] }).approvalFingerprint,
    );
  });

  it('is a SHA-256 in hex, as is that of the spec', () => {
    expect(load(program).approvalFingerprint).toMatch(/^[0-9a-f]{64}$/);
    expect(load(program).spec.fingerprint).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe('the fingerprint of a spec', () => {
  it.each([
    ...changes,
    ['timeouts', program, { timeout: '5s' }],
    ['window', program, { window: 1 }],
    ['lifecycle', program, { lifecycle: 'lazy' }],
    ['idleStopMs', program, { idleStopMs: '1m' }],
    ['disabled', program, { disabled: true }],
  ] satisfies typeof changes)('changes with %s', (_, base, change) => {
    expect(load({ ...base, ...change }).spec.fingerprint).not.toBe(load(base).spec.fingerprint);
  });

  it('changes with the value of a variable that the entry uses, and with PATH', () => {
    expect(load(program, { ...host, V: '2' }).spec.fingerprint).not.toBe(load(program).spec.fingerprint);
    expect(load(remote, { ...host, V: '2' }).spec.fingerprint).not.toBe(load(remote).spec.fingerprint);
    expect(load(program, { ...host, PATH: '/x' }).spec.fingerprint).not.toBe(load(program).spec.fingerprint);
  });

  it('stays the same in another terminal', () => {
    expect(load(program, { ...host, TERM: 'b' }).spec.fingerprint).toBe(load(program).spec.fingerprint);
  });
});

describe('the preview', () => {
  it('shows what would run as written, quoted where a boundary would be lost', () => {
    const entry = { command: 'npx', args: ['-y', 'my server', '', `--key=\${V}`, '"'] };
    expect(load(entry).preview).toBe(`npx -y "my server" "" --key=\${V} "\\""`);
    expect(load(remote).preview).toBe('https://h/');
  });

  it('cannot hide or fake what a person reads', () => {
    const entry = {
      command: 'evil',
      args: ['\u001b[2K\rnode', 'a\u202eb', 'x\nnode y', '\u009b2K', '\u2028'],
    };
    const { preview } = load(entry);
    expect(preview).toMatch(/^[\x20-\x7e]*$/);
    expect(preview).toContain('\\u{202e}');
    expect(load({ url: 'https://h/\u001b[2K' }).preview).toBe('https://h/\\u{1b}[2K');
  });
});
