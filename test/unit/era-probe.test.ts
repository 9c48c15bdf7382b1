/** What an answer to `server/discover` says about the era of a server. */
import { describe, expect, it } from 'vitest';
import { EraCache, LEGACY_FOR_MS } from '../../packages/workers/src/server/era-cache.js';
import { type ProbeOutcome, readVerdict } from '../../packages/workers/src/server/era-probe.js';
import { inputProblem, MAX_ROUNDS, needsInput } from '../../packages/workers/src/server/input-rounds.js';
import { useTempDir } from '../support/temp-dir.js';

const directory = useTempDir();
const error = (code: number, data?: unknown): ProbeOutcome => ({ kind: 'error', code, message: 'no', data });
const http = (status: number, body?: unknown): ProbeOutcome => ({
  kind: 'http',
  status,
  message: `HTTP ${status}`,
  ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
});
const supported = (...versions: string[]) => ({ supported: versions });

describe('the era of a server', () => {
  it.each<[string, ProbeOutcome]>([
    ['silence', { kind: 'timeout' }],
    ['an unknown method', error(-32601)],
    ['any other error', error(0, supported('2026-07-28'))],
    ['a result of another shape', { kind: 'result', result: {} }],
    ['a result without a common version', { kind: 'result', result: { supportedVersions: ['2025-11-25'] } }],
    ['a version error that names none', error(-32022)],
    ['a version error that names older ones', error(-32022, supported('2025-06-18'))],
    ['HTTP 400 with text', http(400, 'Bad Request: not initialized')],
    [
      'HTTP 400 with an error whose id is made up (B049)',
      http(400, { id: 'server-error', error: { code: -32600 } }),
    ],
    ['HTTP 404 and 405', http(405)],
  ])('is legacy after %s', (_, outcome) => {
    expect(readVerdict(outcome)).toEqual({ kind: 'legacy' });
  });

  it('is modern after a result with a common version', () => {
    const result = { supportedVersions: ['2025-11-25', '2026-07-28'], capabilities: {} };
    const verdict = { kind: 'modern', version: '2026-07-28', discover: result };
    expect(readVerdict({ kind: 'result', result })).toEqual(verdict);
  });

  it.each([
    ['in band', error(-32022, supported('2026-07-28', '2027-01-01'))],
    ['in the body of HTTP 400', http(400, { error: { code: -32022, data: supported('2026-07-28') } })],
  ])('is asked for again after an error that names a common version, %s', (_, outcome) => {
    expect(readVerdict(outcome)).toEqual({ kind: 'again', version: '2026-07-28' });
  });

  it.each<[string, ProbeOutcome, string]>([
    ['a login wall', http(401, { error: { code: -32022, data: supported('2026-07-28') } }), 'auth'],
    ['a refused login', http(403), 'auth'],
    ['a failing gateway', http(502, { error: { code: -32601 } }), 'http'],
    ['a broken network', { kind: 'network', message: 'ECONNREFUSED' }, 'network'],
    ['an exit', { kind: 'closed' }, 'probe-exit'],
    ['versions of the future only', error(-32022, supported('2027-01-01')), 'protocol-version'],
  ])('is not decided by %s', (_, outcome, reason) => {
    expect(readVerdict(outcome)).toMatchObject({ kind: 'failed', reason });
  });
});

describe('the memory of legacy servers', () => {
  it('holds for a day from the question, not from the last start', () => {
    let at = 1_700_000_000_000;
    const cache = new EraCache(directory('cache'), () => at);
    expect(cache.isLegacy('a')).toBe(false);
    cache.remember('a', 'legacy');
    at += LEGACY_FOR_MS - 1_000;
    cache.remember('a', 'legacy');
    expect(cache.isLegacy('a')).toBe(true);
    expect(cache.isLegacy('b')).toBe(false);
    at += 2_000;
    expect(cache.isLegacy('a')).toBe(false);
  });

  it('ends when the server turns out to be modern', () => {
    const cache = new EraCache(directory('cache'), () => 1_700_000_000_000);
    cache.remember('a', 'legacy');
    cache.remember('a', 'modern');
    expect(cache.isLegacy('a')).toBe(false);
  });
});

describe('a result that asks for input', () => {
  const question = { method: 'elicitation/create', params: { message: 'who' } };
  const read = (result: Record<string, unknown>) => needsInput({ resultType: 'input_required', ...result });
  const problem = (result: Record<string, unknown>, round = 1) => {
    const input = read(result);
    return input === undefined ? 'none' : inputProblem(input, round, new Set(['elicitation/create']));
  };

  it('is told from one that ends the call', () => {
    expect(needsInput({ resultType: 'complete' })).toBeUndefined();
    expect(needsInput({ inputRequests: {} })).toBeUndefined();
    expect(read({ inputRequests: { __proto__x: question } })?.requests.size).toBe(1);
  });

  it('may hold a state alone, but not nothing', () => {
    expect(problem({ requestState: '' })).toBeUndefined();
    expect(problem({})).toContain('neither a question nor a state');
    expect(problem({ inputRequests: { a: null } })).toContain('has no method');
  });

  it('ends its call when the rounds are used up or nobody answers such a question', () => {
    const asks = { inputRequests: { a: question } };
    expect(problem(asks, MAX_ROUNDS)).toBeUndefined();
    expect(problem(asks, MAX_ROUNDS + 1)).toContain('more than 8 times');
    expect(problem({ inputRequests: { a: { method: 'roots/list' } } })).toContain('did not declare');
  });
});
