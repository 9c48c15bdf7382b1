/** What Redis and its client say, as errors that name the server, the cause and the next step; never a password. */
import { BulkheadError } from '@bulkhead/workers';

/** Begin of a reply, and what to do about it. */
const REPLIES: [begin: RegExp, code: 'BAD_CONFIG' | 'CONNECTION_LOST', text: string][] = [
  [
    /called without any password/,
    'BAD_CONFIG',
    'has no password for its default user, and the URL gives one: leave it out, or name the user',
  ],
  [
    /^NOAUTH/,
    'BAD_CONFIG',
    'wants a password: write it into the URL, redis://:PASSWORD@host:port or redis://USER:PASSWORD@host:port',
  ],
  [
    /^WRONGPASS|invalid password|invalid username-password/,
    'BAD_CONFIG',
    'refuses the user or the password of the URL; characters such as @ / : # in them must be percent-encoded',
  ],
  [
    /^NOPERM/,
    'BAD_CONFIG',
    'does not allow this user what batches need: give it `~bulkhead:* +@all -@admin -@dangerous +info` in its ACL',
  ],
  [/^READONLY/, 'BAD_CONFIG', 'is a read-only replica: give the URL of its primary'],
  [
    /^OOM/,
    'BAD_CONFIG',
    'is full (`maxmemory` is reached): collect or remove finished batches, or raise it with `redis-cli CONFIG SET maxmemory SIZE`',
  ],
  [
    /^MISCONF/,
    'BAD_CONFIG',
    'takes no writes, because it cannot save to its disk: free disk space, then look into its log',
  ],
  [/^NOREPLICAS/, 'CONNECTION_LOST', 'takes no writes, because too few of its replicas are connected'],
  [
    /^(MOVED|CROSSSLOT|CLUSTERDOWN)/,
    'BAD_CONFIG',
    'is a node of a Redis Cluster, over which one batch cannot be spread: give the URL of a server that is none',
  ],
  [
    /^ERR DB index|^ERR invalid DB/,
    'BAD_CONFIG',
    'has no database of that number: the URL ends with /0 or without one',
  ],
  [/^LOADING/, 'CONNECTION_LOST', 'is still loading its data: try again in a moment'],
  [/max number of clients/, 'CONNECTION_LOST', 'has no connection left: raise its `maxclients`'],
];

/** The URL as it may be shown. */
export function redisPlace(url: string): string {
  const { protocol, host, pathname } = parseRedisUrl(url);
  return `${protocol}//${host}${pathname === '/' ? '' : pathname}`;
}

/** @throws {BulkheadError} `BAD_CONFIG`. */
export function parseRedisUrl(url: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (
    parsed !== undefined &&
    /^rediss?:$/.test(parsed.protocol) &&
    parsed.hostname !== '' &&
    /^(\/\d*)?$/.test(parsed.pathname)
  ) {
    return parsed;
  }
  // Shown only when there can be no password in it.
  const shown = url.includes('@') ? '' : ` "${url}"`;
  throw new BulkheadError(
    'BAD_CONFIG',
    `Expected a URL redis://host:port or redis://host:port/database (rediss:// for TLS), got${shown || ' another one'}`,
  );
}

/** @param place Of {@link redisPlace}. */
export function redisError(error: unknown, place: string): Error {
  if (error instanceof BulkheadError) return error;
  const cause = error as NodeJS.ErrnoException;
  const about = `Redis at ${place}`;
  for (const [begin, code, text] of REPLIES) {
    if (begin.test(cause.message)) return new BulkheadError(code, `${about} ${text}`, { cause });
  }
  const system = cause.code ?? '';
  if (isTlsError(cause)) {
    return new BulkheadError(
      'BAD_CONFIG',
      `The TLS connection to ${about} failed: ${cause.message}. Is it a TLS port, and is its certificate trusted? ` +
        'An own authority is trusted with NODE_EXTRA_CA_CERTS=FILE',
      { cause },
    );
  }
  if (/^(E[A-Z_]+|NR_CLOSED)$/.test(system) || /clos|reset|timed? ?out/i.test(cause.message)) {
    const why = system === '' ? cause.message : system;
    return new BulkheadError(
      'CONNECTION_LOST',
      `${about} cannot be reached: ${why}; is it running, and are host and port right?${hint(cause, place)}`,
      { cause },
    );
  }
  if (/^[A-Z]+ /.test(cause.message)) {
    return new BulkheadError('INTERNAL', `${about} refused a command: ${cause.message}`, { cause });
  }
  return cause;
}

function isTlsError({ code = '', message }: NodeJS.ErrnoException): boolean {
  return (
    /CERT|^ERR_(TLS|SSL)|SELF_SIGNED|UNABLE_TO|^EPROTO/.test(code) ||
    /certificate|ssl3?_|TLS connection/i.test(message)
  );
}

/** A TLS port closes a plain connection without a word; a plain port waits for ever for the rest of a TLS hello. */
function hint(cause: NodeJS.ErrnoException, place: string): string {
  if (place.startsWith('rediss:')) {
    return cause.code === 'ETIMEDOUT' ? ' If it does not speak TLS, the URL begins with redis://' : '';
  }
  const mayBeTls = cause.code === 'ECONNRESET' || /clos/i.test(cause.message);
  return mayBeTls ? ' If it speaks TLS, the URL begins with rediss://' : '';
}
