/** The status of a runtime as its control socket tells it: what the supervisor knows, what the configuration says, and memory. */
import type { RuntimeStatus } from '../api.js';
import type { ControlContext } from './app.js';
import { residentMemory } from './memory.js';
import type { ServerRow, StatusReport } from './protocol.js';

/** The first version of the protocol without sessions. */
const MODERN = '2026-07-28';

export async function statusReport(
  { runtime, options, health }: ControlContext,
  withTools: boolean,
): Promise<StatusReport> {
  const { servers, problems } = await runtime.status();
  const memory = await residentMemory(servers.flatMap(({ pid }) => pid ?? []));
  const reloadFailure = options.reloadFailure?.();
  return {
    health: health(),
    servers: servers.map((server) => ({
      ...server,
      ...options.describe?.(server.name),
      ...facts(server, memory),
      ...(withTools ? { toolList: toolList(runtime.tools(), server.name) } : {}),
    })),
    problems,
    ...(reloadFailure === undefined ? {} : { reloadFailure }),
  };
}

function facts(
  { pid, protocolVersion }: RuntimeStatus['servers'][number],
  memory: ReadonlyMap<number, number>,
): Pick<ServerRow, 'era' | 'rssBytes'> {
  const rssBytes = pid === undefined ? undefined : memory.get(pid);
  return {
    ...(protocolVersion === undefined ? {} : { era: protocolVersion >= MODERN ? 'modern' : 'legacy' }),
    ...(rssBytes === undefined ? {} : { rssBytes }),
  };
}

function toolList(
  tools: ReturnType<ControlContext['runtime']['tools']>,
  server: string,
): NonNullable<ServerRow['toolList']> {
  return tools
    .filter((tool) => tool.server === server)
    .map(({ name, annotations }) => ({ name, readOnly: annotations?.readOnlyHint === true }));
}
