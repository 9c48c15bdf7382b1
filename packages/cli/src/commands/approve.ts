/** `bulkhead approve` and `bulkhead revoke`: a person's word about servers that came with the project. */
import { needsApproval } from '@bulkhead/runtime';
import { BulkheadError } from '@bulkhead/workers';
import { type CommonOptions, type Context, usageError } from '../context.js';
import { exitCode } from '../exit-codes.js';
import { launchText } from '../launch-text.js';
import { nearest } from '../nearest.js';
import { plain } from '../output.js';
import { readStandings, type StandingServer, type Standings } from '../standings.js';

export interface ApproveCommandOptions extends CommonOptions {
  all?: boolean;
  yes?: boolean;
}

type Answer = 'approved' | 'declined' | 'unchanged';

export async function approve(
  name: string | undefined,
  options: ApproveCommandOptions,
  context: Context,
): Promise<number> {
  const { output } = context;
  if (name !== undefined && options.all === true)
    throw usageError('expected either a name or --all, not both');
  const standings = await readStandings(options, context);
  const pending =
    name === undefined ? standings.servers.filter(({ waits }) => waits) : [one(name, standings)];
  const answers = new Map<string, Answer>();
  let unasked: string | undefined;
  for (const { name: server, server: loaded, waits, changes } of pending) {
    if (loaded === undefined) continue;
    if (!waits) {
      answers.set(server, 'unchanged');
      const why = needsApproval(loaded) ? 'is approved already' : 'needs no approval';
      output.note(`server "${plain(server)}" ${why}`);
      continue;
    }
    output.note(launchText(loaded, changes));
    if (options.yes !== true && !canAsk(context)) {
      unasked ??= server;
      continue;
    }
    const agreed = options.yes === true || (await ask(server, context));
    if (agreed === undefined) break;
    if (agreed) await standings.store.approve(loaded);
    answers.set(server, agreed ? 'approved' : 'declined');
    output.note(agreed ? `approved server "${plain(server)}"` : `server "${plain(server)}" stays as it was`);
  }
  if (unasked !== undefined) {
    const message = `nobody can be asked here (no terminal); look at what is shown above, then: bulkhead approve ${name ?? '--all'} --yes`;
    throw new BulkheadError('DENIED', message, { server: unasked });
  }
  if (output.json) {
    const shown = pending.flatMap(({ name: server, server: loaded }) =>
      loaded === undefined
        ? []
        : [{ server, answer: answers.get(server) ?? 'declined', launch: loaded.written }],
    );
    await output.data(`${JSON.stringify(shown)}\n`);
  }
  if (pending.length === 0) output.note('no server waits for approval');
  const open = [...answers.values()].includes('declined') || answers.size < pending.length;
  return open ? exitCode.approval : exitCode.ok;
}

export async function revoke(
  name: string | undefined,
  options: ApproveCommandOptions,
  context: Context,
): Promise<number> {
  const { output } = context;
  if ((name === undefined) === (options.all !== true))
    throw usageError('expected the name of a server, or --all');
  const standings = await readStandings(options, context);
  const approved = standings.servers.filter(isDecided);
  const names = name === undefined ? approved.map((server) => server.name) : [name];
  if (name !== undefined && !approved.some((server) => server.name === name)) {
    if (standings.servers.some((server) => server.name === name)) {
      throw usageError(`server "${name}" has no approval that could be revoked`);
    }
    // An entry that is gone may come back: then it shall ask again.
    output.note(`note: no server "${plain(name)}" is in the project now`);
  }
  for (const server of names) {
    await standings.store.revoke(server);
    output.note(
      `revoked the approval of server "${plain(server)}"; one that runs goes on until it is stopped`,
    );
  }
  if (names.length === 0) output.note('no server has an approval');
  if (output.json) await output.data(`${JSON.stringify(names.map((server) => ({ server })))}\n`);
  return exitCode.ok;
}

function isDecided({ server, waits, changes }: StandingServer): boolean {
  return server !== undefined && needsApproval(server) && (!waits || changes.length > 0);
}

function one(name: string, { servers }: Standings): StandingServer {
  const found = servers.find((server) => server.name === name);
  if (found?.problem !== undefined && found.server === undefined) {
    throw new BulkheadError('BAD_CONFIG', `server "${name}": ${found.problem.message}`, { server: name });
  }
  if (found !== undefined) return found;
  const near = nearest(
    name,
    servers.map((server) => server.name),
  );
  const hint = near.length === 0 ? 'there is none' : `nearest: ${near.map(plain).join(', ')}`;
  throw new BulkheadError('UNKNOWN_SERVER', `server "${name}" is not in the config; ${hint}`, {
    server: name,
  });
}

function canAsk({ output }: Context): boolean {
  return process.stdin.isTTY === true && output.stderr.isTTY === true;
}

/** Undefined when the person left the question. */
async function ask(server: string, { output, interrupt }: Context): Promise<boolean | undefined> {
  const { confirm, isCancel } = await import('@clack/prompts');
  const answer = await confirm({
    message: `May server "${plain(server)}" run in this project?`,
    initialValue: false,
    output: output.stderr,
    signal: interrupt.signal,
  });
  return isCancel(answer) ? undefined : answer;
}
