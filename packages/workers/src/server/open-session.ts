/**
 * From a fresh connection to an open session: asks for the era where it is not known, and corrects it once when a
 * server that was taken for legacy refuses `initialize` as such.
 */
import { BulkheadError } from '../errors.js';
import type { HandlerSet, OpenAs, ServerCatalog } from '../protocol.js';
import { envelope, modernCapabilities, newestModern, PROBE_LIMIT_MS, probeEra } from './era-probe.js';
import type { Session } from './session.js';
import { ModernSession } from './session-modern.js';
import type { WireTransport } from './transport.js';

export interface SessionOptions {
  clientInfo: { name: string; version: string; title?: string };
  handlers: HandlerSet;
  openAs: OpenAs;
  timeoutMs: number;
  now: () => number;
  /** Called for each session before it is opened: the place for its handlers. */
  adopt: (session: Session) => void;
}

/** @throws {BulkheadError} `START_TIMEOUT`, `START_FAILED` with `data.kind`. */
export async function openSession(
  transport: WireTransport,
  options: SessionOptions,
): Promise<{ session: Session; catalog: ServerCatalog }> {
  const { clientInfo, handlers, adopt } = options;
  const openAs = options.openAs === 'auto' && transport.legacyOnly === true ? 'legacy' : options.openAs;
  const deadlineAt = options.now() + options.timeoutMs;
  const left = () => Math.max(1, deadlineAt - options.now());
  const capabilities = modernCapabilities(handlers);
  const probe = (limitMs: number) => {
    transport.setEra?.('modern');
    return probeEra(transport, (version) => envelope(version, clientInfo, capabilities), limitMs);
  };
  const openModern = async (discover: Record<string, unknown>) => {
    const session = new ModernSession(transport, clientInfo, handlers, discover);
    adopt(session);
    return { session, catalog: await session.open(left()) };
  };

  if (openAs === 'auto' || openAs === newestModern) {
    // A short start-up time leaves at least its second half to `initialize`.
    const limitMs = openAs === 'auto' ? Math.min(PROBE_LIMIT_MS, left() / 2) : left();
    const verdict = await probe(limitMs);
    if (verdict.kind === 'modern') return openModern(verdict.discover);
    if (openAs !== 'auto') {
      throw new BulkheadError(
        'START_FAILED',
        `the server does not speak ${openAs}, which its entry asks for; remove \`protocol\` or set it to "auto"`,
        { data: { kind: 'protocol-version', step: 'server/discover' } },
      );
    }
  }
  transport.setEra?.('legacy');
  // The SDK weighs more than everything else in this thread; the later era does without it.
  const { LegacySession } = await import('./session-legacy.js');
  const session = new LegacySession(transport, clientInfo, handlers);
  adopt(session);
  try {
    return { session, catalog: await session.open(left()) };
  } catch (error) {
    if (openAs === 'legacy' || session.modernOnly === undefined) throw error;
    const verdict = await probe(left());
    if (verdict.kind === 'modern') return openModern(verdict.discover);
    throw error;
  }
}
