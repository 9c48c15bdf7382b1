/**
 * Addresses of resources among many servers: `bulkhead:<server>:<address>`. The prefix keeps templates templates, and
 * taking it off gives the server's own address byte for byte. Pure.
 */
const SCHEME = 'bulkhead:';

export interface ResourceOrigin {
  server: string;
  /** Address or template as the server gives it. */
  uri: string;
}

export function servedAddress({ server, uri }: ResourceOrigin): string {
  return `${SCHEME}${encodeURIComponent(server)}:${uri}`;
}

/** Undefined for an address without the prefix, as a tool's result may hold one. */
export function originOf(address: string): ResourceOrigin | undefined {
  if (!address.startsWith(SCHEME)) return undefined;
  const end = address.indexOf(':', SCHEME.length);
  if (end === -1) return undefined;
  try {
    return { server: decodeURIComponent(address.slice(SCHEME.length, end)), uri: address.slice(end + 1) };
  } catch {
    return undefined;
  }
}
