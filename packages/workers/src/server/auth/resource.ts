/**
 * Whether the metadata that a server gives speaks of that server. A final slash makes no difference, and metadata for
 * a parent path covers what lies below. Pure. Source: RFC 8707, RFC 9728 section 3.3.
 */

/** True when tokens for `advertised` are meant for `serverUrl`. The advertised text itself is what is sent. */
export function resourceCovers(advertised: string, serverUrl: string): boolean {
  if (!URL.canParse(advertised)) return false;
  const [have, want] = [new URL(advertised), new URL(serverUrl)];
  const base = withSlash(have.pathname);
  return (
    have.origin === want.origin &&
    withSlash(want.pathname).startsWith(base) &&
    (have.search === '' || have.search === want.search)
  );
}

/** The same issuer, but for one final slash that URL parsers add. */
export function sameIssuer(a: string, b: string): boolean {
  return withoutSlash(a) === withoutSlash(b);
}

function withSlash(path: string): string {
  return path.endsWith('/') ? path : `${path}/`;
}

function withoutSlash(text: string): string {
  return text.endsWith('/') ? text.slice(0, -1) : text;
}
