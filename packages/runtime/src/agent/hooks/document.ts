/**
 * One `hooks.json`: its bytes decoded, its JSONC parsed, its hooks taken out one by one, each with its line. Never
 * throws: whatever is wrong is a finding that names file, line and field.
 */
import { findNodeAtLocation, getNodeValue, type Node, type ParseError, parseTree } from 'jsonc-parser';
import { decodeText } from '../../config/document.js';
import { type Finding, kindOf } from '../../config/entry.js';
import type { ConfigProblem } from '../../config/types.js';
import { isRecord } from '../../content.js';
import { type HookEvent, hookEvents } from './event.js';
import { compileMatch, type ToolMatch } from './matcher.js';
import { type HookEntry, readGroup, readHook, unknownEvent } from './schema.js';

const sample =
  '{"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": "…"}]}]}}';

/** A valid entry as it was written. */
export interface WrittenHook {
  event: HookEvent;
  match: ToolMatch;
  entry: HookEntry;
  file: string;
  /** 1-based. */
  line: number;
  /** Dotted path in the file. */
  field: string;
}

export interface HooksDocument {
  hooks: WrittenHook[];
  problems: ConfigProblem[];
}

type Path = readonly (string | number)[];

export async function readHooksDocument(file: string, bytes: Uint8Array): Promise<HooksDocument> {
  const document: HooksDocument = { hooks: [], problems: [] };
  const text = decodeText(bytes);
  if (text === undefined) {
    const hint = 'save it as UTF-8 (UTF-16 works with a byte order mark)';
    document.problems.push({ severity: 'error', file, line: 1, message: 'the file is not UTF-8 text', hint });
    return document;
  }
  const lineAt = (offset: number) => text.slice(0, offset).split('\n').length;
  const root = parse(file, text, lineAt, document.problems);
  if (root === undefined) return document;

  const lineOf = (path: Path): number => {
    for (let length = path.length; length > 0; length--) {
      const node = findNodeAtLocation(root, path.slice(0, length));
      if (node !== undefined) return lineAt(node.offset);
    }
    return lineAt(root.offset);
  };
  const say = (at: Path, { severity, path, message, hint }: Finding) => {
    const whole = [...at, ...path];
    const field = whole.length === 0 ? {} : { field: whole.join('.') };
    const tail = hint === undefined ? {} : { hint };
    document.problems.push({ severity, file, line: lineOf(whole), ...field, message, ...tail });
  };
  const wrong = (at: Path, wanted: string, value: unknown) =>
    say(at, {
      severity: 'error',
      path: [],
      message: `expected ${wanted}, got ${kindOf(value)}`,
      hint: `the form of the file is ${sample}`,
    });

  const content: unknown = getNodeValue(root);
  const events = isRecord(content) ? content.hooks : undefined;
  if (!isRecord(events)) {
    wrong(isRecord(content) ? ['hooks'] : [], 'an object', isRecord(content) ? events : content);
    return document;
  }
  for (const [event, groups] of Object.entries(events)) {
    if (!isEvent(event)) say(['hooks'], unknownEvent(event));
    else if (!Array.isArray(groups)) wrong(['hooks', event], 'an array of groups', groups);
    else for (const [at, raw] of groups.entries()) await addGroup(event, ['hooks', event, at], raw);
  }
  return document;

  async function addGroup(event: HookEvent, at: Path, raw: unknown): Promise<void> {
    const { value: group, findings } = readGroup(raw);
    for (const finding of findings) say(at, finding);
    if (group === undefined) return;
    const { hooks, ...written } = group;
    const match = event === 'SessionStart' ? {} : (written as ToolMatch);
    for (const key of event === 'SessionStart' ? Object.keys(written) : []) {
      if (written[key as keyof typeof written] === '*' || written[key as keyof typeof written] === '')
        continue;
      const message = 'is not used for SessionStart: there is no tool to compare with';
      say(at, { severity: 'warning', path: [key], message, hint: 'remove it' });
    }
    try {
      await compileMatch(match);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      say(at, { severity: 'error', path: [], message, hint: 'its hooks do not run until it is mended' });
      return;
    }
    for (const [index, entry] of hooks.entries()) {
      const place = [...at, 'hooks', index];
      const hook = readHook(entry, event);
      for (const finding of hook.findings) say(place, finding);
      if (hook.value === undefined) continue;
      const { value } = hook;
      document.hooks.push({ event, match, entry: value, file, line: lineOf(place), field: place.join('.') });
    }
  }
}

function parse(
  file: string,
  text: string,
  lineAt: (offset: number) => number,
  problems: ConfigProblem[],
): Node | undefined {
  const fail = (offset: number, message: string): undefined => {
    const hint = `nothing of this file is used until it is mended; its form is ${sample}`;
    problems.push({ severity: 'error', file, line: lineAt(offset), message, hint });
  };
  if (text.trim() === '') return fail(0, 'the file is empty');
  const errors: ParseError[] = [];
  let root: Node | undefined;
  try {
    root = parseTree(text, errors, { allowTrailingComma: true });
  } catch {
    return fail(0, 'the file is nested too deeply to be read');
  }
  const [error] = errors;
  if (error === undefined && root !== undefined) return root;
  const offset = error?.offset ?? 0;
  return text.slice(offset).trim() === ''
    ? fail(text.trimEnd().length, 'the file ends in the middle: a bracket or a value is missing')
    : fail(offset, 'not valid JSON');
}

const isEvent = (name: string): name is HookEvent => (hookEvents as readonly string[]).includes(name);
