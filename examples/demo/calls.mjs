/**
 * The demo's calls: about a thousand, all different in what they ask, mixed over the servers. Each one knows a text that
 * its answer must hold, so an answer that went to the wrong call is seen.
 */

const CITIES = [
  { location: 'New York', conditions: 'Cloudy' },
  { location: 'Chicago', conditions: 'Light rain / drizzle' },
  { location: 'Los Angeles', conditions: 'Sunny / Clear' },
];
const GENRES = ['novel', 'history', 'science', 'travel', 'poetry', 'crime'];

/** How many calls of each kind go to a server; round robin over the kinds that `kinds()` lists for it. */
const AMOUNT = new Map([
  ['everything', 300],
  ['filesystem', 280],
  ['memory', 160],
  ['sqlite', 280],
  ['hang', 20],
]);

/**
 * @param {{files: string[], directory: string, seeds: string[]}} setting what `setting.mjs` made
 * @returns {{id: string, server: string, tool: string, arguments: object, expect: string | undefined}[]} `expect` is
 *   undefined for calls that must time out
 */
export function makeCalls(setting) {
  const all = kinds(setting);
  const queues = [...AMOUNT].map(([server, amount]) => ({
    server,
    amount,
    calls: Array.from({ length: amount }, (_, i) => {
      const makers = all.get(server);
      return { id: `${server}-${i + 1}`, server, ...makers[i % makers.length](i) };
    }),
  }));
  return interleave(queues);
}

function kinds({ files, directory, seeds }) {
  const file = (i) => files[(i * 7) % files.length];
  const query = (sql, expect) => ({ tool: 'query', arguments: { sql, limit: 20 }, expect });
  return new Map([
    [
      'everything',
      [
        (i) => ({
          tool: 'echo',
          arguments: { message: `message ${i}: 读—🎉` },
          expect: `Echo: message ${i}: 读—🎉`,
        }),
        (i) => ({ tool: 'get-sum', arguments: { a: i, b: i * i }, expect: `${i + i * i}` }),
        (i) => {
          const { location, conditions } = CITIES[i % CITIES.length];
          return { tool: 'get-structured-content', arguments: { location }, expect: conditions };
        },
        (i) => ({ tool: 'get-resource-links', arguments: { count: 1 + (i % 9) }, expect: 'resource_link' }),
        (i) => ({
          tool: 'get-resource-reference',
          arguments: { resourceType: 'Text', resourceId: 1 + i },
          expect: `demo://resource/dynamic/text/${1 + i}`,
        }),
        (i) => ({
          tool: 'get-annotated-message',
          arguments: { messageType: ['error', 'success', 'debug'][i % 3] },
          expect: 'annotations',
        }),
        (i) => ({ tool: 'echo', arguments: { message: 'long '.repeat(200 + i) }, expect: 'Echo: long long' }),
        (i) =>
          i % 5 === 0
            ? { tool: 'get-tiny-image', arguments: {}, expect: 'image/png' }
            : {
                tool: 'trigger-long-running-operation',
                arguments: { duration: 0.2, steps: 2 },
                expect: 'completed',
              },
      ],
    ],
    [
      'filesystem',
      [
        (i) => ({ tool: 'read_text_file', arguments: { path: file(i).path }, expect: file(i).mark }),
        (i) => ({
          tool: 'read_text_file',
          arguments: { path: file(i).path, head: 1 + (i % 3) },
          expect: file(i).mark,
        }),
        (i) => ({ tool: 'list_directory', arguments: { path: file(i).folder }, expect: '[FILE]' }),
        (i) => ({ tool: 'get_file_info', arguments: { path: file(i).path }, expect: 'isFile: true' }),
        (i) => ({
          tool: 'read_multiple_files',
          arguments: { paths: [file(i).path, file(i + 1).path] },
          expect: file(i + 1).mark,
        }),
        (i) => ({
          tool: 'write_file',
          arguments: { path: `${directory}/written/note-${i}.txt`, content: `note ${i}\n` },
          expect: `note-${i}.txt`,
        }),
        (i) =>
          i % 2 === 0
            ? {
                tool: 'search_files',
                arguments: { path: directory, pattern: '**/chapter-3.txt' },
                expect: 'chapter-3.txt',
              }
            : { tool: 'directory_tree', arguments: { path: file(i).folder }, expect: 'chapter-1.txt' },
      ],
    ],
    [
      'memory',
      [
        (i) => ({
          tool: 'create_entities',
          arguments: {
            entities: [{ name: `reader-${i}`, entityType: 'reader', observations: [`has read ${i} books`] }],
          },
          expect: `reader-${i}`,
        }),
        (i) => ({
          tool: 'search_nodes',
          arguments: { query: seeds[i % seeds.length] },
          expect: seeds[i % seeds.length],
        }),
        (i) => ({
          tool: 'add_observations',
          arguments: {
            observations: [{ entityName: seeds[i % seeds.length], contents: [`was mentioned in call ${i}`] }],
          },
          expect: `call ${i}`,
        }),
        (i) => ({
          tool: 'open_nodes',
          arguments: { names: [seeds[i % seeds.length]] },
          expect: seeds[i % seeds.length],
        }),
        (i) =>
          i % 25 === 4 ? { tool: 'read_graph', arguments: {}, expect: seeds[0] } : makeRelation(i, seeds),
      ],
    ],
    [
      'sqlite',
      [
        () => ({ tool: 'list_tables', arguments: {}, expect: 'members' }),
        (i) => query(`SELECT id, title, author FROM books WHERE id = ${1 + i}`, `{"id":${1 + i},`),
        (i) =>
          query(
            `SELECT genre, count(*) AS n FROM books WHERE genre = '${GENRES[i % GENRES.length]}' GROUP BY genre`,
            GENRES[i % GENRES.length],
          ),
        (i) =>
          query(
            `SELECT count(*) AS lent, ${i} AS asked FROM loans WHERE book_id = ${1 + i}`,
            `"asked":${i}}`,
          ),
        (i) =>
          query(
            `SELECT m.city, count(*) AS open, ${i} AS asked FROM loans l JOIN members m ON m.id = l.member_id
             WHERE l.returned IS NULL GROUP BY m.city ORDER BY open DESC`,
            `"asked":${i}}`,
          ),
        (i) => query(`SELECT max(pages) - ${i} AS longest FROM books`, 'longest'),
      ],
    ],
    [
      'hang',
      [(i) => ({ tool: 'wait', arguments: { reason: `call ${i} waits for nothing` }, expect: undefined })],
    ],
  ]);
}

function makeRelation(i, seeds) {
  const relation = {
    from: seeds[i % seeds.length],
    to: seeds[(i + 1) % seeds.length],
    relationType: `cites-${i}`,
  };
  return { tool: 'create_relations', arguments: { relations: [relation] }, expect: `cites-${i}` };
}

/** Every server's calls spread evenly over the whole file. */
function interleave(queues) {
  return queues
    .flatMap(({ calls, amount }) => calls.map((call, i) => ({ call, at: (i + 0.5) / amount })))
    .sort((a, b) => a.at - b.at)
    .map(({ call }) => call);
}
