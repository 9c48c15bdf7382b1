import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { assignNames, isMcpTool, type ToolOrigin } from '../../packages/runtime/src/naming.js';

/** Full name of one origin among others. */
function nameOf(names: Map<string, ToolOrigin>, server: string, tool: string): string {
  for (const [name, origin] of names) if (origin.server === server && origin.tool === tool) return name;
  throw new Error(`${server}.${tool} has no name`);
}

const of = (server: string, ...tools: string[]) => tools.map((tool) => ({ server, tool }));
const HASHED = /_[0-9a-z]{8}$/;

describe('plain names', () => {
  test('a tool that needs no change is called mcp__server__tool', () => {
    const names = assignNames([...of('fs', 'read_file', 'get-catalog-entity'), ...of('my_db', 'a___b')]);
    expect([...names.keys()]).toEqual([
      'mcp__fs__read_file',
      'mcp__fs__get-catalog-entity',
      'mcp__my_db__a___b',
    ]);
    expect(names.get('mcp__my_db__a___b')).toEqual({ server: 'my_db', tool: 'a___b' });
  });

  test('B101: servers named `db` and `my_db` keep their own tools', () => {
    const names = assignNames([...of('my_db', 'query'), ...of('db', 'query')]);
    expect(names.get('mcp__my_db__query')).toEqual({ server: 'my_db', tool: 'query' });
    expect(names.get('mcp__db__query')).toEqual({ server: 'db', tool: 'query' });
  });

  test('a name of exactly 64 characters stays, one of 65 is shortened to 64', () => {
    const names = assignNames(of('s', 'x'.repeat(56), 'y'.repeat(57)));
    expect(nameOf(names, 's', 'x'.repeat(56))).toBe(`mcp__s__${'x'.repeat(56)}`);
    expect(nameOf(names, 's', 'y'.repeat(57))).toHaveLength(64);
    expect(nameOf(names, 's', 'y'.repeat(57))).toMatch(HASHED);
  });
});

describe('B097: long names', () => {
  const server = '3f2a9c1e-7b64-4d0a-9e58-1c2d3e4f5a6b';

  test('a server named by a UUID with a tool of 60 characters fits, and the tool can still be recognised', () => {
    const tool = 'list_all_open_pull_requests_of_a_repository_with_their_reviews';
    const name = nameOf(assignNames(of(server, tool)), server, tool);
    expect(name).toMatch(/^mcp__3f2a9c1e-7b64-4d__list_all_open_pull_requests_of_a[a-z_]*_[0-9a-z]{8}$/);
    expect(name).toHaveLength(64);
  });

  test('two tools that share their first 64 characters get different names', () => {
    const long = 'z'.repeat(64);
    const names = assignNames(of('s', `${long}_one`, `${long}_two`));
    expect(names.size).toBe(2);
    for (const name of names.keys()) expect(name.length).toBeLessThanOrEqual(64);
  });

  test('another maxLength holds, and one that leaves no room is refused', () => {
    const names = assignNames(of(server, 'x'.repeat(60)), { maxLength: 40 });
    expect([...names.keys()][0]).toHaveLength(40);
    expect(
      assignNames(of(server, 'x'.repeat(60)), { maxLength: 128 })
        .keys()
        .next().value,
    ).toBe(`mcp__${server}__${'x'.repeat(60)}`);
    expect(() => assignNames([], { maxLength: 12 })).toThrow(
      /Expected `maxLength` to be at least 33, got 12/,
    );
  });
});

describe('B098: clashes', () => {
  test('`a.b`, `a_b`, `a/b` and `a b` all get a hash, and each leads to its own tool', () => {
    const tools = of('s', 'a.b', 'a_b', 'a/b', 'a b');
    const names = assignNames(tools);
    expect(names.size).toBe(4);
    for (const { server, tool } of tools) {
      const name = nameOf(names, server, tool);
      expect(name).toMatch(/^mcp__s__a_b_[0-9a-z]{8}$/);
      expect(names.get(name)).toEqual({ server, tool });
    }
  });

  test('servers `a` with tool `b__c` and `a__b` with tool `c` are told apart', () => {
    const names = assignNames([...of('a', 'b__c'), ...of('a__b', 'c')]);
    expect(names.size).toBe(2);
    for (const name of names.keys()) expect(name).toMatch(/^mcp__a__b__c_[0-9a-z]{8}$/);
  });

  test('a tool whose own name is the hashed name of another does not take its place', () => {
    const hashed = nameOf(assignNames(of('s', 'a.b')), 's', 'a.b');
    const impostor = hashed.slice('mcp__s__'.length);
    const names = assignNames(of('s', 'a.b', impostor));
    expect(names.size).toBe(2);
    expect(nameOf(names, 's', 'a.b')).not.toBe(hashed);
    expect(nameOf(names, 's', impostor)).not.toBe(hashed);
    expect(assignNames(of('s', impostor, 'a.b'))).toEqual(names);
  });

  test('a name in another script and an empty name are usable', () => {
    const names = assignNames([...of('s', '目录', ''), ...of('', 'x')]);
    expect(nameOf(names, 's', '目录')).toMatch(/^mcp__s_____[0-9a-z]{8}$/);
    expect(nameOf(assignNames(of('s', 'party 🎉')), 's', 'party 🎉')).toMatch(
      /^mcp__s__party___[0-9a-z]{8}$/,
    );
    expect(nameOf(names, 's', '')).toMatch(/^mcp__s___[0-9a-z]{8}$/);
    expect(nameOf(names, '', 'x')).toMatch(/^mcp____x_[0-9a-z]{8}$/);
  });

  test('B099: when `demo_read` goes and `demo/read` comes, the name is not the same', () => {
    const before = nameOf(assignNames(of('s', 'demo_read')), 's', 'demo_read');
    const after = assignNames(of('s', 'demo/read'));
    expect(after.has(before)).toBe(false);
  });

  test('B102: the raw name with its dot is kept for the wire', () => {
    const names = assignNames(of('s', 'coding.start'));
    const [name, origin] = [...names][0] ?? [];
    expect(name).toMatch(/^mcp__s__coding_start_[0-9a-z]{8}$/);
    expect(origin?.tool).toBe('coding.start');
  });

  test('B103: `constructor`, `__proto__` and `toString` are names like any other', () => {
    const names = assignNames([...of('__proto__', 'constructor', '__proto__'), ...of('s', 'hasOwnProperty')]);
    expect(names.get('mcp____proto____constructor')).toEqual({ server: '__proto__', tool: 'constructor' });
    expect(names.get('mcp__s__hasOwnProperty')?.tool).toBe('hasOwnProperty');
    expect(names.get('toString')).toBeUndefined();
  });
});

describe('stability', () => {
  test('names do not change between releases', () => {
    expect([...assignNames(of('s', 'a.b')).keys()]).toEqual(['mcp__s__a_b_2q6e437v']);
  });

  test('the same tool listed twice has one name', () => {
    expect([...assignNames(of('s', 'x', 'x')).keys()]).toEqual(['mcp__s__x']);
  });

  const part = fc.oneof(
    fc.constantFrom('a', 'a_b', 'a.b', 'a/b', 'a__b', 'b', 'b__c', 'c', '', '_', '目录', 'x'.repeat(70)),
    fc.string({ unit: 'grapheme', maxLength: 80 }),
  );
  const origins = fc.uniqueArray(fc.record({ server: part, tool: part }), {
    selector: ({ server, tool }) => JSON.stringify([server, tool]),
    maxLength: 30,
  });

  test('any tools get unique names that providers accept, the same in every order', () => {
    fc.assert(
      fc.property(origins, fc.infiniteStream(fc.nat()), (tools, dice) => {
        const names = assignNames(tools);
        expect(names.size).toBe(tools.length);
        for (const name of names.keys()) expect(name).toMatch(/^mcp__[A-Za-z0-9_-]{1,59}$/);
        const shuffled = tools
          .map((tool) => ({ tool, at: dice.next().value }))
          .sort((one, two) => one.at - two.at)
          .map(({ tool }) => tool);
        expect(new Map(assignNames(shuffled))).toEqual(names);
      }),
      { numRuns: 200 },
    );
  });

  test('an unrelated tool changes nobody’s name', () => {
    fc.assert(
      fc.property(origins, (tools) => {
        const before = assignNames(tools);
        const after = assignNames([...tools, { server: 'unrelated!', tool: 'something else!' }]);
        for (const [name, origin] of before) expect(after.get(name)).toEqual(origin);
      }),
      { numRuns: 100 },
    );
  });
});

test('isMcpTool knows the name space, not the tool', () => {
  expect(isMcpTool('mcp__fs__read_file')).toBe(true);
  expect(isMcpTool('read_file')).toBe(false);
  expect(isMcpTool('my_mcp__x')).toBe(false);
});
