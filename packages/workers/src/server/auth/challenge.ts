/**
 * `WWW-Authenticate` as servers write it: several challenges in one header, parameters quoted or not. Gives the
 * Bearer challenge. Pure. Source: RFC 9110 section 11.6.1, RFC 6750 section 3, RFC 9728 section 5.1.
 */
export interface BearerChallenge {
  error?: string;
  errorDescription?: string;
  scopes: string[];
  /** Where the protected resource metadata lies. */
  resourceMetadata?: string;
}

// A word followed by "=" is a parameter; a word alone opens the next challenge.
const piece = /([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?:\s*=\s*(?:"((?:\\.|[^"\\])*)"|([^\s,"]*)))?/g;

export function bearerChallenge(header: string | null): BearerChallenge | undefined {
  if (header === null) return undefined;
  let scheme = '';
  let found = false;
  const parameters = new Map<string, string>();
  for (const match of header.matchAll(piece)) {
    const [text, name = '', quoted, bare] = match;
    if (!text.includes('=')) {
      scheme = name.toLowerCase();
      found ||= scheme === 'bearer';
    } else if (scheme === 'bearer' && !parameters.has(name.toLowerCase())) {
      parameters.set(name.toLowerCase(), quoted?.replaceAll(/\\(.)/g, '$1') ?? bare ?? '');
    }
  }
  if (!found) return undefined;
  const challenge: BearerChallenge = { scopes: words(parameters.get('scope')) };
  const error = parameters.get('error');
  const errorDescription = parameters.get('error_description');
  const resourceMetadata = parameters.get('resource_metadata');
  if (error !== undefined) challenge.error = error;
  if (errorDescription !== undefined) challenge.errorDescription = errorDescription;
  if (resourceMetadata !== undefined && URL.canParse(resourceMetadata)) {
    challenge.resourceMetadata = resourceMetadata;
  }
  return challenge;
}

/** Scopes as they stand in one string. */
export function words(text: string | undefined): string[] {
  return text?.split(/\s+/).filter((word) => word !== '') ?? [];
}
