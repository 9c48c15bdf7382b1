/** `bulkhead resources watch`: one line for each update of a resource, until somebody ends it. */
import type { CommonOptions, Context } from '../context.js';
import { withServer } from '../each-server.js';
import { exitCode } from '../exit-codes.js';
import { plain } from '../output.js';
import { KnownServers } from '../resident/known-servers.js';

export async function watchResource(
  server: string,
  uri: string,
  options: CommonOptions,
  context: Context,
): Promise<number> {
  const { output, interrupt } = context;
  const known = await KnownServers.open(options, context, (name) => name === server);
  return withServer(server, known, options, context, async (_, host) => {
    const end = AbortSignal.any([interrupt.signal, output.closed]);
    const updates = await host.updates(server, uri, end);
    output.note(`watching ${plain(uri)} of server "${plain(server)}"; each update is a line`);
    for await (const update of updates) {
      const line = output.json ? JSON.stringify(update) : `${update.at} ${plain(server)} ${plain(uri)}`;
      await output.data(`${line}\n`);
      if (output.closed.aborted) return exitCode.ok;
    }
    if (end.aborted) return exitCode.ok;
    output.note('the resident has ended');
    return exitCode.unreachable;
  });
}
