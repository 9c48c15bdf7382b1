/**
 * Pinned tool definitions: what a tool said of itself when it was first seen is remembered, and a later change is flagged
 * before the tool is used again (a server that behaves until it is trusted). An update of an honest server looks the
 * same, so a person decides; `accept()` pins the new definition.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { ToolDefinition } from '@bulkhead/workers';
import type { RuntimeApi } from '../api.js';
import { approvalsDir } from '../places.js';
import { type Members, memberOf, membersOf, StateFile } from '../state-file.js';
import { subjectOf } from './permission-rules.js';
import { askPerson, nameOf, type OnAsk } from './question.js';
import type { Gate, GateDecision, GateRequest } from './tool.js';

/** The parts that a model reads or a host relies on. */
const PARTS = ['title', 'description', 'inputSchema', 'annotations'] as const;
type Part = (typeof PARTS)[number];

/** Launches of one server that are remembered; older ones are forgotten. */
const MAX_LAUNCHES = 8;

/** A tool whose definition is no longer the one that was pinned. */
export interface PinChange {
  readonly server: string;
  /** Raw name. */
  readonly tool: string;
  /** What differs from the pinned definition. */
  readonly parts: readonly Part[];
}

/** What happens when a pinned tool changes, and where pins are kept. */
export interface PinOptions {
  /** What happens to calls of a changed tool: a person is asked, they are denied, or they pass. Default `ask`. */
  onChanged?: 'ask' | 'block' | 'warn';
  onAsk?: OnAsk;
  /** Told once for every new definition of a pinned tool. */
  onFlag?: (change: PinChange) => void;
  /** Default `$XDG_STATE_HOME/bulkhead/approvals/tools.json`; `false` remembers for this process only. */
  file?: string | false;
  /** Told when that file cannot be used. */
  onWarning?: (message: string) => void;
}

interface Changed {
  readonly change: PinChange;
  readonly fingerprint: string;
  readonly definition: ToolDefinition;
  readonly hash: string;
}

export class Pins implements Gate {
  readonly #options: PinOptions;
  readonly #file: StateFile | undefined;
  /** Members on the way to a pin: server, fingerprint of its launch, tool, part. */
  #pins: Members = new Map();
  readonly #changed = new Map<string, Map<string, Changed>>();
  /** Accepted for this process: server, tool, hash. */
  readonly #accepted = new Map<string, Map<string, string>>();

  private constructor(options: PinOptions) {
    this.#options = options;
    const { file = join(approvalsDir(), 'tools.json') } = options;
    this.#file = file === false ? undefined : new StateFile(file, (message) => this.#warn(message));
  }

  /** Reads the remembered pins; a file that cannot be used counts as empty and is told to `onWarning`. */
  static async open(options: PinOptions = {}): Promise<Pins> {
    const pins = new Pins(options);
    if (pins.#file !== undefined) pins.#pins = memberOf(await pins.#file.read(), 'servers');
    return pins;
  }

  /** Reviews the tools of every server of a runtime now and whenever a list changes. Gives the end of it. */
  watch(runtime: Pick<RuntimeApi, 'servers' | 'server' | 'on' | 'off'>): () => void {
    const look = (name: string) => {
      const { trust, tools } = runtime.server(name);
      if (trust !== undefined) void this.review(name, trust.fingerprint, tools);
    };
    const changed = ({ server, count }: { server: string; count: number }) => {
      if (count > 0) look(server);
    };
    for (const { name } of runtime.servers()) look(name);
    runtime.on('tools', changed);
    return () => void runtime.off('tools', changed);
  }

  /**
   * Pins tools at first sight and flags those that differ from their pins. What is flagged is known when this returns;
   * the promise is for the file.
   * @param fingerprint of the server's launch: another launch of the same name has pins of its own.
   */
  async review(server: string, fingerprint: string, tools: readonly ToolDefinition[]): Promise<void> {
    const fresh = tools.filter((tool) => !this.#look(server, fingerprint, tool));
    if (fresh.length > 0) await this.#keep(server, fingerprint, fresh);
  }

  /** The tool's definition differs from its pin, and nobody has accepted that. */
  isChanged(server: string, tool: string): boolean {
    return this.#changed.get(server)?.has(tool) ?? false;
  }

  /** Tools that differ from their pins at this moment. */
  changes(): readonly PinChange[] {
    return [...this.#changed.values()].flatMap((tools) => [...tools.values()].map(({ change }) => change));
  }

  /** Pins the definition that was flagged. Does nothing for a tool that is not flagged. */
  async accept(server: string, tool: string): Promise<void> {
    const changed = this.#changed.get(server)?.get(tool);
    if (changed !== undefined) await this.#accept(changed, 'always');
  }

  /** Asks about, denies or passes calls of changed tools, as `onChanged` says. */
  async check(request: GateRequest): Promise<GateDecision> {
    const { identity, definition, origin } = request;
    if (identity.kind === 'local' || subjectOf(request).kind !== 'tool') return { allow: true };
    const { server, tool } = identity;
    const { onChanged = 'ask', onAsk } = this.#options;
    if (definition === undefined || origin === undefined) {
      if (onChanged === 'warn') return { allow: true };
      const reason = `the definition of ${nameOf(request)} is not known, so nobody can say whether it changed`;
      if (onChanged === 'block') return { allow: false, reason: `${reason}; wait until the server is ready` };
      return (await askPerson(onAsk, 'changed', request, reason)).decision;
    }
    await this.review(server, origin.fingerprint, [definition]);
    const changed = this.#changed.get(server)?.get(tool);
    if (changed === undefined || onChanged === 'warn') return { allow: true };
    const parts = changed.change.parts.join(', ');
    const reason = `${nameOf(request)} is not what it was: its ${parts} changed`;
    if (onChanged === 'block')
      return { allow: false, reason: `${reason}; accept the change to use it again` };
    const { decision, remember } = await askPerson(onAsk, 'changed', request, reason);
    // A no is asked about again: the change is still there.
    if (decision.allow && remember !== undefined) await this.#accept(changed, remember);
    return decision;
  }

  /** False for a tool without a pin. */
  #look(server: string, fingerprint: string, tool: ToolDefinition): boolean {
    const pin = membersOf(membersOf(membersOf(this.#pins.get(server))?.get(fingerprint))?.get(tool.name));
    if (pin === undefined) return false;
    const now = partsOf(tool);
    const parts = PARTS.filter((part) => pin.get(part) !== now.get(part));
    const hash = definitionHash(tool);
    const accepted = this.#accepted.get(server)?.get(tool.name) === hash;
    const flagged = this.#changed.get(server);
    if (parts.length === 0 || accepted) {
      flagged?.delete(tool.name);
      return true;
    }
    const before = flagged?.get(tool.name);
    if (before?.hash === hash) return true;
    const change: PinChange = { server, tool: tool.name, parts };
    const changed = flagged ?? new Map<string, Changed>();
    changed.set(tool.name, { change, fingerprint, definition: tool, hash });
    this.#changed.set(server, changed);
    this.#options.onFlag?.(change);
    return true;
  }

  async #accept(
    { change, fingerprint, definition, hash }: Changed,
    how: 'session' | 'always',
  ): Promise<void> {
    const { server, tool } = change;
    const accepted = this.#accepted.get(server) ?? new Map<string, string>();
    accepted.set(tool, hash);
    this.#accepted.set(server, accepted);
    // Only what was accepted: it may have changed once more while a person was asked.
    if (this.#changed.get(server)?.get(tool)?.hash === hash) this.#changed.get(server)?.delete(tool);
    if (how === 'always') await this.#keep(server, fingerprint, [definition]);
  }

  async #keep(server: string, fingerprint: string, tools: readonly ToolDefinition[]): Promise<void> {
    const put = (servers: Members) => {
      const launches = memberOf(servers, server);
      const pins = memberOf(launches, fingerprint);
      for (const tool of tools) pins.set(tool.name, partsOf(tool));
      // The launch that was seen last goes to the end.
      launches.delete(fingerprint);
      launches.set(fingerprint, pins);
      for (const launch of [...launches.keys()].slice(0, -MAX_LAUNCHES)) launches.delete(launch);
    };
    put(this.#pins);
    try {
      await this.#file?.update((members) => put(memberOf(members, 'servers')));
    } catch (error) {
      this.#warn((error as Error).message); // pinned for this process at least
    }
  }

  #warn(message: string): void {
    this.#options.onWarning?.(message);
  }
}

/** SHA-256 (hex) of a tool's definition, whatever the order of its members. */
export function definitionHash(tool: ToolDefinition): string {
  return digest([...partsOf(tool)]);
}

function partsOf(tool: ToolDefinition): Map<string, unknown> {
  return new Map(PARTS.map((part) => [part, digest(tool[part] ?? null)]));
}

function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value, sortMembers)).digest('hex');
}

function sortMembers(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}
