/**
 * One server entry, from raw values to a valid `Entry`: what it is (a program or a URL), its aliases, its unknown
 * keys. An entry is checked alone, so one bad entry never costs another. Texts are still unexpanded here. Pure.
 */

import type { Protocol, ServerOptions } from '@bulkhead/workers';
import type { AuthFields } from './auth.js';
import { type Finding, kindOf, type RawEntry } from './entry.js';
import { entryKeys, entrySchema, type Fields, optionKeys } from './fields.js';
import { isForeignKey, suggestKey } from './keys.js';

export type Endpoint =
  | {
      type: 'stdio';
      command: string;
      args: string[];
      /** `null` takes a variable out of the child's environment. */
      env: Map<string, string | null>;
      cwd: string | undefined;
      inheritEnv: boolean;
    }
  | {
      type: 'http' | 'sse';
      url: string;
      headers: Map<string, string>;
      auth: AuthFields | undefined;
      headersHelper: string | undefined;
    };

/** A valid entry. */
export interface Entry {
  endpoint: Endpoint;
  /** Only what the entry sets. */
  options: Partial<ServerOptions>;
  lifecycle: 'eager' | 'lazy';
  idleStopMs: number;
  protocol: Protocol;
  /** What the tools say of themselves is believed. */
  trust: boolean;
  /** Its results are not for other servers. */
  confidential: boolean;
  disabled: boolean;
}

/** Checks one entry. Without an `entry` at least one finding is an error. */
export function readEntry(raw: RawEntry): { entry?: Entry; findings: Finding[] } {
  const findings: Finding[] = [];
  if (!(raw.value instanceof Map)) {
    findings.push(notAnObject(raw.value));
    return { findings };
  }
  const known = new Map<string, unknown>();
  const hints = new Map<string, string>();
  for (const [key, value] of raw.value as Map<string, unknown>) {
    // null is how some hosts write "not set".
    if (value === null || value === undefined) continue;
    if (key === 'transport' && value instanceof Map) nestedTransport(value, findings, hints);
    else if (entryKeys.includes(key)) known.set(key, value);
    else if (!isForeignKey(key)) unknownKey(key, findings, hints);
  }
  const parsed = entrySchema.safeParse(Object.fromEntries(known));
  if (!parsed.success) {
    for (const issue of parsed.error.issues) {
      const path = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part));
      findings.push({ severity: 'error', path, message: issue.message, ...repair(path, known) });
    }
    return { findings };
  }
  const fields = parsed.data;
  const endpoint = endpointOf(fields, hints);
  if ('message' in endpoint) {
    findings.push(endpoint);
    return { findings };
  }
  unusedFields(fields, endpoint.type, findings);
  const options = optionsOf(fields, known.get('timeout'), findings);
  if (fields.disabled === true && fields.enabled === true) {
    findings.push(
      warning(['enabled'], 'contradicts `disabled: true`; the server stays disabled', 'keep one of them'),
    );
  }
  const entry: Entry = {
    endpoint,
    options,
    lifecycle: fields.lifecycle ?? 'eager',
    idleStopMs: fields.idleStopMs ?? 0,
    protocol: fields.protocol ?? 'auto',
    trust: fields.trust ?? false,
    confidential: fields.confidential ?? false,
    disabled: isDisabled(fields),
  };
  return { entry, findings };
}

/**
 * An entry with `disabled` or `enabled` and nothing else that counts: it switches the entry of the same name in an
 * earlier file instead of replacing it. Gives whether it disables; undefined for every other entry.
 */
export function readSwitch(raw: RawEntry): boolean | undefined {
  if (!(raw.value instanceof Map)) return undefined;
  const set = [...(raw.value as Map<string, unknown>)].filter(
    ([key, value]) => value !== null && value !== undefined && !isForeignKey(key),
  );
  if (set.length === 0) return undefined;
  const only = set.every(
    ([key, value]) => ['disabled', 'enabled'].includes(key) && typeof value === 'boolean',
  );
  return only ? set.some(([key, value]) => value === (key === 'disabled')) : undefined;
}

function isDisabled({ disabled, enabled }: Fields): boolean {
  return disabled === true || enabled === false;
}

function endpointOf(fields: Fields, hints: ReadonlyMap<string, string>): Endpoint | Finding {
  const { command, url } = fields;
  const key = fields.type === undefined ? 'transport' : 'type';
  const written = fields.type ?? fields.transport;
  const type =
    written === undefined ? undefined : transportTypes.get(written.toLowerCase().replaceAll(/[-_\s]/g, ''));
  if (written !== undefined && type === undefined) {
    return fail(
      [key],
      `"${written}" is no transport`,
      'use "stdio", "http" (also "streamable-http") or "sse"',
    );
  }
  if (command === undefined && url === undefined) {
    const hint = hints.get('command') ?? hints.get('url');
    return fail(
      [],
      'has neither `command` (a program to start) nor `url` (a server to reach)',
      hint ?? 'add one',
    );
  }
  if (command !== undefined && url !== undefined && type === undefined) {
    return fail(
      [],
      'has both `command` and `url`',
      'remove one, or say which counts: "type": "stdio" or "http"',
    );
  }
  const chosen = type ?? (command === undefined ? 'http' : 'stdio');
  if (chosen === 'stdio') {
    if (command === undefined)
      return fail([key], `says "${written}", but the entry has no \`command\``, `remove \`${key}\``);
    if (command.trim() === '') return fail(['command'], 'is empty', 'name the program to start');
    return {
      type: 'stdio',
      command,
      args: fields.args ?? [],
      env: fields.env ?? new Map(),
      cwd: fields.cwd,
      inheritEnv: fields.inheritEnv ?? false,
    };
  }
  if (url === undefined)
    return fail([key], `says "${written}", but the entry has no \`url\``, `remove \`${key}\``);
  return {
    type: chosen,
    url,
    headers: fields.headers ?? new Map(),
    auth: fields.auth,
    headersHelper: fields.headersHelper,
  };
}

/** Spellings in use, in lower case without `-` and `_`. */
const transportTypes = new Map<string, Endpoint['type']>([
  ['stdio', 'stdio'],
  ['http', 'http'],
  ['streamablehttp', 'http'],
  ['sse', 'sse'],
]);

function optionsOf(fields: Fields, pasted: unknown, findings: Finding[]): Partial<ServerOptions> {
  const set = new Map<string, number>();
  for (const key of optionKeys) {
    const value = fields[key];
    if (value !== undefined) set.set(key, value);
  }
  const { timeout, callMaxMs } = fields;
  if (timeout !== undefined && fields.callTimeoutMs !== undefined) {
    const message = '`callTimeoutMs` counts, `timeout` is not read beside it';
    findings.push(warning(['timeout'], message, 'keep one of them'));
  } else if (timeout !== undefined) {
    set.set('callTimeoutMs', timeout);
    const bare = typeof pasted === 'number' || /^[\d.\s]+$/.test(String(pasted));
    if (bare && timeout < 1_000) {
      const hint = `write "${pasted}s" if seconds are meant, "${pasted}ms" if not`;
      findings.push(warning(['timeout'], `${pasted} means ${pasted} milliseconds here`, hint));
    }
  }
  const idleMs = set.get('callTimeoutMs');
  if (idleMs !== undefined && callMaxMs !== undefined && callMaxMs < idleMs) {
    const message = `${callMaxMs} ms is shorter than the idle limit of a call (${idleMs} ms), which it cuts`;
    findings.push(warning(['callMaxMs'], message, 'raise it'));
  }
  return Object.fromEntries(set);
}

function unusedFields(fields: Fields, type: Endpoint['type'], findings: Finding[]): void {
  const unused =
    type === 'stdio'
      ? (['url', 'headers', 'headersHelper', 'auth'] as const)
      : (['command', 'args', 'env', 'cwd', 'inheritEnv'] as const);
  for (const key of unused) {
    if (fields[key] !== undefined)
      findings.push(warning([key], `is not used by a server of type "${type}"`, 'remove it'));
  }
}

function unknownKey(key: string, findings: Finding[], hints: Map<string, string>): void {
  const meant = suggestKey(key, entryKeys);
  const hint = meant === undefined ? `known fields: ${entryKeys.join(', ')}` : `did you mean "${meant}"?`;
  if (meant !== undefined) hints.set(meant, `rename "${key}" to "${meant}"`);
  findings.push(warning([key], 'is no field of a server and is not read', hint));
}

/** `transport: {headers: …}`: a form of other hosts whose fields stand one level up here. */
function nestedTransport(inner: Map<string, unknown>, findings: Finding[], hints: Map<string, string>): void {
  for (const key of inner.keys()) {
    const meant = suggestKey(key, entryKeys) ?? key;
    const hint = `move it up into the entry as "${meant}"`;
    hints.set(meant, `move "${key}" out of "transport" into the entry as "${meant}"`);
    findings.push(warning(['transport', key], 'is not read inside `transport`', hint));
  }
}

function notAnObject(value: unknown): Finding {
  const example = '{"command": "node", "args": ["server.js"]} or {"url": "https://…"}';
  const isUrl = typeof value === 'string' && /^https?:/.test(value);
  const hint = isUrl ? 'write {"url": "https://…"}' : `write ${example}`;
  return fail([], `expected an object, got ${kindOf(value)}`, hint);
}

function repair(path: readonly (string | number)[], known: ReadonlyMap<string, unknown>): { hint?: string } {
  const [field] = path;
  const value = typeof field === 'string' ? known.get(field) : undefined;
  if (field === 'args' && typeof value === 'string')
    return { hint: 'write each argument as a string of its own: ["…", "…"]' };
  if (field === 'command' && Array.isArray(value))
    return { hint: 'put the program in `command`, the rest in `args`' };
  if (typeof field === 'string' && /(Ms|^timeout)$/.test(field)) {
    return {
      hint: 'leave it out (or null) for the default; there is no "never": write a long time such as "24h"',
    };
  }
  return {};
}

function fail(path: Finding['path'], message: string, hint: string): Finding {
  return { severity: 'error', path, message, hint };
}

function warning(path: Finding['path'], message: string, hint: string): Finding {
  return { severity: 'warning', path, message, hint };
}
