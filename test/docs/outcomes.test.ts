/** The page about outcomes says what the code does: the closed set, every code, which may be repeated, and the limits. */
import { BulkheadError, type ErrorCode, runtimeDefaults, serverDefaults } from '@bulkhead/runtime';
import { describe, expect, it } from 'vitest';
import { codeOutcome, outcomes } from '../../packages/workers/src/outcomes.js';
import { readPage } from './markdown.js';

const page = readPage('docs/outcomes.md');
/** Rows that begin with a word in backticks, as cells. */
const rows = page
  .split('\n')
  .filter((line) => /^\| `\w+` \|/.test(line))
  .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')));
const codeRows = rows.filter(([, code = '']) => /^[A-Z_]+$/.test(code));
const codes = Object.keys(codeOutcome) as ErrorCode[];

describe('docs/outcomes.md', () => {
  it('lists the outcomes of the code, in their order', () => {
    const listed = rows
      .map(([, name]) => name)
      .filter((name) => (outcomes as readonly unknown[]).includes(name));
    expect(listed).toEqual([...outcomes]);
  });

  it('lists every code once and no other', () => {
    expect(codeRows.map(([, code]) => code).sort()).toEqual([...codes].sort());
  });

  it.each(codes)('gives the outcome of %s, and whether it may be repeated', (code) => {
    const row = codeRows.find(([, listed]) => listed === code);
    const error = new BulkheadError(code, 'x');
    expect(row?.[2]).toBe(error.outcome);
    expect(row?.[4] === 'yes').toBe(error.retryable);
  });

  it('quotes the limits as they are', () => {
    const { callTimeoutMs, callMaxMs, askTimeoutMs } = serverDefaults;
    expect(page).toMatch(new RegExp(`\`callTimeoutMs\`.*\\| ${callTimeoutMs / 1_000} s \\|`));
    expect(page).toMatch(new RegExp(`\`callMaxMs\`.*\\| ${callMaxMs / 60_000} min \\|`));
    expect(page).toMatch(new RegExp(`\`askTimeoutMs\`\\s+\\(${askTimeoutMs / 60_000} min\\)`));
    expect(page).toContain(`\`backstopSlackMs\` (${runtimeDefaults.backstopSlackMs / 1_000} s)`);
  });
});
