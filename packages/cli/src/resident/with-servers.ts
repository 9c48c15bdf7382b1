/** Servers for the length of one command: those of the resident when it is there and runs the same configuration. */
import type { LoadedConfig } from '@bulkhead/runtime';
import type { CommonOptions, Context } from '../context.js';
import { type AuditOption, auditOf } from '../record-options.js';
import { withRuntime } from '../session.js';
import { standIn } from './find-resident.js';
import { ownHost } from './own-host.js';
import { mayGoElsewhere, remoteHost, type ToolHost } from './remote-host.js';

/** `use` runs again, with servers of its own, when the resident goes away before anything was sent. */
export async function withServers<T>(
  config: LoadedConfig,
  options: CommonOptions & AuditOption,
  context: Context,
  use: (host: ToolHost) => Promise<T>,
): Promise<T> {
  const audit = auditOf(options);
  const client = standIn(options, context);
  if (client !== undefined) {
    try {
      return await use(remoteHost(client));
    } catch (error) {
      if (!mayGoElsewhere(error)) throw error;
    }
  }
  return withRuntime(config, context, (runtime) => use(ownHost(runtime)), audit);
}
