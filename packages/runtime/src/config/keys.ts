/**
 * Keys of an entry that are not ours: which of them other hosts use and mean no harm, and which one of ours the
 * author probably meant. Pure.
 */

/** Keys of other hosts that change nothing about how a server runs: accepted without a word. */
const foreignKeys = new Set([
  'alwaysallow',
  'author',
  'autoapprove',
  'autostart',
  'category',
  'comment',
  'description',
  'dev',
  'disabledtools',
  'displayname',
  'documentation',
  'enabledtools',
  'excludetools',
  'gallery',
  'homepage',
  'icon',
  'icons',
  'id',
  'includetools',
  'isactive',
  'license',
  'metadata',
  'name',
  'notes',
  'provider',
  'repository',
  'source',
  'tags',
  'title',
  'tools',
  'version',
]);

/** What other hosts call our fields, in lower case without `-` and `_`. */
const otherNames = new Map([
  ['serverurl', 'url'],
  ['httpurl', 'url'],
  ['sseurl', 'url'],
  ['baseurl', 'url'],
  ['endpoint', 'url'],
  ['uri', 'url'],
  ['cmd', 'command'],
  ['exec', 'command'],
  ['executable', 'command'],
  ['program', 'command'],
  ['arguments', 'args'],
  ['argv', 'args'],
  ['environment', 'env'],
  ['envs', 'env'],
  ['envvars', 'env'],
  ['workingdirectory', 'cwd'],
  ['workingdir', 'cwd'],
  ['workdir', 'cwd'],
  ['dir', 'cwd'],
  ['directory', 'cwd'],
  ['transporttype', 'type'],
  ['requestinit', 'headers'],
  ['httpheaders', 'headers'],
  ['startuptimeout', 'startupTimeoutMs'],
  ['startuptimeoutsec', 'startupTimeoutMs'],
  ['inittimeout', 'startupTimeoutMs'],
  ['initializationtimeout', 'startupTimeoutMs'],
  ['connecttimeout', 'startupTimeoutMs'],
  ['calltimeout', 'callTimeoutMs'],
  ['requesttimeout', 'callTimeoutMs'],
  ['tooltimeout', 'callTimeoutMs'],
  ['tooltimeoutsec', 'callTimeoutMs'],
  ['timeoutms', 'callTimeoutMs'],
  ['readtimeout', 'callTimeoutMs'],
  ['concurrency', 'window'],
  ['maxconcurrency', 'window'],
  ['idletimeout', 'idleStopMs'],
]);

/** True for notes (`_x`, `$x`, `//`, `x-…`) and for the harmless keys of other hosts. */
export function isForeignKey(key: string): boolean {
  return /^(_|\$|\/\/|#|x-)/.test(key) || foreignKeys.has(flat(key));
}

/** The key of ours that `key` probably stands for. */
export function suggestKey(key: string, known: readonly string[]): string | undefined {
  const name = flat(key);
  return known.find((own) => flat(own) === name) ?? otherNames.get(name) ?? closest(key, known);
}

/** The candidate that differs from `text` by the fewest typing slips: at most two, and at most a third of it. */
export function closest(text: string, candidates: readonly string[]): string | undefined {
  let best: string | undefined;
  let least = Math.min(2, Math.floor(text.length / 3)) + 1;
  for (const candidate of candidates) {
    // Foreign texts have any length: far apart in length is far apart.
    if (Math.abs(candidate.length - text.length) >= least) continue;
    const slips = editDistance(text.toLowerCase(), candidate.toLowerCase());
    if (slips < least) [best, least] = [candidate, slips];
  }
  return best;
}

function flat(key: string): string {
  return key.toLowerCase().replaceAll(/[-_]/g, '');
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
