/**
 * The permission gate: modes, rules and remembered answers decide about a call, and a person where they do not. Two
 * calls in flight are two questions; an answer for the session counts from the next call on.
 */
import { onlyReads } from './capabilities.js';
import { checkRules, decidingRule, type Rule, ruleText } from './permission-rules.js';
import { askPerson, nameOf, type OnAsk } from './question.js';
import { RememberedAnswers } from './remembered.js';
import type { Gate, GateDecision, GateRequest } from './tool.js';

/**
 * What happens to calls that no rule and no remembered answer speaks of.
 * - `default`: they are asked about, but for local tools that only read.
 * - `acceptReads`: tools that certainly only read pass as well.
 * - `plan`: tools that certainly only read pass; what writes or is not known to read is denied, whatever `allow` rules
 *   and remembered answers say; reading over the network is asked about.
 * - `bypass`: everything passes but what a `deny` rule or a remembered no forbids.
 */
export type PermissionMode = 'default' | 'acceptReads' | 'plan' | 'bypass';

/** What decides about calls: a mode, rules, and a person. */
export interface PermissionOptions {
  /** Default `default`. */
  mode?: PermissionMode;
  /** Default none. @see Rule for which of them decides. */
  rules?: readonly Rule[];
  /** Asks a person. Without it whatever would be asked is denied. */
  onAsk?: OnAsk;
  /**
   * File of the answers that hold for good; `false` for none. Default
   * `$XDG_STATE_HOME/bulkhead/approvals/permissions.json`.
   */
  file?: string | false;
  /** Told when that file cannot be used. */
  onWarning?: (message: string) => void;
}

export class Permissions implements Gate {
  mode: PermissionMode;
  #rules: readonly Rule[];
  readonly #onAsk: OnAsk | undefined;
  readonly #answers: RememberedAnswers;
  readonly #warn: (message: string) => void;

  private constructor(options: PermissionOptions, answers: RememberedAnswers) {
    this.mode = options.mode ?? 'default';
    this.#rules = options.rules ?? [];
    this.#onAsk = options.onAsk;
    this.#warn = options.onWarning ?? (() => {});
    this.#answers = answers;
  }

  /** @throws {BulkheadError} `BAD_INPUT` for a rule that could mean more than its author thinks. */
  static async open(options: PermissionOptions = {}): Promise<Permissions> {
    checkRules(options.rules ?? []);
    const answers = await RememberedAnswers.open(options.onWarning ?? (() => {}), options.file);
    return new Permissions(options, answers);
  }

  /** The rules as they stand. */
  get rules(): readonly Rule[] {
    return this.#rules;
  }

  /** Holds from the next call on. @throws {BulkheadError} `BAD_INPUT` as in {@link Permissions.open}. */
  setRules(rules: readonly Rule[]): void {
    checkRules(rules);
    this.#rules = [...rules];
  }

  /** Forgets the answers that were given for this session. */
  endSession(): void {
    this.#answers.endSession();
  }

  /** Decides by mode and rules, then by a remembered answer, then by asking. */
  async check(request: GateRequest): Promise<GateDecision> {
    const { capabilities, identity } = request;
    const what = nameOf(request);
    const denying = decidingRule(this.#rules, 'deny', request);
    if (denying !== undefined) return no(`${what}: the rule "${ruleText(denying)}" forbids it`);
    const answer = this.#answers.find(request);
    if (answer?.allow === false) return no(`${what}: a person refused it for later calls too`);

    if (this.mode === 'bypass') return YES;
    const reads = onlyReads(capabilities);
    if (this.mode === 'plan') {
      if (reads) return YES;
      const more = [...capabilities].filter(
        (capability) => capability !== 'read' && capability !== 'network',
      );
      if (more.length > 0) {
        return no(
          `${what}: mode "plan" takes only what is certain to read, and this may be: ${more.join(', ')}`,
        );
      }
    }
    if (answer?.allow === true) return YES;
    const asking = decidingRule(this.#rules, 'ask', request);
    if (asking === undefined) {
      if (decidingRule(this.#rules, 'allow', request) !== undefined) return YES;
      if (reads && (this.mode === 'acceptReads' || identity.kind === 'local')) return YES;
    }
    const because = asking === undefined ? `mode "${this.mode}"` : `the rule "${ruleText(asking)}"`;
    return this.#ask(request, `${what} (${[...capabilities].join(', ')}): ${because} asks about it`);
  }

  async #ask(request: GateRequest, reason: string): Promise<GateDecision> {
    const { decision, remember } = await askPerson(this.#onAsk, 'permission', request, reason);
    if (remember !== undefined) {
      try {
        await this.#answers.remember(request, decision.allow, remember);
      } catch (error) {
        this.#warn((error as Error).message); // the answer itself stands
      }
    }
    return decision;
  }
}

const YES: GateDecision = { allow: true };

function no(reason: string): GateDecision {
  return { allow: false, reason };
}
