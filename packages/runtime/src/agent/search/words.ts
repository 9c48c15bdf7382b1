/**
 * The words of a tool and of a question, brought to one form: identifiers taken apart, endings cut, filler left out.
 * A few groups of words that people use for one another widen a question, never the index. Pure.
 */
import { stemmer } from 'stemmer';

const filler = new Set(
  `a an and any are as at be been but by can could do does for from has have how i if in into is it its like me my
  need of on or our please should so some that the their them then there these this those to tool tools us use used
  using want was we were what when where whether which who will with would you your`.split(/\s+/),
);

/** Whoever says one of them may mean the others; first the verbs, then the things. */
const groups: readonly string[][] = `
  create make add new open insert
  delete remove drop erase destroy clear
  list show enumerate
  get read fetch retrieve view see
  update edit change modify patch set
  send post publish
  search find query look
  run execute invoke start trigger
  stop kill terminate cancel abort end
  upload attach put
  download save
  deploy install publish
  picture image photo screenshot
  web internet online website
  folder directory
  bug issue ticket
  database db
  repo repository
  comment reply note
  channel room
  user person people member
  page document doc
  pod container
  table collection
  record row document
  address location place
  coordinates latitude longitude
  log logs output console
  money balance
  pay payment charge
  environment env variable
  pr pull
  mr merge
  k8s kubernetes
  js javascript`
  .trim()
  .split('\n')
  .map((line) => line.trim().split(' '));

const kin = new Map<string, Set<string>>();
for (const group of groups) {
  const members = group.map(stemmer);
  for (const member of members) kin.set(member, new Set([...(kin.get(member) ?? []), ...members]));
}

/** Words come again and again while tools are read; the bound is for foreign text without end. */
const stems = new Map<string, string>();
const MAX_STEMS = 20_000;

/** `getPullRequest_files` is `get pull request file`; a run of capitals is one word (`parseJSONBody`: `pars json bodi`). */
export function words(text: string): string[] {
  return text
    .replaceAll(/(\p{Ll}|\d)(\p{Lu})/gu, '$1 $2')
    .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '' && !filler.has(word))
    .map(stem);
}

function stem(word: string): string {
  let found = stems.get(word);
  if (found === undefined) {
    found = stemmer(word);
    if (stems.size < MAX_STEMS) stems.set(word, found);
  }
  return found;
}

/** Words that may stand for the others of a question, without those that stand in it already. */
export function kindred(asked: readonly string[]): string[] {
  const found = new Set(asked.flatMap((word) => [...(kin.get(word) ?? [])]));
  return [...found].filter((word) => !asked.includes(word));
}
