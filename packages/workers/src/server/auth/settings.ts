/**
 * What an entry may say about signing in (`"auth": {…}` of a remote server), after expansion: it may hold secrets and
 * never goes back to the agent. Everything is optional; most servers need none of it. Pure.
 */
export interface AuthSettings {
  /**
   * Who the token speaks for. `authorization_code`: a person who signs in once in a browser.
   * `client_credentials`: the client itself, without a person. Default `authorization_code`.
   */
  grant?: 'authorization_code' | 'client_credentials';
  /** A client registered by hand. Default: a client metadata document or dynamic registration. */
  clientId?: string;
  /** Its secret, when it is a confidential client. */
  clientSecret?: string;
  /** PKCS#8 PEM for `client_credentials` with `private_key_jwt`, instead of a secret. */
  privateKey?: string;
  /** JWS algorithm that fits `privateKey`. Default `ES256`. */
  signingAlgorithm?: string;
  /** Asked for besides what the server itself names. Default: what the server names. */
  scopes?: string[];
  /** Port of the redirect on 127.0.0.1, for clients registered with a fixed one. Default: any free port. */
  redirectPort?: number;
  /** HTTPS URL with a path of a client id metadata document, used where the authorization server takes one. */
  clientMetadataUrl?: string;
  /** The only authorization server that may see these credentials. Default: the first one that accepted them. */
  issuer?: string;
}

export const authDefaults = {
  /** One request to an authorization server. */
  requestTimeoutMs: 15_000,
  /** How long a person may take in the browser. */
  loginTimeoutMs: 5 * 60_000,
  /** A token counts as expired this long before it is: clocks differ and requests travel. */
  expirySkewMs: 30_000,
  /** How long to wait for another process that refreshes the same token. */
  lockWaitMs: 60_000,
  /** A lock whose owner has not touched it for this long belongs to a dead process. */
  lockStaleMs: 20_000,
  /** Largest answer accepted from an authorization server. */
  maxAnswerBytes: 1024 * 1024,
  /** How much of a refusal a person is shown. */
  excerptBytes: 300,
} as const;

/** The header of an entry that disables OAuth, or undefined. */
export function fixedAuthorization(
  headers: readonly (readonly [string, string])[],
): readonly [string, string] | undefined {
  return headers.find(([name]) => name.toLowerCase() === 'authorization');
}
