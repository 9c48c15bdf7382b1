/** Edits of any layout: whatever stands around an entry stays, and taking it out again gives the text of before. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { withEntry, withoutEntry } from '../../packages/runtime/src/config/entry-edit.js';
import { readText } from '../../packages/runtime/src/config/json-text.js';

const name = fc.constantFrom('a', 'b', 'c', '__proto__', 'a b', 'ü', '"');
const value = fc.constantFrom(
  '{"command":"x"}',
  '{ "command" : "x", /* in */ "args": [ "1" ,"2" ] }',
  '{\n      "url": "u" // here\n    }',
  '1',
);
const comment = fc.constantFrom('', '', '/* c */', '// to the end of the line, with } and ,');
const entry = fc.record({
  name,
  value,
  above: comment,
  behind: comment,
  beforeComma: fc.constantFrom('', '', ' /*k*/'),
});

const layout = fc.record({
  entries: fc.array(entry, { maxLength: 4 }),
  inLine: fc.boolean(),
  trailing: fc.boolean(),
  eol: fc.constantFrom('\n', '\r\n'),
  unit: fc.constantFrom('  ', '    ', '\t', ''),
  around: fc.constantFrom('', ',"x": [1,2, 3]', ', "y": {} // z'),
  last: comment,
});

/** Line comments need a line end behind them; in one line there are none. */
function textOf({
  entries,
  inLine,
  trailing,
  eol,
  unit,
  around,
  last,
}: typeof layout extends fc.Arbitrary<infer T> ? T : never): string {
  const fits = (text: string) => (inLine && text.startsWith('//') ? '' : text);
  const parts = entries.map(({ name: key, value: body, above, behind, beforeComma }, index) => {
    const comma = index < entries.length - 1 || trailing ? `${beforeComma},` : '';
    const written = inLine
      ? body.replaceAll(/\/\/.*/g, '').replaceAll('\n', ' ')
      : body.replaceAll('\n', eol);
    const member = `${JSON.stringify(key)}: ${written}${comma} ${fits(behind)}`.trimEnd();
    return fits(above) === '' ? [member] : [fits(above), member];
  });
  const lines = [...parts.flat(), ...(fits(last) === '' ? [] : [fits(last)])];
  const tail = around.includes('//') ? `${around}${eol}` : around;
  if (inLine) return `{"mcpServers": {${lines.join(' ')}}${tail}}`;
  const inside = lines.map((line) => `${unit}${unit}${line}${eol}`).join('');
  return `{${eol}${unit}"mcpServers": {${eol}${inside}${unit}}${tail}${eol}}${eol}`;
}

const comments = (text: string) => text.match(/\/\*.*?\*\/|\/\/[^\n\r]*/g) ?? [];
const formOf = (text: string) => {
  const read = readText(Buffer.from(text));
  if (read === undefined) throw new Error('the text was to be read back');
  return read.form;
};

describe('any layout', () => {
  it('takes an entry in and gives it back, byte for byte', () => {
    fc.assert(
      fc.property(layout, (init) => {
        const text = textOf(init);
        const more = withEntry(text, 'new', { command: 'node', args: ['1'], env: { A: 'b' } }, formOf(text));
        expect(more).not.toBe(text);
        const back = withoutEntry(more, 'new');
        // An object that was empty but for blanks is closed up.
        if (init.entries.length > 0) expect(back).toBe(text);
        expect(comments(back)).toEqual(comments(text));
      }),
      { numRuns: 1_000 },
    );
  });

  it('loses no comment outside of what is taken out', () => {
    fc.assert(
      fc.property(layout, name, (init, key) => {
        const text = textOf(init);
        const less = withoutEntry(text, key);
        const own = init.entries
          .filter((one) => one.name === key)
          .flatMap((one) => comments(one.value))
          .filter((one) => !init.inLine || !one.startsWith('//'));
        expect(comments(less).length).toBe(comments(text).length - own.length);
        if (!init.entries.some((one) => one.name === key)) expect(less).toBe(text);
      }),
      { numRuns: 1_000 },
    );
  });
});
