/** What the whole fleet may do at once at a server: places in flight that a chunk holds, and calls a second. */
import type { BatchPlan, Ledger } from '../ledger.js';
import { cleanServer } from '../queue-names.js';

/** Calls that are asked for at once: those of this time. */
const GROUP_SECONDS = 0.05;

/** Places of one chunk; renewed until they are released. */
export interface Places {
  readonly owner: string;
  readonly server: string;
  readonly limit: number;
  /** As many calls the chunk was given to have in flight. */
  readonly granted: number;
  /** As many it has now: fewer after a pause in which others took them. */
  held: number;
}

export class FleetPlaces {
  readonly #ledger: Ledger;
  readonly #ttlMs: number;
  readonly #all = new Set<Places>();

  /** @param ttlMs How long places outlive a worker that is gone. */
  constructor(ledger: Ledger, ttlMs: number) {
    this.#ledger = ledger;
    this.#ttlMs = ttlMs;
  }

  /** Undefined: none is free. */
  async take(
    server: string,
    owner: string,
    { want, limit }: { want: number; limit: number },
  ): Promise<Places | undefined> {
    const granted = await this.#ledger.places(nameOf(server), owner, want, limit, this.#ttlMs);
    if (granted === 0) return undefined;
    const places: Places = { owner, server, limit, granted, held: granted };
    this.#all.add(places);
    return places;
  }

  async renew(): Promise<void> {
    for (const places of this.#all) {
      const { server, owner, granted, limit } = places;
      const held = await this.#ledger.places(nameOf(server), owner, granted, limit, this.#ttlMs);
      if (this.#all.has(places)) places.held = held;
      else await this.#ledger.release(nameOf(server), owner); // released meanwhile, and taken again just now
    }
  }

  async release(places: Places): Promise<void> {
    this.#all.delete(places);
    await this.#ledger.release(nameOf(places.server), places.owner);
  }
}

export interface FleetRate {
  name: string;
  perSecond: number;
  /** Calls to ask for at once, at most. */
  group: number;
}

export function rateOf(plan: BatchPlan, server: string): FleetRate | undefined {
  const perSecond = settingOf(plan.rates, server);
  if (perSecond === undefined) return undefined;
  return { name: nameOf(server), perSecond, group: Math.max(1, Math.floor(perSecond * GROUP_SECONDS)) };
}

/** The setting of a server, by its name as it is written or as queues name it, or of every other one. */
export function settingOf(settings: Record<string, number>, server: string): number | undefined {
  const named = Object.entries(settings).find(
    ([name]) => name !== '*' && (name === server || cleanServer(name) === cleanServer(server)),
  );
  return named?.[1] ?? settings['*'];
}

function nameOf(server: string): string {
  return cleanServer(server);
}
