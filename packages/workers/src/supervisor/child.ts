/**
 * One server's life, as one loop in the order it happens: gate → start → ready → end → kill → backoff. There is one loop per
 * child, so a start and a stop can never overlap; commands only say what is wanted and wake the loop. How it stands is told
 * by `standing.ts`, thread and process are held by `generation.ts`; policy (restart, transitions, watchdog) is pure.
 */
import type { MessagePort } from 'node:worker_threads';
import { now, wait } from '../clock.js';
import type {
  Reason,
  ServerExit,
  ServerSpec,
  ServerState,
  ServerStatus,
  SupervisorNotice,
} from '../protocol.js';
import type { ChildContext } from './child-context.js';
import type { End, Failure } from './end.js';
import { Generation } from './generation.js';
import { becameReady, failed, initial, type RestartState, released } from './restart.js';
import { Standing } from './standing.js';
import { StderrLog } from './stderr-log.js';
import type { ServerThreadHandle } from './thread.js';

/** How often a draining server is looked at. */
const DRAIN_LOOK_MS = 20;
/** In these nothing of a server is there, or will be before somebody asks. */
const RESTING: readonly ServerState[] = ['stopped', 'disabled', 'needs-approval', 'needs-auth'];

const COMMAND: End = { by: 'command' };

export class Child {
  readonly slot: number;
  /** Resolves when it was removed and nothing of it is left. */
  readonly done: Promise<void>;
  readonly #context: ChildContext;
  readonly #log: StderrLog;
  readonly #standing: Standing;
  readonly #body: Generation;
  #spec: ServerSpec;
  #wanted: 'up' | 'down' = 'up';
  #removed = false;
  #restartAsked = false;
  /** Set while a person has to sign in first. */
  #authReason: Reason | undefined;
  #stopReason: Reason | undefined;
  #restart: RestartState = initial();
  #wake: () => void = () => {};
  #woken: Promise<void> = Promise.resolve();

  constructor(spec: ServerSpec, slot: number, context: ChildContext) {
    this.#spec = spec;
    this.slot = slot;
    this.#context = context;
    const logFile = `${fileNameOf(spec.name)}.log`;
    const secrets = () => this.#spec.secrets ?? [];
    this.#log = new StderrLog(context.logDir, logFile, spec.options.logMaxBytes, secrets);
    this.#standing = new Standing({ name: spec.name, slot }, context.board, context.tell);
    this.#body = new Generation(slot, context, this.#standing, this.#log, () => this.#spec);
    if (spec.lifecycle === 'lazy') this.#wanted = 'down';
    const remembered = context.catalogs.read(spec);
    if (remembered !== undefined) this.#standing.recall(remembered);
    this.#rearm();
    this.done = this.#live();
  }

  get name(): string {
    return this.#spec.name;
  }
  get spec(): ServerSpec {
    return this.#spec;
  }
  get state(): ServerState {
    return this.#standing.state;
  }
  get generation(): number {
    return this.#standing.generation;
  }
  get thread(): ServerThreadHandle | undefined {
    return this.#body.thread;
  }
  get lostThreads(): number {
    return this.#body.lostThreads;
  }

  // ── commands: each says what is wanted and wakes the loop ───────────────────────────────────────────────────────

  /** Starts a stopped server; tries at once one that waits in backoff or quarantine. */
  start(): void {
    const waiting = this.state === 'quarantined' || this.state === 'backoff' || this.state === 'needs-auth';
    if (this.#wanted === 'up' && !waiting) return;
    this.#wanted = 'up';
    this.#authReason = undefined;
    this.#stopReason = undefined;
    this.#restart = released(this.#restart);
    this.#wake();
  }

  /** `idle` stops may be undone by the next call, stops by hand may not. */
  async stop(kind: 'user' | 'idle' = 'user'): Promise<ServerExit> {
    this.#wanted = 'down';
    this.#stopReason =
      kind === 'user' ? { kind, message: 'stopped by hand' } : { kind, message: 'stopped after idleness' };
    this.#wake();
    await this.#standing.until(() => RESTING.includes(this.state));
    return this.exitReport();
  }

  /** Takes no new calls, lets those in flight end (at most `timeoutMs`), then stops. */
  async drain(timeoutMs: number): Promise<ServerExit> {
    if (this.state === 'ready') {
      this.#standing.move('draining');
      const until = now() + timeoutMs;
      const draining = () => this.state === 'draining' && now() < until;
      // The board is the only place where every agent's calls are counted; it has no event.
      while (draining() && this.#context.board.get(this.slot, 'inFlight') > 0) {
        await new Promise((resolve) => setTimeout(resolve, DRAIN_LOOK_MS));
      }
    }
    return this.stop();
  }

  /** A fresh generation: thread and process both. Also releases from quarantine. */
  restart(): void {
    this.#wanted = 'up';
    this.#authReason = undefined;
    this.#restart = released(this.#restart);
    this.#restartAsked = true;
    this.#wake();
  }

  /** Takes a changed spec; the running generation is replaced. */
  reconfigure(spec: ServerSpec): void {
    const asleep = this.#wanted === 'down' && spec.lifecycle === 'lazy';
    this.#spec = spec;
    if (!asleep) this.restart();
    else this.#wake();
  }

  setDisabled(disabled: boolean): void {
    if (this.#spec.disabled === disabled) return;
    this.#spec = { ...this.#spec, disabled };
    if (!disabled) this.#wanted = 'up';
    this.#wake();
  }

  /** Stops for good; `done` resolves when nothing of it is left (or it is lost). */
  remove(): void {
    this.#removed = true;
    this.#wanted = 'down';
    this.#wake();
  }

  /** No more grace: SIGKILL to the group now; the loop's ladder finds it gone. */
  killNow(): void {
    this.#body.process.killNow();
  }

  /** The watchdog's verdict on this generation. */
  declareDead(reason: Reason): void {
    this.#body.declareDead(reason);
  }

  warn(message: string): void {
    this.#standing.warn(message);
  }

  /** One more agent thread: its data port goes straight to the server thread. */
  addAgent(port: MessagePort, sent: SharedArrayBuffer): void {
    this.#body.addAgent(port, sent);
  }

  // ── reports ─────────────────────────────────────────────────────────────────────────────────────────────────────

  exitReport(): ServerExit {
    return { name: this.name, finalState: this.state, pids: this.#body.process.pids };
  }

  status(): ServerStatus {
    const { process, spawns, generation } = this.#body;
    return {
      name: this.name,
      ...this.#standing.status(),
      generation,
      transport: this.#spec.launch.type,
      spawns,
      restarts: Math.max(0, spawns - 1),
      logFile: this.#log.file,
      ...this.#figures(),
      ...(process.pid === undefined ? {} : { pid: process.pid }),
    };
  }

  #figures(): Pick<ServerStatus, 'skippedLines' | 'receivedBytes' | 'sentBytes' | 'loop'> {
    const { board } = this.#context;
    const figures = {
      skippedLines: board.get(this.slot, 'skipped'),
      receivedBytes: board.getWide(this.slot, 'received'),
      sentBytes: board.getWide(this.slot, 'sent'),
    };
    const use = this.#body.thread?.loopUse();
    if (use === undefined) return figures;
    const delayMs = board.get(this.slot, 'loopDelay') / 1_000;
    return { ...figures, loop: { activeMs: use.active, idleMs: use.idle, delayMs } };
  }

  /** What a newly attached agent must know. */
  introduce(tell: (notice: SupervisorNotice) => void): void {
    this.#standing.introduce(tell);
  }

  // ── the loop ────────────────────────────────────────────────────────────────────────────────────────────────────

  async #live(): Promise<void> {
    for (;;) {
      const rest = this.#restingState();
      if (rest !== undefined) {
        await this.#body.end('stopping');
        if (this.#removed) break;
        this.#standing.move(rest.state, rest.reason);
        await this.#woken;
        this.#rearm();
        continue;
      }
      if (this.#restartAsked) {
        this.#restartAsked = false;
        await this.#body.end('stopping');
      }
      const end = await this.#generate();
      if (end.by === 'command') continue;
      if (end.by === 'probe') {
        await this.#body.endProcess();
        continue;
      }
      await this.#recover(end);
    }
    this.#standing.move('stopped');
    await this.#log.close();
  }

  #restingState(): { state: ServerState; reason?: Reason } | undefined {
    if (this.#removed) return { state: 'stopped' };
    if (this.#spec.disabled) {
      return {
        state: 'disabled',
        reason: { kind: 'disabled', message: 'disabled in the configuration or by hand' },
      };
    }
    if (this.#authReason !== undefined) return { state: 'needs-auth', reason: this.#authReason };
    const held = this.#spec.held;
    if (held !== undefined) return { state: held.state, reason: { kind: held.state, message: held.reason } };
    if (this.#wanted === 'down') {
      return this.#stopReason === undefined
        ? { state: 'stopped' }
        : { state: 'stopped', reason: this.#stopReason };
    }
    return undefined;
  }

  /** From the gate to the end of one connection. Uses the living thread if there is one (reconnect). */
  async #generate(): Promise<End> {
    const abort = new AbortController();
    let release: (() => void) | undefined;
    if (this.#body.thread?.gone) await this.#body.end('stopping'); // it died while it waited for its next server
    const steps = (async (): Promise<End> => {
      release = await this.#context.gate.enter(this.#body.spawns === 0 ? 'first' : 'retry', abort.signal);
      if (abort.signal.aborted) return COMMAND;
      const holdTimer = setTimeout(() => release?.(), this.#context.options.gateHoldMs);
      try {
        return await this.#body.serve(
          () => release?.(),
          () => this.#ready(),
        );
      } finally {
        clearTimeout(holdTimer);
      }
    })();
    const end = await Promise.race([steps, this.#woken.then(() => COMMAND)]);
    if (end.by === 'command') {
      this.#rearm();
      abort.abort();
      await this.#body.end('stopping');
      await steps.catch(() => {}); // it ends because what it waits for was taken away
    }
    release?.();
    return end;
  }

  #ready(): void {
    this.#restart = becameReady(this.#restart, now());
    this.#standing.move('ready');
  }

  /** After a failure: clean up, then let the policy decide between backoff and quarantine. */
  async #recover(end: Failure): Promise<void> {
    this.#standing.because(end.reason);
    if (end.reason.kind === 'auth') {
      this.#authReason = end.reason;
      return;
    }
    const failedAt = now(); // before the ladder: the time of killing is not health
    if (end.threadHealthy) await this.#body.endProcess();
    else await this.#body.end('killing');
    const { state, decision } = failed(this.#restart, {
      now: failedAt,
      kind: end.reason.kind,
      ...(end.errno === undefined ? {} : { errno: end.errno }),
      beforeHandshake: end.beforeHandshake,
      random: this.#context.random(),
      options: this.#context.options,
    });
    this.#restart = state;
    const waitMs = decision.type === 'backoff' ? decision.waitMs : decision.trialMs;
    if (decision.type === 'quarantine') {
      await this.#body.end('killing');
      end.reason = { ...end.reason, message: `${end.reason.message} (${decision.reason})` };
    }
    this.#standing.nextTryAt = now() + waitMs;
    this.#standing.move(decision.type === 'backoff' ? 'backoff' : 'quarantined', end.reason);
    const woken = new AbortController();
    await Promise.race([wait(waitMs, woken.signal), this.#woken]);
    woken.abort();
    this.#standing.nextTryAt = undefined;
    this.#rearm();
  }

  /** A fresh `#woken`; commands that came before it are seen by the loop's next look at what is wanted. */
  #rearm(): void {
    this.#woken = new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

/** Server names are foreign: what is not plain becomes `_`, so that a log file never leaves its directory. */
function fileNameOf(name: string): string {
  return (
    name
      .replaceAll(/[^A-Za-z0-9._-]/g, '_')
      .replace(/^\.+/, '_')
      .slice(0, 100) || '_'
  );
}
