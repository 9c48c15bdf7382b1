/**
 * One output line. The tool's result is spliced in as the text that the server sent, so its digits and its order of
 * members stay what they were. Pure.
 */
import type { BulkheadError, ErrorCode, Outcome } from '@bulkhead/workers';
import type { ToolResult } from '../api.js';
import { singleLine, wellFormed } from './record.js';
import type { SpilledLine } from './spilled-line.js';

/** What every line of the results begins with. */
export interface LineHead {
  /** JSON text. */
  id: string;
  line: number;
  server: string | undefined;
  tool: string | undefined;
}

/** `earlierAttempts` counts those of the tries before. */
export function resultLine(
  head: LineHead,
  result: ToolResult,
  waitedMs: number,
  earlierAttempts = 0,
): string | SpilledLine {
  const { outcome, isError, timing } = result;
  const attempts = result.attempts + earlierAttempts;
  const before = `${begin(head, outcome, isError)},"result":`;
  const after = end(attempts, waitedMs + timing.queueMs, timing.callMs);
  const file = result.spilled;
  return file === undefined ? before + singleLine(result.raw) + after : { before, file, after };
}

/** A line of the results for a call that got no answer. */
export function errorLine(
  head: LineHead,
  error: { code: ErrorCode; message: string; outcome: Outcome },
  facts: { attempts: number; queueMs: number; callMs: number },
): string {
  const shown = JSON.stringify({ code: error.code, message: wellFormed(error.message) });
  return `${begin(head, error.outcome, true)},"error":${shown}${end(facts.attempts, facts.queueMs, facts.callMs)}`;
}

/** A line of a dry run, where nothing has been called. `note` says why the arguments could not be checked. */
export function checkedLine(
  head: LineHead,
  { error, note }: { error?: { code: ErrorCode; message: string }; note?: string } = {},
): string {
  const about = `{"id":${head.id},"line":${head.line}${names(head)},"valid":${error === undefined}`;
  if (error !== undefined) {
    return `${about},"error":${JSON.stringify({ code: error.code, message: wellFormed(error.message) })}}`;
  }
  return note === undefined ? `${about}}` : `${about},"note":${JSON.stringify(wellFormed(note))}}`;
}

/** How many times a failed call was handed to a server: as the error says, else as its outcome implies. */
export function attemptsOf(error: BulkheadError): number {
  const { attempts } = error.data;
  if (typeof attempts === 'number') return attempts;
  return error.outcome === 'rejected' || error.outcome === 'connection_lost' ? 0 : 1;
}

function begin(head: LineHead, outcome: Outcome, isError: boolean): string {
  return `{"id":${head.id},"line":${head.line}${names(head)},"outcome":"${outcome}","isError":${isError}`;
}

/** What stands behind the line number in the lines of one server and tool, made once while they follow each other. */
let last = { server: undefined as string | undefined, tool: undefined as string | undefined, text: '' };

function names({ server, tool }: LineHead): string {
  if (last.text === '' || last.server !== server || last.tool !== tool) {
    last = { server, tool, text: `,"server":${name(server)},"tool":${name(tool)}` };
  }
  return last.text;
}

function end(attempts: number, queueMs: number, callMs: number): string {
  return `,"attempts":${attempts},"timing":{"queueMs":${micro(queueMs)},"callMs":${micro(callMs)}}}`;
}

function name(text: string | undefined): string {
  return text === undefined ? 'null' : JSON.stringify(wellFormed(text));
}

/** Whole microseconds: more digits are noise. */
function micro(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}
