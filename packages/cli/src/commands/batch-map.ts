/** `--map` and `--tool` of `bulkhead batch`: which tool the records of a data file are sent to, and how. */
import type { Readable } from 'node:stream';
import { type BatchOptions, formatOf, type LoadedConfig, mapInput } from '@bulkhead/runtime';
import { BulkheadError } from '@bulkhead/workers/errors';
import { usageError } from '../context.js';
import { readText } from '../read-text.js';
import { parseTarget } from '../target.js';

export interface Mapping {
  /** What a run to resume must have had too. */
  variant: string;
  /** @throws {BulkheadError} when `--tool` names no server of the config, or the template is not one. */
  lines(input: Readable, config: LoadedConfig): BatchOptions['input'];
}

/** Undefined without `--map`. */
export async function mapping(
  inputPath: string,
  { map, tool }: { map?: string; tool?: string },
): Promise<Mapping | undefined> {
  if (map === undefined && tool === undefined) return undefined;
  if (map === undefined)
    throw usageError('--tool needs --map <template>; the lines of a batch name their tools');
  if (tool === undefined) throw usageError('--map needs --tool <server.tool>');
  const template = map.trimStart().startsWith('{') ? map : await readText(map);
  return {
    variant: JSON.stringify([template, tool]),
    lines(input, config) {
      const servers = [...config.servers, ...config.rejected].map(({ name }) => name);
      const found = parseTarget(
        tool,
        servers,
        (name) => new BulkheadError('UNKNOWN_SERVER', `server "${name}" is not in the config`),
      );
      const place =
        'fullName' in found
          ? { server: undefined, tool: found.fullName }
          : { server: found.server, tool: found.tool };
      return mapInput({ input, format: formatOf(inputPath), template, ...place });
    },
  };
}
