/**
 * What a confidential server said stays with it unless a person consents: its results taint the turn, and arguments that
 * may carry them elsewhere are asked about, naming both sides. What a model makes of a text cannot be followed, so every
 * argument of a tainted turn counts.
 */
import { askPerson, nameOf, type OnAsk } from './question.js';
import type { Gate, GateDecision, GateRequest } from './tool.js';

/** Who decides when what a confidential server said is about to go to another server. */
export interface DataFlowOptions {
  /** Without it every such call is denied. */
  onAsk?: OnAsk;
}

export class DataFlow implements Gate {
  readonly #onAsk: OnAsk | undefined;
  readonly #sources = new Set<string>();
  /** Consent for the session: confidential server to where its words may go. */
  readonly #consented = new Map<string, Set<string>>();

  /** @param options without `onAsk`, whatever would be asked is denied */
  constructor(options: DataFlowOptions = {}) {
    this.#onAsk = options.onAsk;
  }

  /** Confidential servers whose results are in the conversation. */
  get sources(): readonly string[] {
    return [...this.#sources];
  }

  /** The conversation starts afresh: nothing of what was said before is in it. Consent for the session stays. */
  clear(): void {
    this.#sources.clear();
  }

  /** Asks or denies when a confidential server's words are in the conversation and the call goes to another server. */
  async check(request: GateRequest): Promise<GateDecision> {
    const target = targetOf(request);
    const carries = Object.keys(request.args).length > 0;
    const open = [...this.#sources].filter((source) => !this.#consented.get(source)?.has(target));
    const concerned = carries ? open.filter((source) => leaves(request, source)) : [];
    if (concerned.length === 0) return { allow: true };
    const from = concerned.map((source) => `"${source}"`).join(' and ');
    const reason = `results of the confidential server ${from} may leave it in the arguments to ${nameOf(request)}`;
    const { decision, remember } = await askPerson(this.#onAsk, 'data-flow', request, reason);
    if (decision.allow && remember !== undefined) {
      for (const source of concerned) {
        const targets = this.#consented.get(source) ?? new Set();
        this.#consented.set(source, targets.add(target));
      }
    }
    return decision;
  }

  ended({ identity, origin }: GateRequest, outcome: string): void {
    // Whatever was sent may have been answered, in progress or in an error's text too.
    const unsent = outcome === 'rejected' || outcome === 'connection_lost';
    if (identity.kind === 'mcp' && origin?.confidential === true && !unsent)
      this.#sources.add(identity.server);
  }
}

/** Consent to one server is none to another, and none to the host's own tools. */
function targetOf({ identity }: GateRequest): string {
  return identity.kind === 'local' ? `local ${identity.tool}` : `server ${identity.server}`;
}

/** Whether arguments of the call may carry what `source` said to somebody who does not have it. */
function leaves({ identity, capabilities }: GateRequest, source: string): boolean {
  if (identity.kind === 'local') return capabilities.has('network') || capabilities.has('unknown');
  if (identity.server !== source) return true;
  // Its own tools may have its words, unless they send them on.
  return capabilities.has('network') && capabilities.has('write');
}
