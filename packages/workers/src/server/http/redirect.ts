/** Which redirects are followed. Pure. A message is never sent to another origin, nor turned from POST into GET. */

const MAX_HOPS = 3;

export type Hop = { follow: URL; permanent: boolean } | { refuse: string };

/**
 * What to do with a 3xx answer; undefined when it is none. `hops` counts the redirects of this request so far.
 * 307 and 308 keep method and body; 301–303 would turn a POST into a GET, so only other methods follow them.
 */
export function redirectOf(
  status: number,
  location: string | undefined,
  from: URL,
  method: string,
  hops: number,
): Hop | undefined {
  if (![301, 302, 303, 307, 308].includes(status)) return undefined;
  const target =
    location !== undefined && URL.canParse(location, from.href) ? new URL(location, from) : undefined;
  if (target === undefined) return { refuse: `it redirects (${status}) without a usable Location` };
  const shown = `${target.origin}${target.pathname}`;
  if (target.origin !== from.origin) {
    return {
      refuse: `it redirects (${status}) to another origin, ${shown}; that is never followed: if it is right, set "url" to it`,
    };
  }
  if (method === 'POST' && status < 307) {
    return {
      refuse: `it redirects (${status}) to ${shown}, which would turn the POST into a GET: set "url" to that address`,
    };
  }
  if (hops >= MAX_HOPS) return { refuse: `it redirects more than ${MAX_HOPS} times, last to ${shown}` };
  return { follow: target, permanent: status === 308 || status === 301 };
}
