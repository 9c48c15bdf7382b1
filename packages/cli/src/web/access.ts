/**
 * Who may use the web page: whoever brings the token of the address, once, then the browser that got the session for it.
 * Names of other hosts are refused, so that no foreign site can point its own name at this port (DNS rebinding).
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

const SECRET_BYTES = 32;

export class Access {
  /** Stands in the address that a person opens; good for one session. */
  readonly token = secret();
  readonly session = secret();
  /** In the page, and in every request that changes something. */
  readonly csrf = secret();
  /** Cookies know no ports: two pages on one machine must not overwrite each other's. */
  readonly cookie: string;
  readonly #hosts: ReadonlySet<string>;
  #isUsed = false;

  constructor(port: number) {
    this.cookie = `bulkhead-web-${port}`;
    this.#hosts = new Set([`127.0.0.1:${port}`, `localhost:${port}`]);
  }

  /** Whether `token` is the right one and comes for the first time. */
  redeem(token: string): boolean {
    if (this.#isUsed || !isSame(token, this.token)) return false;
    this.#isUsed = true;
    return true;
  }

  isSession(cookie: string | undefined): boolean {
    return cookie !== undefined && isSame(cookie, this.session);
  }

  isOwnHost(host: string | undefined): boolean {
    return host !== undefined && this.#hosts.has(host.toLowerCase());
  }

  /** Whether a change was asked for by the page itself. Browsers send `Origin` with every POST. */
  isOwnChange({ host, origin, csrf }: Record<'host' | 'origin' | 'csrf', string | undefined>): boolean {
    return origin === `http://${host}` && csrf !== undefined && isSame(csrf, this.csrf);
  }
}

function secret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

/** In constant time, for texts of any length. */
function isSame(one: string, other: string): boolean {
  return timingSafeEqual(digest(one), digest(other));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
