/** `bulkhead start`, `stop`, `restart`, `enable`, `disable`, `drain`: commands about servers of the resident. */
import type { ControlClient, ServerCommand, ServerRow } from '@bulkhead/runtime/control/client';
import { type CommonOptions, type Context, time, usageError } from '../context.js';
import { exitCode } from '../exit-codes.js';
import { plain } from '../output.js';
import { meant } from '../resident/find-resident.js';

export interface ServerCommandOptions extends CommonOptions {
  all?: boolean;
  failed?: boolean;
}

/** Commands after which a server should be ready. */
const RISING: ReadonlySet<ServerCommand> = new Set(['start', 'restart', 'enable']);
/** Where a server stands that needs a push. */
const FAILED: ReadonlySet<ServerRow['state']> = new Set(['quarantined', 'backoff', 'lost']);

export async function commandServers(
  command: ServerCommand,
  names: readonly string[],
  options: ServerCommandOptions,
  context: Context,
): Promise<number> {
  const { output, interrupt } = context;
  const timeoutMs = time('--timeout', options.timeout);
  const client = meant(options, context);
  const chosen = await choose(command, names, options, client);
  if (chosen.length === 0) {
    output.note(options.failed === true ? 'no server has failed' : 'there are no servers');
    return exitCode.ok;
  }
  const drain = command === 'drain' && timeoutMs !== undefined ? { timeoutMs } : {};
  const done = await interrupt.race(
    Promise.allSettled(chosen.map((name) => client.command(name, command, drain))),
  );
  const obeyed = done.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  for (const one of done) if (one.status === 'rejected') output.error(one.reason);
  let well = obeyed.length === done.length;
  if (RISING.has(command) && obeyed.length > 0) {
    const wait = timeoutMs === undefined ? {} : { timeoutMs };
    const servers = obeyed.map(({ server }) => server);
    const report = await interrupt.race(client.ready({ servers, ...wait }));
    for (const name of report.ready) output.note(`server "${plain(name)}" is ready`);
    for (const { name, state, reason } of report.failed)
      output.note(
        `server "${plain(name)}" is ${state}${reason === undefined ? '' : `: ${plain(reason.message)}`}`,
      );
    well = well && report.failed.length === 0;
  } else {
    for (const { server, state } of obeyed) output.note(`server "${plain(server)}" is ${state}`);
  }
  return well ? exitCode.ok : exitCode.unreachable;
}

async function choose(
  command: ServerCommand,
  names: readonly string[],
  { all, failed }: ServerCommandOptions,
  client: ControlClient,
): Promise<readonly string[]> {
  const ways = Number(names.length > 0) + Number(all === true) + Number(failed === true);
  if (ways !== 1)
    throw usageError(
      `${command}: expected either names of servers, or --all${command === 'restart' ? ', or --failed' : ''}`,
    );
  if (names.length > 0) return names;
  const { servers } = await client.status();
  return servers
    .filter(({ state }) =>
      failed === true ? FAILED.has(state) : command === 'enable' || state !== 'disabled',
    )
    .map(({ name }) => name);
}
