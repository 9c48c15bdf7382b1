/**
 * One run of a command hook: a shell in a process group of its own, JSON on its stdin, its exit code and output as the
 * verdict. The verdict never waits for the cleaning up; that is given to `track` and awaited when the hooks close.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { childEnvironment } from '../../config/environment.js';
import { answerOfText, failed, type HookVerdict, OUTPUT_MAX_BYTES, reasonText } from './answer.js';
import type { HookEvent } from './event.js';
import { endGroup, watchGroup } from './process-group.js';

/** After `exit`, how long the rest of the output may take: a background process can hold the pipe for ever. */
const OUTPUT_GRACE_MS = 100;
/** By convention of the hosts that have such hooks: "block, and stderr says why". */
const BLOCK_EXIT_CODE = 2;

export interface CommandAction {
  readonly type: 'command';
  /** A line for the shell. */
  readonly command: string;
  /** Merged over the allow-listed variables of the host; null removes one. */
  readonly env: ReadonlyMap<string, string | null>;
}

export interface CommandSetting {
  event: HookEvent;
  session: string;
  cwd: string;
  /** Variables of the host. */
  host: ReadonlyMap<string, string>;
  /** Takes the end of everything that the command started. */
  track: (cleanup: Promise<void>) => void;
}

/** Never rejects. `signal` aborts with a reason whose message finishes the sentence "it …". */
export function runCommand(
  action: CommandAction,
  payload: string,
  setting: CommandSetting,
  signal: AbortSignal,
): Promise<HookVerdict> {
  let child: ChildProcess;
  try {
    child = spawn(action.command, {
      shell: true,
      cwd: setting.cwd,
      env: environment(action, setting),
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: process.platform !== 'win32',
      windowsHide: true,
    });
  } catch (error) {
    return Promise.resolve(failed(`it could not be started: ${messageOf(error)}`));
  }
  return follow(child, payload, setting, signal);
}

async function follow(
  child: ChildProcess,
  payload: string,
  { event, track }: CommandSetting,
  signal: AbortSignal,
): Promise<HookVerdict> {
  // What an observer prints interests nobody, so it may print as much as it likes.
  const observes = event === 'PostToolUse';
  const flooded = new AbortController();
  const stdout = collect(child.stdout, () => !observes && flooded.abort());
  const stderr = collect(child.stderr, () => {});
  // A hook need not read its input, and may leave before it is written.
  child.stdin?.on('error', () => {});
  child.stdin?.end(payload);

  const exited = new Promise<HookVerdict | undefined>((resolve) => {
    child.once('error', (error) => resolve(failed(`it could not be started: ${error.message}`)));
    child.once('exit', () => resolve(undefined));
  });
  const pid = watchGroup(child);
  const stopped = Promise.race([aborted(signal), aborted(flooded.signal)]);
  const early = await Promise.race([exited, stopped.then(() => 'stopped' as const)]);
  if (early === undefined) await outputEnd(child.stdout, child.stderr);
  for (const stream of child.stdio) stream?.destroy();
  if (pid !== undefined) track(endGroup(pid, exited));

  if (flooded.signal.aborted) return failed(`it printed more than ${OUTPUT_MAX_BYTES} bytes and was stopped`);
  if (early === 'stopped') return failed(`it ${messageOf(signal.reason)}`);
  if (early !== undefined) return early;
  return verdictOf(event, child, stdout(), stderr());
}

function verdictOf(event: HookEvent, child: ChildProcess, stdout: string, stderr: string): HookVerdict {
  const { exitCode, signalCode } = child;
  if (exitCode === 0) return event === 'PostToolUse' ? answerOfText(event, '') : answerOfText(event, stdout);
  const said = reasonText(stderr);
  if (exitCode === BLOCK_EXIT_CODE && event === 'PreToolUse') {
    const reason = said === '' ? {} : { reason: said };
    return { kind: 'answer', answer: { decision: 'block', ...reason } };
  }
  const end = exitCode === null ? `was ended by ${signalCode}` : `ended with exit code ${exitCode}`;
  return failed(said === '' ? `it ${end}` : `it ${end}: ${said}`);
}

/** The host's secrets stay with the host, as with servers. */
function environment(
  { env }: CommandAction,
  { event, session, cwd, host }: CommandSetting,
): Record<string, string> {
  const own = new Map<string, string | null>([
    ['BULKHEAD_HOOK_EVENT', event],
    ['BULKHEAD_SESSION', session],
    ['BULKHEAD_PROJECT_DIR', cwd],
    ...env,
  ]);
  return Object.fromEntries(childEnvironment({ host, platform: process.platform, own }));
}

/** Reads a stream to its end and keeps its first bytes. */
function collect(stream: Readable | null, onTooMuch: () => void): () => string {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream?.on('error', () => {});
  stream?.on('data', (chunk: Buffer) => {
    if (bytes > OUTPUT_MAX_BYTES) return;
    bytes += chunk.byteLength;
    chunks.push(chunk);
    if (bytes > OUTPUT_MAX_BYTES) onTooMuch();
  });
  return () => Buffer.concat(chunks).subarray(0, OUTPUT_MAX_BYTES).toString();
}

async function outputEnd(...streams: (Readable | null)[]): Promise<void> {
  const open = streams.filter((stream) => stream !== null && !stream.closed);
  if (open.length === 0) return;
  await new Promise<void>((resolve) => {
    let left = open.length;
    const timer = setTimeout(resolve, OUTPUT_GRACE_MS);
    for (const stream of open) {
      stream?.once('close', () => {
        if (--left > 0) return;
        clearTimeout(timer);
        resolve();
      });
    }
  });
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
