/**
 * The credentials of one server: gives the token to send, renews it once however many ask, and signs a person in when
 * somebody asked for that. It runs in the server's thread, and a person is never waited for unasked.
 *
 * A renewal reads the store again under the lock of all processes, so of many that find the same token refused one
 * refreshes and the rest take what it stored. A refresh that fails deletes nothing, except a refresh token that the
 * authorization server calls invalid and that is still the stored one.
 */
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { BulkheadError } from '../../errors.js';
import { authRefused, authUnavailable, needsLogin, scopeRefused } from './auth-failure.js';
import { type BearerChallenge, bearerChallenge } from './challenge.js';
import { configuredClient, guardIssuer } from './client-identity.js';
import { type AuthorizationPlace, discover } from './discovery.js';
import { type OpenUrl, signIn } from './login.js';
import { clientCredentials, type Renewal, type RenewalContext, refreshTokens } from './renewal.js';
import { scopesToAsk, union } from './scopes.js';
import { type AuthSettings, authDefaults } from './settings.js';
import { type AuthRecord, type StoredTokens, storeKey, type TokenStore } from './token-store.js';

export interface AuthorizerOptions {
  /** Name of the server, for messages. */
  server: string;
  serverUrl: string;
  settings: AuthSettings;
  store: TokenStore;
  /** Present only when somebody asked to sign in: shows the URL to a person. */
  open?: OpenUrl;
  /** Default the global `fetch`. */
  fetch?: FetchLike;
  /** Wall clock, default `Date.now`. */
  now?: () => number;
}

export class Authorizer {
  readonly server: string;
  readonly serverUrl: string;
  readonly #settings: AuthSettings;
  readonly #store: TokenStore;
  readonly #open: OpenUrl | undefined;
  readonly #key: string;
  readonly #context: RenewalContext;
  #current: StoredTokens | undefined;
  #loaded = false;
  #flight: Promise<string> | undefined;
  #challenge: BearerChallenge | undefined;

  constructor(options: AuthorizerOptions) {
    this.server = options.server;
    this.serverUrl = options.serverUrl;
    this.#settings = options.settings;
    this.#store = options.store;
    this.#open = options.open;
    this.#key = storeKey(options.serverUrl, options.settings);
    this.#context = {
      server: this.server,
      settings: this.#settings,
      store: this.#store,
      key: this.#key,
      now: options.now ?? Date.now,
      fetch: options.fetch ?? fetch,
    };
  }

  /** The token to send, renewed when it has run out; undefined when nobody has signed in. */
  async token(): Promise<string | undefined> {
    if (this.#flight !== undefined) return this.#flight;
    if (!this.#loaded) {
      const record = await this.#store.read(this.#key).catch((error: unknown) => {
        throw this.#explained(error);
      });
      this.#current = record?.tokens;
      this.#loaded = true;
    }
    const tokens = this.#current;
    if (tokens === undefined || !this.#expired(tokens)) return tokens?.accessToken;
    // Without a refresh token the server has the last word on an old token.
    if (tokens.refreshToken === undefined) return tokens.accessToken;
    return this.renew(tokens.accessToken, undefined);
  }

  /**
   * Another token than the refused one.
   * @throws {BulkheadError} `START_FAILED` with `data.kind` `auth` (a person is needed) or `auth-unavailable`.
   */
  renew(refused: string | undefined, challenge: BearerChallenge | undefined): Promise<string> {
    this.#challenge = challenge ?? this.#challenge;
    return this.#once(async () => {
      const renewal = await this.#store.exclusively(this.#key, () => this.#renewAlone(refused));
      if ('tokens' in renewal) return this.#adopt(renewal.tokens);
      this.#current = undefined;
      if (this.#open === undefined) throw needsLogin(this.server, renewal.loginBecause);
      return this.#login(this.#open);
    });
  }

  /**
   * A token with more scopes, after 403 `insufficient_scope`. Earlier scopes stay asked for.
   * @throws {BulkheadError} `DENIED` when no person is at hand, or when these scopes were asked for already.
   */
  stepUp(refused: string | undefined, challenge: BearerChallenge): Promise<string> {
    return this.#once(async () => {
      const record = await this.#store.read(this.#key);
      const stored = record?.tokens;
      // Another process, or a call just before this one, stepped up already.
      if (stored !== undefined && stored.accessToken !== refused) return this.#adopt(stored);
      const missing = challenge.scopes.filter((scope) => !record?.scopes.includes(scope));
      if (missing.length === 0) {
        const why = 'they were asked for and did not suffice; who runs the server must grant them';
        throw scopeRefused(this.server, challenge.scopes, why);
      }
      this.#challenge = challenge;
      if (this.#settings.grant === 'client_credentials') {
        return this.#adopt(await this.#store.exclusively(this.#key, () => this.#ownTokens(record)));
      }
      if (this.#open !== undefined) return this.#login(this.#open);
      await this.#remember(challenge.scopes);
      throw scopeRefused(this.server, missing, 'they need a new sign-in');
    });
  }

  /** Signs a person in, whatever is stored. @throws {BulkheadError} when it fails or nobody comes in five minutes. */
  async login(options: { open: OpenUrl }): Promise<void> {
    await this.#once(() => this.#login(options.open));
  }

  /** Forgets tokens and registration of this server. */
  async logout(): Promise<void> {
    await this.#store.exclusively(this.#key, () => this.#store.delete(this.#key));
    this.#current = undefined;
  }

  /** Those who come while a renewal runs share it. */
  #once(work: () => Promise<string>): Promise<string> {
    this.#flight ??= work()
      .catch((error: unknown) => {
        throw this.#explained(error);
      })
      .finally(() => {
        this.#flight = undefined;
      });
    return this.#flight;
  }

  async #renewAlone(refused: string | undefined): Promise<Renewal> {
    const record = await this.#store.read(this.#key);
    const stored = record?.tokens;
    if (stored !== undefined && stored.accessToken !== refused && !this.#expired(stored)) {
      return { tokens: stored };
    }
    if (this.#settings.grant === 'client_credentials') return { tokens: await this.#ownTokens(record) };
    if (record === undefined) return { loginBecause: 'nobody has signed in yet' };
    if (stored?.refreshToken === undefined) return { loginBecause: 'the access token is no longer accepted' };
    const place = await this.#discover(record);
    if (place.issuer !== record.issuer) {
      return { loginBecause: `its authorization server is now ${place.issuer}` };
    }
    return refreshTokens(this.#context, place, record, stored.refreshToken);
  }

  async #ownTokens(record: AuthRecord | undefined): Promise<StoredTokens> {
    const place = await this.#discover(record);
    const earlier = record?.issuer === place.issuer ? record.scopes : [];
    return clientCredentials(this.#context, place, this.#scopes(place, earlier, false));
  }

  async #login(open: OpenUrl): Promise<string> {
    if (this.#settings.grant === 'client_credentials') {
      const why = 'signs in by itself ("auth.grant": "client_credentials")';
      throw authRefused(this.server, why, 'There is nothing to do in a browser.');
    }
    this.#challenge ??= await this.#probe();
    const record = await this.#store.read(this.#key);
    const place = await this.#discover(record);
    const known = record?.issuer === place.issuer ? record : undefined;
    const earlier = union(known?.scopes ?? [], known?.wantedScopes ?? []);
    const scopes = this.#scopes(place, earlier, true);
    const signedIn = await signIn({
      server: this.server,
      place,
      settings: this.#settings,
      earlierClient: known?.client,
      scopes,
      open,
      now: this.#context.now,
      fetch: this.#context.fetch,
    });
    const kept = { issuer: place.issuer, scopes: union(scopes, signedIn.scopes ?? []) };
    // A client of the entry is not copied: its secret stays where the entry has it.
    const own = configuredClient(this.#settings);
    const client = own === undefined ? signedIn.client : { clientId: own.clientId };
    const { tokens } = signedIn;
    await this.#store.exclusively(this.#key, () => this.#store.write(this.#key, { ...kept, client, tokens }));
    return this.#adopt(tokens);
  }

  /** The sign-in may happen in another process, which has not seen the challenge. */
  async #remember(wantedScopes: string[]): Promise<void> {
    await this.#store.exclusively(this.#key, async () => {
      const record = await this.#store.read(this.#key);
      if (record !== undefined) await this.#store.write(this.#key, { ...record, wantedScopes });
    });
  }

  async #discover(record: AuthRecord | undefined): Promise<AuthorizationPlace> {
    const advertised = this.#challenge?.resourceMetadata;
    const place = await discover(this.server, this.serverUrl, advertised, this.#context.fetch);
    guardIssuer(this.server, place, this.#settings, record);
    return place;
  }

  #scopes(place: AuthorizationPlace, earlier: readonly string[], refreshable: boolean): string[] {
    return scopesToAsk({
      configured: this.#settings.scopes ?? [],
      challenged: this.#challenge?.scopes ?? [],
      earlier,
      resource: place.resourceScopes,
      authorizationServer: place.metadata?.scopes_supported ?? [],
      refreshable,
    });
  }

  /** A login without a refused request before it asks the server for its challenge. */
  async #probe(): Promise<BearerChallenge | undefined> {
    const signal = AbortSignal.timeout(authDefaults.requestTimeoutMs);
    const headers = { accept: 'text/event-stream' };
    const response = await this.#context.fetch(this.serverUrl, { headers, signal });
    await response.body?.cancel();
    return bearerChallenge(response.headers.get('www-authenticate'));
  }

  #explained(error: unknown): BulkheadError {
    if (error instanceof BulkheadError) return error;
    const what = error instanceof Error ? error.message : String(error);
    return authUnavailable(this.server, `cannot be signed in to: ${what}`, error);
  }

  #adopt(tokens: StoredTokens): string {
    this.#current = tokens;
    this.#loaded = true;
    return tokens.accessToken;
  }

  #expired({ expiresAtMs }: StoredTokens): boolean {
    return expiresAtMs !== undefined && expiresAtMs <= this.#context.now();
  }
}
