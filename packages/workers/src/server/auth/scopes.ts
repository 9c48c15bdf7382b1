/** Which scopes to ask for. Pure. Source: MCP 2025-11-25, authorization, "Scope Selection Strategy". */
export interface ScopeSources {
  /** Of the entry. */
  configured: readonly string[];
  /** Of the server's challenge: what this request needs. */
  challenged: readonly string[];
  /** Asked for earlier: a step-up must not lose them. */
  earlier: readonly string[];
  /** `scopes_supported` of the protected resource. */
  resource: readonly string[];
  /** `scopes_supported` of the authorization server. */
  authorizationServer: readonly string[];
  /** True when a refresh token can be used. */
  refreshable: boolean;
}

/** Empty: the parameter is left out, and the authorization server decides. */
export function scopesToAsk(sources: ScopeSources): string[] {
  const said = union(sources.earlier, sources.configured, sources.challenged);
  const scopes = said.length > 0 ? said : union(sources.resource);
  const offline = sources.refreshable && sources.authorizationServer.includes('offline_access');
  return scopes.length > 0 && offline ? union(scopes, ['offline_access']) : scopes;
}

export function union(...lists: readonly (readonly string[])[]): string[] {
  return [...new Set(lists.flat())];
}
