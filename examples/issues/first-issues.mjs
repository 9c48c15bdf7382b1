/** What a new tracker begins with. */
export const FIRST_ISSUES = [
  {
    id: 1,
    title: 'Export forgets the time zone',
    state: 'closed',
    labels: ['bug'],
    body: 'Dates in the CSV are local time without an offset.',
    comments: [{ author: 'mona', body: 'Fixed by writing UTC with a Z.' }],
  },
  {
    id: 2,
    title: 'Search is slow with more than 10 000 books',
    state: 'open',
    labels: ['performance'],
    body: 'A search for one word takes two seconds. An index on title would help.',
    comments: [],
  },
  {
    id: 3,
    title: 'Greeting in the README is misspelt',
    state: 'open',
    labels: ['docs', 'good first issue'],
    body: 'The first line of greeting.txt says "Helo" instead of "Hello".',
    comments: [{ author: 'ivo', body: 'Can be done without asking anybody.' }],
  },
];
