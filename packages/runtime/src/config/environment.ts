/**
 * The environment of a server's process: an allow-list of the host's variables with the entry's `env` merged over
 * it, so that the host's secrets stay with the host. Pure: host variables and platform are arguments.
 */

const everywhere = [
  'PATH',
  'LANG',
  'LANGUAGE',
  'TZ',
  'NO_COLOR',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'ALL_PROXY',
  'NO_PROXY',
];
const posix = ['HOME', 'USER', 'LOGNAME', 'SHELL', 'TERM', 'TMPDIR'];
const posixLower = ['http_proxy', 'https_proxy', 'all_proxy', 'no_proxy'];
const windows = [
  'ALLUSERSPROFILE',
  'APPDATA',
  'COMMONPROGRAMFILES',
  'COMMONPROGRAMFILES(X86)',
  'COMMONPROGRAMW6432',
  'COMPUTERNAME',
  'COMSPEC',
  'HOMEDRIVE',
  'HOMEPATH',
  'LOCALAPPDATA',
  'NUMBER_OF_PROCESSORS',
  'OS',
  'PATHEXT',
  'PROCESSOR_ARCHITECTURE',
  'PROGRAMDATA',
  'PROGRAMFILES',
  'PROGRAMFILES(X86)',
  'PROGRAMW6432',
  'PSMODULEPATH',
  'PUBLIC',
  'SYSTEMDRIVE',
  'SYSTEMROOT',
  'TEMP',
  'TMP',
  'USERDOMAIN',
  'USERNAME',
  'USERPROFILE',
  'WINDIR',
];

/** What passes from the host to every server, by platform; `prefixes` let whole families through. */
export const allowedVariables = {
  posix: { names: [...everywhere, ...posixLower, ...posix], prefixes: ['LC_', 'XDG_'] },
  windows: { names: [...everywhere, ...windows], prefixes: ['LC_'] },
} as const;

export interface ChildEnvironmentInput {
  host: ReadonlyMap<string, string>;
  /** `process.platform`. */
  platform: string;
  /** The entry's `env` after expansion; `null` removes a variable. */
  own?: ReadonlyMap<string, string | null>;
  /** Pass the whole host environment instead of the allow-list. */
  inherit?: boolean;
}

/** The whole environment of the child, sorted by name. On Windows names are compared without case. */
export function childEnvironment(input: ChildEnvironmentInput): [string, string][] {
  const { host, platform, own = new Map(), inherit = false } = input;
  const result = new Map<string, [string, string]>();
  for (const [name, value] of host) {
    if (!inherit && !isAllowed(name, platform)) continue;
    // An exported bash function is code that some shell below the server would run.
    if (value.startsWith('() {') || name.startsWith('BASH_FUNC_')) continue;
    result.set(variableKey(name, platform), [name, value]);
  }
  for (const [name, value] of own) {
    const key = variableKey(name, platform);
    if (value === null) result.delete(key);
    else result.set(key, [name, value]);
  }
  return [...result.values()].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}

/** True when the host's variable passes to servers without being asked for. */
export function isAllowed(name: string, platform: string): boolean {
  const list = platform === 'win32' ? allowedVariables.windows : allowedVariables.posix;
  const key = variableKey(name, platform);
  return list.names.includes(key) || list.prefixes.some((prefix) => key.startsWith(prefix));
}

/** Host variables as a Map; unset ones left out. */
export function hostVariables(env: Readonly<Record<string, string | undefined>>): Map<string, string> {
  const host = new Map<string, string>();
  for (const [name, value] of Object.entries(env)) if (value !== undefined) host.set(name, value);
  return host;
}

/** Reads a variable as the platform would: Windows does not tell `Path` from `PATH`. */
export function variableLookup(host: ReadonlyMap<string, string>, platform: string) {
  const byKey = new Map([...host].map(([name, value]) => [variableKey(name, platform), value]));
  return (name: string): string | undefined => byKey.get(variableKey(name, platform));
}

function variableKey(name: string, platform: string): string {
  return platform === 'win32' ? name.toUpperCase() : name;
}
