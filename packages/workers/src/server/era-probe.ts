/**
 * Which era a server speaks, found by asking `server/discover` on the connection that is then used. Only positive
 * evidence makes a server modern; silence and every other error make it legacy. A login wall, a failing gateway or a
 * broken network are no evidence at all and end the start with their own reason.
 */
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { BulkheadError } from '../errors.js';
import type { HandlerSet } from '../protocol.js';

/** Revisions of the stateless era that this client speaks, newest first. */
export const modernVersions: readonly string[] = ['2026-07-28'];
export const newestModern = '2026-07-28';

/** How long a server may take to answer the probe: a legacy one may ignore it. */
export const PROBE_LIMIT_MS = 2_500;
const UNSUPPORTED_VERSION = -32022;

/** What came of one `server/discover`. */
export type ProbeOutcome =
  | { kind: 'result'; result: Record<string, unknown> }
  | { kind: 'error'; code: number; message: string; data?: unknown }
  /** HTTP refused the request itself. */
  | { kind: 'http'; status: number; message: string; body?: string }
  | { kind: 'network'; message: string }
  | { kind: 'closed' }
  | { kind: 'timeout' };

export type Verdict =
  | { kind: 'modern'; version: string; discover: Record<string, unknown> }
  /** The server named a version that both speak: ask once more with it. */
  | { kind: 'again'; version: string }
  | { kind: 'legacy' }
  /** Not era evidence, or no common version: the start fails with this. */
  | { kind: 'failed'; reason: string; message: string };

/** Pure. */
export function readVerdict(outcome: ProbeOutcome): Verdict {
  switch (outcome.kind) {
    case 'result': {
      const { supportedVersions } = outcome.result;
      const version = Array.isArray(supportedVersions) ? mutualModern(supportedVersions) : undefined;
      if (version === undefined) return { kind: 'legacy' };
      return { kind: 'modern', version, discover: outcome.result };
    }
    case 'error':
      return readError(outcome);
    case 'http': {
      const { status, message, body } = outcome;
      if (status === 401 || status === 403) return { kind: 'failed', reason: 'auth', message };
      if (status < 400 || status >= 500) return { kind: 'failed', reason: 'http', message };
      const error = errorIn(body);
      return error === undefined ? { kind: 'legacy' } : readError(error);
    }
    case 'network':
      return { kind: 'failed', reason: 'network', message: outcome.message };
    case 'closed':
      return {
        kind: 'failed',
        reason: 'probe-exit',
        message: 'the server ended when it was asked which protocol it speaks (server/discover)',
      };
    case 'timeout':
      return { kind: 'legacy' };
    default:
      return outcome satisfies never;
  }
}

function readError({ code, data }: { code: number; data?: unknown }): Verdict {
  const supported = code === UNSUPPORTED_VERSION ? versionsIn(data) : [];
  const version = mutualModern(supported);
  if (version !== undefined) return { kind: 'again', version };
  if (supported.length === 0 || supported.some(isLegacyVersion)) return { kind: 'legacy' };
  return {
    kind: 'failed',
    reason: 'protocol-version',
    message: `the server speaks ${supported.join(', ')}, this client ${modernVersions.join(', ')} and older ones`,
  };
}

export function mutualModern(versions: readonly unknown[]): string | undefined {
  return modernVersions.find((version) => versions.includes(version));
}

/** `data.supported` of an error about versions; empty when it names none. */
export function versionsIn(data: unknown): string[] {
  const supported =
    typeof data === 'object' && data !== null ? (data as { supported?: unknown }).supported : undefined;
  return Array.isArray(supported) ? supported.filter((version) => typeof version === 'string') : [];
}

/** Revisions are dates, and text compares them. */
function isLegacyVersion(version: string): boolean {
  return version < newestModern;
}

function errorIn(body: string | undefined): { code: number; data?: unknown } | undefined {
  try {
    const { error } = JSON.parse(body ?? '') as { error?: { code?: unknown; data?: unknown } };
    return typeof error?.code === 'number' ? { code: error.code, data: error.data } : undefined;
  } catch {
    return undefined;
  }
}

/** Only what somebody answers is declared. */
export function modernCapabilities({ sampling, elicitation, roots }: HandlerSet) {
  return {
    ...(sampling && { sampling: {} }),
    ...(elicitation && { elicitation: { form: {}, url: {} } }),
    ...(roots && { roots: {} }),
  };
}

/** The `_meta` members of every request of this era. */
export function envelope(
  version: string,
  clientInfo: Record<string, unknown>,
  capabilities: Record<string, unknown>,
): Record<string, unknown> {
  return {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientInfo': clientInfo,
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  };
}

/**
 * Asks in place; the transport is started and stays open. A late answer meets nobody.
 * @throws {BulkheadError} `START_FAILED` with `data.kind` `probe-exit`, `auth`, `http`, `network`, `protocol-version`.
 */
export async function probeEra(
  transport: Transport,
  meta: (version: string) => Record<string, unknown>,
  timeoutMs: number,
): Promise<Extract<Verdict, { kind: 'modern' | 'legacy' }>> {
  let version = newestModern;
  for (let round = 1; ; round++) {
    const outcome = await discover(transport, `era-probe-${round}`, meta(version), timeoutMs);
    const verdict = readVerdict(outcome);
    switch (verdict.kind) {
      case 'modern':
      case 'legacy':
        return verdict;
      case 'again':
        if (round === 1) {
          version = verdict.version;
          break;
        }
        throw failure('protocol-version', `the server names ${verdict.version} and then refuses it`);
      case 'failed':
        throw failure(verdict.reason, verdict.message);
      default:
        verdict satisfies never;
    }
  }
}

function failure(kind: string, message: string): BulkheadError {
  return new BulkheadError('START_FAILED', message, { data: { kind, step: 'server/discover' } });
}

async function discover(
  transport: Transport,
  id: string,
  meta: Record<string, unknown>,
  timeoutMs: number,
): Promise<ProbeOutcome> {
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise<ProbeOutcome>((resolve) => {
      timer = setTimeout(() => resolve({ kind: 'timeout' }), timeoutMs);
      transport.onclose = () => resolve({ kind: 'closed' });
      transport.onmessage = (message: JSONRPCMessage) => {
        if ('method' in message) {
          // A server that pings before it is spoken to must not wait for its pong.
          if ('id' in message && message.method === 'ping')
            void transport.send({ jsonrpc: '2.0', id: message.id, result: {} }).catch(() => {});
          return;
        }
        if (message.id !== id) return;
        if ('result' in message) resolve({ kind: 'result', result: message.result });
        else if ('error' in message) resolve({ kind: 'error', ...message.error });
      };
      const request = { jsonrpc: '2.0' as const, id, method: 'server/discover', params: { _meta: meta } };
      transport
        .start()
        .then(() => transport.send(request))
        .catch((error: unknown) => resolve(sendFailure(error)));
    });
  } finally {
    clearTimeout(timer);
    transport.onclose = undefined;
    transport.onmessage = undefined;
  }
}

/** Transports tell an HTTP status as the error's numeric `code` or `status`. */
function sendFailure(error: unknown): ProbeOutcome {
  const { code, status, body, text } = error as {
    code?: unknown;
    status?: unknown;
    body?: unknown;
    text?: unknown;
  };
  const message = error instanceof Error ? error.message : String(error);
  const found = [status, code].find((value) => typeof value === 'number' && value >= 100 && value < 600);
  if (found === undefined) return { kind: 'network', message };
  const answer = [body, text].find((value) => typeof value === 'string') as string | undefined;
  return { kind: 'http', status: found as number, message, ...(answer !== undefined && { body: answer }) };
}
