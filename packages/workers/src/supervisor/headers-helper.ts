/**
 * Headers that a command prints: for short-lived credentials of a remote server. Run before every connection, by the
 * supervisor, because it owns processes; what it prints goes to the server thread and nowhere else.
 */
import { execFile } from 'node:child_process';
import { z } from 'zod';
import { BulkheadError } from '../errors.js';
import type { Launch } from '../protocol.js';

const LIMIT_MS = 10_000;
const MAX_OUTPUT_BYTES = 64 * 1024;
const printed = z.record(z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/), z.string());

export interface HeadersHelper {
  /** A shell command that prints a JSON object of texts on stdout. */
  command: string;
  cwd: string;
  env: [string, string][];
}

/** The launch with the headers that its helper prints now, in place of its own of the same name. */
export async function withFreshHeaders<L extends Exclude<Launch, { type: 'stdio' }>>(
  launch: L,
  name: string,
): Promise<L> {
  const { helper, url } = launch;
  if (helper === undefined) return launch;
  const fresh = await helperHeaders(helper, { name, url });
  const names = new Set(fresh.map(([name]) => name.toLowerCase()));
  return {
    ...launch,
    headers: [...launch.headers.filter(([name]) => !names.has(name.toLowerCase())), ...fresh],
  };
}

/**
 * Runs the helper, at most 10 s.
 * @throws {BulkheadError} `START_FAILED`, `data.kind` `headers-helper`, with exit code and stderr; never what it printed.
 */
async function helperHeaders(
  { command, cwd, env }: HeadersHelper,
  server: { name: string; url: string },
): Promise<[string, string][]> {
  const { stdout, failure } = await run(command, {
    cwd,
    env: { ...Object.fromEntries(env), BULKHEAD_SERVER_NAME: server.name, BULKHEAD_SERVER_URL: server.url },
  });
  if (failure !== undefined) throw failed(`"headersHelper" ${failure}`);
  let value: unknown;
  try {
    value = JSON.parse(stdout);
  } catch {
    throw failed(
      '"headersHelper" did not print JSON; it must print one object such as {"Authorization": "Bearer …"}',
    );
  }
  const headers = printed.safeParse(value);
  if (!headers.success) throw failed('"headersHelper" must print one JSON object of header names and texts');
  return Object.entries(headers.data);
}

function run(
  command: string,
  options: { cwd: string; env: Record<string, string> },
): Promise<{ stdout: string; failure: string | undefined }> {
  return new Promise((resolve) => {
    const limits = { timeout: LIMIT_MS, maxBuffer: MAX_OUTPUT_BYTES, killSignal: 'SIGKILL' as const };
    const child = execFile('/bin/sh', ['-c', command], { ...options, ...limits }, (error, stdout, stderr) => {
      if (error === null) return resolve({ stdout, failure: undefined });
      const last = stderr.trim().split('\n').at(-1)?.slice(0, 300) ?? '';
      const how = error.killed
        ? `did not end within ${LIMIT_MS} ms`
        : `failed (${error.code ?? error.message})`;
      resolve({ stdout: '', failure: last === '' ? how : `${how}: ${last}` });
    });
    child.stdin?.end();
  });
}

function failed(message: string): BulkheadError {
  return new BulkheadError('START_FAILED', message, { data: { kind: 'headers-helper' } });
}
