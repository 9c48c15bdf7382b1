import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runtimeDefaults, serverDefaults, supervisorDefaults } from '../../packages/workers/src/defaults.js';
import { serverStates } from '../../packages/workers/src/protocol.js';
import { stateMeaning } from '../../packages/workers/src/supervisor/transitions.js';

const page = readFileSync(new URL('../../docs/supervision.md', import.meta.url), 'utf8');
const defaults = new Map<string, number>(
  Object.entries({ ...serverDefaults, ...supervisorDefaults, ...runtimeDefaults }),
);
const units = new Map([
  ['', 1],
  ['ms', 1],
  ['s', 1_000],
  ['h', 3_600_000],
  ['MiB', 1024 * 1024],
]);

/** Rows of the tables of options: the name and the number it claims, in the unit of the defaults. */
const claims = [...page.matchAll(/^\| `(\w+)` \| (\d+) ?(\w*) \|/gm)].map(
  ([, name = '', number, unit = '']) => ({
    name,
    value: Number(number) * (units.get(unit) ?? Number.NaN),
  }),
);

describe('the page on supervision', () => {
  it.each(claims)('quotes $name as it is', ({ name, value }) => {
    expect(value).toBe(defaults.get(name));
  });

  it('leaves out no option of the supervisor', () => {
    const quoted = new Set(claims.map((claim) => claim.name));
    expect(Object.keys(supervisorDefaults).filter((name) => !quoted.has(name))).toEqual([]);
  });

  it.each([...serverStates])('explains the state %s in the words of the code', (state) => {
    expect(page).toContain(`| \`${state}\` | ${stateMeaning[state]} |`);
  });
});
