/**
 * What the model says, turn by turn: a stand-in for a real one, so that the demo needs no network and no key. It is given
 * the same prompt, tools and answers as a real one, and `refused` shows that it reads them.
 */
export const PROMPT = 'Please see to the open issue about the greeting.';

export const script = (request, turn) => TURNS[turn](request);

const TURNS = [
  () => ({ text: 'I will look at the open issues first.', calls: [{ name: 'mcp__issues__list_issues' }] }),
  () => ({
    text: 'Number 3 is the one. I read it, the file, and ask another server at the same time.',
    calls: [
      { name: 'mcp__issues__get_issue', args: { id: 3 } },
      { name: 'read_file', args: { path: 'greeting.txt' } },
      { name: 'mcp__hang__wait' },
    ],
  }),
  () => ({
    text: 'The other server does not answer; I go on without it.',
    calls: [{ name: 'edit_file', args: { path: 'greeting.txt', find: 'Helo', replace: 'Hello' } }],
  }),
  () => ({
    text: 'The file is mended. I say so in the issue, and would thank the one who wrote issue 2.',
    calls: [
      { name: 'mcp__issues__add_comment', args: { id: 3, body: 'Fixed: "Helo" is "Hello" now.' } },
      { name: 'mcp__issues__add_comment', args: { id: 2, body: 'Thanks for the report!' } },
    ],
  }),
  (request) => ({
    text: `Done: the greeting is right, and issue 3 says so. ${refused(request)}`,
  }),
];

function refused({ messages }) {
  const results = messages.at(-1).results ?? [];
  const no = results.filter(({ isError }) => isError).length;
  return no === 0 ? 'Both comments are there.' : 'The other comment was not wanted, so I left it.';
}
