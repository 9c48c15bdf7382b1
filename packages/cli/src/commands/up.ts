/** `bulkhead up`: servers that stay, for all commands in this directory to use. */
import {
  ControlClient,
  type ControlEntry,
  checkName,
  configSource,
  isUnsent,
  readEntry,
} from '@bulkhead/runtime/control/client';
import { BulkheadError } from '@bulkhead/workers/errors';
import { type CommonOptions, type Context, time } from '../context.js';
import { exitCode } from '../exit-codes.js';
import type { RecordOptions } from '../record-options.js';
import { recordsOf } from '../records.js';
import { startDetached } from '../resident/detach.js';
import { ownName } from '../resident/find-resident.js';
import { LiveConfig } from '../resident/live-config.js';
import { type ServeOptions, serve } from '../resident/serve.js';

export interface UpOptions extends CommonOptions, RecordOptions {
  detach?: boolean;
  name?: string;
  idle?: string;
}

const RECORD_FLAGS = [
  ['--audit', 'audit'],
  ['--audit-args', 'auditArgs'],
  ['--log-level', 'logLevel'],
  ['--log-file', 'logFile'],
  ['--log-format', 'logFormat'],
  ['--metrics-port', 'metricsPort'],
] as const;

/** A resident that is up answers at once. */
const ANSWER_MS = 2_000;

type UpFacts = Parameters<ServeOptions['onUp']>[0];

export async function up(options: UpOptions, context: Context): Promise<number> {
  const idleMs = time('--idle', options.idle);
  const records = await recordsOf(options);
  const source = configSource(options.config);
  const name = checkName(options.name ?? ownName(source));
  const known = await living(name);
  if (options.detach === true) {
    if (known === undefined) return detach(name, options, context);
    context.output.note(`resident "${name}" is up already (process ${known.pid})`);
    return exitCode.ok;
  }
  if (known !== undefined) throw isUp(name, known.pid);
  const live = await LiveConfig.open(source, options, context);
  await serve(live, { name, idleMs, records, onUp: (facts) => tell(facts, context) }, context);
  return exitCode.ok;
}

/** The resident of that name, unless only its entry is left. */
async function living(name: string): Promise<ControlEntry | undefined> {
  const entry = readEntry(name);
  if (entry === undefined) return undefined;
  return new ControlClient(entry).health(ANSWER_MS).then(
    () => entry,
    (error: unknown) => (isUnsent(error) ? undefined : entry),
  );
}

async function detach(name: string, options: UpOptions, context: Context): Promise<number> {
  const { output } = context;
  const args = ['up', '--name', name];
  for (const file of options.config ?? []) args.push('--config', file);
  if (options.idle !== undefined) args.push('--idle', options.idle);
  for (const [flag, member] of RECORD_FLAGS) {
    const value = options[member];
    if (value !== undefined) args.push(flag, value);
  }
  if (options.trustProject === true) args.push('--trust-project');
  if (options.json === true) args.push('--json');
  if (options.verbose === true) args.push('--verbose');
  const ended = await startDetached(name, args, context);
  if ('exitCode' in ended) {
    output.report(ended.said.trimEnd());
    return ended.exitCode;
  }
  const { up: facts, log } = ended;
  if (output.json) await output.data(`${JSON.stringify({ ...facts, log })}\n`);
  else output.note(`${sentence(facts)}; it writes to ${log}`);
  return exitCode.ok;
}

/** To whoever started it in the background, else to the person in front of it. */
function tell(facts: UpFacts, { output }: Context): void {
  if (process.send === undefined) {
    output.note(sentence(facts));
    return;
  }
  process.send({ up: facts });
  // The channel is for this one message.
  if (process.connected) process.disconnect();
}

function sentence({ name, pid, servers }: UpFacts): string {
  const many = servers === 1 ? '1 server' : `${servers} servers`;
  return `resident "${name}" is up (process ${pid}) with ${many}; bulkhead status shows them`;
}

function isUp(name: string, pid: number): BulkheadError {
  return new BulkheadError(
    'BAD_INPUT',
    `resident "${name}" is up already (process ${pid}); end it with bulkhead down, or give this one another --name`,
  );
}
