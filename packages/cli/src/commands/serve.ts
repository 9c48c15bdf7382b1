/** `bulkhead serve`: all servers of the config as one MCP server, over stdio for the host that started it, or over loopback HTTP. */
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import type { LoadedConfig, RuntimeApi, RuntimeEvents, ServerState } from '@bulkhead/runtime';
import {
  type NameStyle,
  ServedAsks,
  type ServeOptions,
  serveHttp,
  stdioClient,
} from '@bulkhead/runtime/serve';
import { type CommonOptions, type Context, time, usageError } from '../context.js';
import { exitCode } from '../exit-codes.js';
import { plain } from '../output.js';
import { oneServer } from '../ready-servers.js';
import { atOnce, onlyServers, openConfig, withRuntime } from '../session.js';
import { version } from '../version.js';

export interface ServeCommandOptions extends CommonOptions {
  /** The port as text; true for any free one. */
  http?: string | true;
  tokenFile?: string;
  servers?: string;
  separator?: string;
  /** False with `--no-prefix`. */
  prefix: boolean;
}

/** States that whoever reads the host's log should know of. */
const TOLD: ReadonlySet<ServerState> = new Set(['backoff', 'quarantined', 'needs-approval', 'needs-auth']);

export async function serve(options: ServeCommandOptions, context: Context): Promise<number> {
  const readyWaitMs = time('--timeout', options.timeout);
  const served: ServeOptions = {
    info: { name: 'bulkhead', version: version() },
    names: nameStyle(options),
    ...(readyWaitMs === undefined ? {} : { readyWaitMs }),
    asks: new ServedAsks(),
  };
  const port = portOf(options.http);
  if (port === undefined && options.tokenFile !== undefined) throw usageError('--token-file needs --http');
  const config = atOnce(chosen(options.servers, await openConfig(options, context)));
  if (port === undefined) await overStdio(config, served, context);
  else await overHttp(config, { ...served, port }, options, context);
  return exitCode.ok;
}

async function overStdio(config: LoadedConfig, served: ServeOptions, context: Context): Promise<void> {
  const { interrupt } = context;
  const client = stdioClient(process.stdin, process.stdout);
  try {
    // What the client can do is told to the servers when they start.
    const capabilities = await interrupt.race(client.capabilities());
    if (capabilities === undefined) return;
    await withRuntime(
      config,
      context,
      async (runtime) => {
        tell(runtime, context);
        await client.serve(runtime, { ...served, signal: interrupt.signal });
      },
      { handlers: served.asks?.handlers(capabilities) ?? {} },
    );
  } finally {
    // Nobody reads it any more, and an open one would keep the program.
    process.stdin.destroy();
  }
}

async function overHttp(
  config: LoadedConfig,
  served: ServeOptions & { port: number },
  { tokenFile }: ServeCommandOptions,
  context: Context,
): Promise<void> {
  const { output, interrupt } = context;
  const token = tokenFile === undefined ? undefined : tokenIn(tokenFile);
  await withRuntime(
    config,
    context,
    async (runtime) => {
      tell(runtime, context);
      const service = await serveHttp(runtime, { ...served, ...(token === undefined ? {} : { token }) });
      try {
        if (output.json) {
          const facts = {
            url: service.url,
            ...(tokenFile === undefined ? { token: service.token } : { tokenFile }),
          };
          await output.data(`${JSON.stringify(facts)}\n`);
        } else {
          output.note(`serving at ${service.url}`);
          output.note(
            tokenFile === undefined
              ? `clients send "Authorization: Bearer ${service.token}" (good until this ends)`
              : `clients send the token of ${tokenFile} as "Authorization: Bearer …"`,
          );
        }
        await interrupt.race(new Promise<never>(() => {}));
      } finally {
        await service.close();
      }
    },
    { handlers: served.asks?.handlers({ sampling: {}, elicitation: {} }) ?? {} },
  );
}

function nameStyle({ separator, prefix }: ServeCommandOptions): NameStyle {
  if (!prefix) {
    if (separator !== undefined) throw usageError('--separator and --no-prefix exclude each other');
    return { kind: 'plain' };
  }
  if (separator === undefined) return { kind: 'full' };
  if (!/^[A-Za-z0-9_.-]{1,8}$/.test(separator)) {
    throw usageError(`--separator: expected 1 to 8 of A-Z a-z 0-9 . _ -, got "${separator}"`);
  }
  return { kind: 'separator', separator };
}

function portOf(http: string | true | undefined): number | undefined {
  if (http === undefined) return undefined;
  if (http === true) return 0;
  const port = Number(http);
  if (!/^\d{1,5}$/.test(http) || port > 65_535) {
    throw usageError(`--http: expected a port from 0 to 65535, got "${http}"`);
  }
  return port;
}

/** @throws {BulkheadError} naming the server that is not there or may not run. */
function chosen(list: string | undefined, config: LoadedConfig): LoadedConfig {
  if (list === undefined) return config;
  const names = list.split(',').filter((name) => name !== '');
  if (names.length === 0) throw usageError('--servers: expected names with commas between them');
  for (const name of names) oneServer(name, config);
  return onlyServers(config, names);
}

/** The token that the file holds; a file that is not there is made, for this user alone. */
function tokenIn(file: string): string {
  let token: string;
  try {
    token = readFileSync(file, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw unusable(file, (error as Error).message);
    token = randomBytes(32).toString('base64url');
    try {
      writeFileSync(file, `${token}\n`, { mode: 0o600, flag: 'wx' });
    } catch (failed) {
      throw unusable(file, (failed as Error).message);
    }
  }
  if (!/^[A-Za-z0-9._~+/-]{16,}=*$/.test(token)) {
    throw unusable(file, 'it holds no token (16 or more of A-Z a-z 0-9 . _ ~ + / -)');
  }
  return token;
}

function unusable(file: string, why: string): Error {
  return usageError(`--token-file ${file}: ${why}`);
}

function tell(runtime: RuntimeApi, { output }: Context): void {
  runtime.on('state', ({ server, state, reason }: RuntimeEvents['state'][0]) => {
    if (server === '' || !TOLD.has(state)) return;
    output.note(
      `server "${plain(server)}" is ${state}${reason === undefined ? '' : `: ${plain(reason.message)}`}`,
    );
  });
}
