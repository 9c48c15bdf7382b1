import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { originOf, servedAddress } from '../../packages/runtime/src/serve/addresses.js';
import { type NameStyle, servedNames } from '../../packages/runtime/src/serve/names.js';

const plain: NameStyle = { kind: 'plain' };
const dotted: NameStyle = { kind: 'separator', separator: '.' };
const tool = (server: string, name: string) => ({ server, tool: name });

describe('served names', () => {
  it('a name that two servers share is the full one for both, without prefix and with a separator', () => {
    const tools = [tool('a', 'read'), tool('b', 'read'), tool('b', 'write')];
    expect([...servedNames(tools, plain).keys()]).toEqual(['mcp__a__read', 'mcp__b__read', 'write']);
    const clashing = [tool('a.b', 'c'), tool('a', 'b.c'), tool('a', 'd')];
    expect(servedNames(clashing, dotted).get('a.d')).toEqual(tool('a', 'd'));
    expect(servedNames(clashing, dotted).has('a.b.c')).toBe(false);
  });

  it('a name that looks like the full one of another never takes its place', () => {
    const tools = [tool('a', 'x'), tool('b', 'mcp__a__x'), tool('c', 'x')];
    const names = servedNames(tools, plain);
    expect(names.get('mcp__a__x')).toEqual(tool('a', 'x'));
    expect([...names.values()]).toEqual(expect.arrayContaining(tools));
  });

  it('every tool has exactly one name, whatever the names are', () => {
    const origin = fc.record({
      server: fc.constantFrom('a', 'b', 'a.b', 'ü'),
      tool: fc.string({ maxLength: 80 }),
    });
    const style = fc.constantFrom<NameStyle>({ kind: 'full' }, plain, dotted);
    fc.assert(
      fc.property(fc.array(origin, { maxLength: 20 }), style, (origins, one) => {
        const distinct = new Set(origins.map(({ server, tool: name }) => JSON.stringify([server, name])));
        const served = [...servedNames(origins, one).values()].map(({ server, tool: name }) =>
          JSON.stringify([server, name]),
        );
        expect(new Set(served)).toEqual(distinct);
        expect(served).toHaveLength(distinct.size);
      }),
    );
  });
});

describe('served addresses', () => {
  it('give back server and address, whatever both are', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (server, uri) => {
        expect(originOf(servedAddress({ server, uri }))).toEqual({ server, uri });
      }),
    );
  });

  it('leave a template a template, and an address without prefix alone', () => {
    expect(servedAddress({ server: 'a:{b}', uri: 'file:///{name}' })).toBe(
      'bulkhead:a%3A%7Bb%7D:file:///{name}',
    );
    expect(originOf('file:///bulkhead:a:b')).toBeUndefined();
    expect(originOf('bulkhead:a')).toBeUndefined();
    expect(originOf('bulkhead:%:x')).toBeUndefined();
  });
});
