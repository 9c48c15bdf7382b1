/**
 * The fields of `hooks.json`, one entry at a time: a bad entry costs itself and no neighbour. Unknown keys are
 * named and change nothing, so a misspelt condition makes a hook run too often and never too seldom.
 */
import { z } from 'zod';
import type { Finding } from '../../config/entry.js';
import { closest, isForeignKey } from '../../config/keys.js';
import { type HookEvent, hookEvents } from './event.js';

/** Time limits of hooks from files, ms. */
export const hookDefaults = {
  /** Of one run; 1 … 600 000. */
  timeoutMs: 10_000,
  maxTimeoutMs: 600_000,
} as const;

const capabilities = ['read', 'write', 'network', 'destructive', 'unknown'] as const;
const capability = z.enum(capabilities);

const groupFields = {
  matcher: z.string().optional(),
  server: z.string().optional(),
  tool: z.string().optional(),
  capability: z.union([capability, z.array(capability).min(1)]).optional(),
  hooks: z.array(z.unknown()),
};
const shared = {
  timeoutMs: z.number().int().min(1).max(hookDefaults.maxTimeoutMs).optional(),
  onError: z.enum(['block', 'allow']).optional(),
};
const commandFields = {
  type: z.literal('command'),
  command: z.string().trim().min(1),
  env: z.record(z.string(), z.union([z.string(), z.null()])).optional(),
  ...shared,
};
const httpFields = {
  type: z.literal('http'),
  url: z.string().min(1),
  headers: z.record(z.string(), z.string()).optional(),
  ...shared,
};

const groupSchema = z.object(groupFields);
const commandSchema = z.object(commandFields);
const httpSchema = z.object(httpFields);
const kindSchema = z.looseObject({ type: z.enum(['command', 'http']) });

export type HookGroup = z.infer<typeof groupSchema>;
export type HookEntry = z.infer<typeof commandSchema> | z.infer<typeof httpSchema>;
export interface Checked<T> {
  value?: T;
  findings: Finding[];
}

/** A group of hooks with what they are for; its `hooks` are not checked yet. */
export function readGroup(raw: unknown): Checked<HookGroup> {
  return check(groupSchema, groupFields, raw);
}

/** One hook of a group. */
export function readHook(raw: unknown, event: HookEvent): Checked<HookEntry> {
  const kind = kindSchema.safeParse(raw);
  if (!kind.success) return { findings: findingsOf(kind.error) };
  const checked: Checked<HookEntry> =
    kind.data.type === 'command'
      ? check(commandSchema, commandFields, raw)
      : check(httpSchema, httpFields, raw);
  if (checked.value?.onError !== undefined && event !== 'PreToolUse') {
    const message = `is not used for ${event}: nothing waits for such a hook, and its failure is a warning`;
    checked.findings.push({ severity: 'warning', path: ['onError'], message, hint: 'remove it' });
  }
  return checked;
}

/** What is said about a key of `hooks` that is none of our events. */
export function unknownEvent(name: string): Finding {
  const near = closest(name, hookEvents);
  const hint = near === undefined ? `events are ${hookEvents.join(', ')}` : `did you mean "${near}"?`;
  return { severity: 'warning', path: [name], message: 'is no event that Bulkhead knows', hint };
}

function check<T>(schema: z.ZodType<T>, fields: Record<string, unknown>, raw: unknown): Checked<T> {
  const parsed = schema.safeParse(raw);
  const findings = parsed.success ? [] : findingsOf(parsed.error);
  if (typeof raw === 'object' && raw !== null && !Array.isArray(raw)) {
    for (const key of Object.keys(raw)) {
      if (!Object.hasOwn(fields, key) && !isForeignKey(key)) findings.push(unknownKey(key, fields));
    }
  }
  return parsed.success ? { value: parsed.data, findings } : { findings };
}

function unknownKey(key: string, fields: Record<string, unknown>): Finding {
  const known = Object.keys(fields);
  const near = closest(key, known);
  const hint =
    key === 'timeout' && 'timeoutMs' in fields
      ? 'other hosts count it in seconds: write "timeoutMs", in milliseconds'
      : near === undefined
        ? `known are ${known.join(', ')}`
        : `did you mean "${near}"?`;
  return { severity: 'warning', path: [key], message: 'is not read', hint };
}

function findingsOf(error: z.ZodError): Finding[] {
  return error.issues.map((issue) => {
    const path = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part));
    const at = path.at(-1);
    const known = typeof at === 'string' ? hints.get(at) : undefined;
    const hint = known ?? 'an entry is {"type": "command", "command": "…"} or {"type": "http", "url": "…"}';
    // Zod starts with a capital; our sentences go on from the name of the field.
    const message = issue.message.replace(/^Invalid (input|option): /, '');
    return { severity: 'error', path, message, hint };
  });
}

const hints = new Map([
  ['type', 'it is "command" or "http"'],
  ['command', 'a line for the shell, for instance "node check.mjs"'],
  ['url', 'write it whole: https://host/path'],
  ['timeoutMs', `whole milliseconds, 1 to ${hookDefaults.maxTimeoutMs}`],
  ['onError', 'it is "block" or "allow"'],
  ['env', 'an object of texts; null removes a variable'],
  ['headers', 'an object of texts'],
  ['capability', `one of ${capabilities.join(', ')}, or an array of them`],
  ['hooks', 'a group is {"matcher": "…", "hooks": [{"type": "command", "command": "…"}]}'],
]);
