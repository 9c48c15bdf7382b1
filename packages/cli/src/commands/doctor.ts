/** `bulkhead doctor`: each server looked at and tried alone, with a verdict and what to do next. */
import { type ConfigProblem, formatProblem, type LoadedConfig } from '@bulkhead/runtime';
import { BulkheadError } from '@bulkhead/workers';
import { type CommonOptions, type Context, time, trustsProject } from '../context.js';
import { type Check, checksBefore } from '../doctor-checks.js';
import { type Probe, probe } from '../doctor-probe.js';
import { exitCode } from '../exit-codes.js';
import { nearest } from '../nearest.js';
import { plain } from '../output.js';
import { readStandings, type StandingServer } from '../standings.js';

/** An element of the array that `--json` prints. */
export interface Diagnosis {
  server: string;
  verdict: 'ok' | 'warning' | 'failed' | 'invalid' | 'disabled' | 'needs-approval' | 'needs-auth';
  checks: Check[];
  /** What to do, when there is something. */
  next?: string;
  stderr?: string[];
}

/** Throw-away runtimes at a time: each has threads of its own. */
const AT_ONCE = 2;

export async function doctor(
  name: string | undefined,
  options: CommonOptions,
  context: Context,
): Promise<number> {
  const { output } = context;
  const timeoutMs = time('--timeout', options.timeout);
  const { config, servers } = await readStandings(options, context, { trusted: trustsProject(options) });
  for (const problem of config.problems) {
    if (problem.server === undefined) output.note(`${problem.severity}: ${formatProblem(problem)}`);
  }
  const chosen = name === undefined ? servers : [one(name, servers)];
  const diagnoses: Diagnosis[] = [];
  const queue = [...chosen.entries()];
  const work = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const [index, server] = next;
      diagnoses[index] = await diagnose(server, config, { timeoutMs, context });
    }
  };
  // All are waited for, also after an interrupt: each closes a runtime of its own.
  const ends = await Promise.allSettled(Array.from({ length: AT_ONCE }, work));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  if (output.json) {
    const lines = diagnoses.map((diagnosis) => JSON.stringify(diagnosis));
    await output.data(lines.length === 0 ? '[]\n' : `[\n${lines.join(',\n')}\n]\n`);
  } else {
    for (const diagnosis of diagnoses) await output.data(asText(diagnosis));
    if (diagnoses.length === 0) output.note('(no servers; add one with: bulkhead add NAME -- COMMAND)');
  }
  return statusOf(diagnoses);
}

interface Means {
  timeoutMs: number | undefined;
  context: Context;
}

async function diagnose(standing: StandingServer, config: LoadedConfig, means: Means): Promise<Diagnosis> {
  const { name, server, problem, changes } = standing;
  if (server === undefined || standing.standing === 'invalid') return invalid(name, problem);
  const place = server.file === undefined ? server.scope : `${server.file}:${server.line ?? 1}`;
  const checks: Check[] = [{ check: 'config', result: 'ok', detail: place }];
  for (const found of config.problems) {
    if (found.server !== name) continue;
    checks.push({ check: 'config', result: 'warning', detail: formatProblem(found) });
  }
  if (standing.standing === 'disabled') {
    const next = `enable it where it is disabled: ${place}`;
    return { server: name, verdict: 'disabled', checks, next };
  }
  if (standing.waits) {
    const detail =
      changes.length > 0
        ? `it differs from what was approved: ${changes.join('; ')}`
        : 'nobody has approved it';
    checks.push({ check: 'approval', result: 'failed', detail });
    return { server: name, verdict: 'needs-approval', checks, next: `bulkhead approve ${name}` };
  }
  const before = await checksBefore(server);
  checks.push(...before);
  const missing = before.find(({ result }) => result === 'failed');
  if (missing !== undefined) {
    checks.push({ check: 'start', result: 'skipped', detail: 'it could only fail' });
    return { server: name, verdict: 'failed', checks, next: nextFor(missing, place) };
  }
  const found = await probe(name, config, means.timeoutMs, means.context);
  checks.push(...found.checks);
  const stderr = found.stderr.length > 0 ? { stderr: found.stderr } : {};
  const { verdict, next } = verdictOf(name, found, checks, place);
  return { server: name, verdict, checks, ...(next === undefined ? {} : { next }), ...stderr };
}

function invalid(name: string, problem: ConfigProblem | undefined): Diagnosis {
  const detail = problem === undefined ? 'its entry is invalid' : formatProblem(problem);
  const next = problem?.hint ?? 'repair its entry';
  return { server: name, verdict: 'invalid', checks: [{ check: 'config', result: 'failed', detail }], next };
}

function verdictOf(
  name: string,
  { state, reason, stderr }: Probe,
  checks: readonly Check[],
  place: string,
): { verdict: Diagnosis['verdict']; next?: string } {
  if (state === 'needs-auth') return { verdict: 'needs-auth', next: `bulkhead login ${name}` };
  if (state === 'ready') {
    const doubtful = checks.find(({ result }) => result === 'warning');
    return doubtful === undefined ? { verdict: 'ok' } : { verdict: 'warning' };
  }
  const said =
    stderr.length > 0 ? 'read what it wrote to stderr' : 'it wrote nothing to stderr; run it by hand';
  const next = new Map([
    ['start-timeout', `raise "startupTimeoutMs" in ${place}, or see why it is slow: ${said}`],
    ['exit', `${said}, then correct its entry: ${place}`],
    ['spawn', `correct "command" in ${place}`],
    ['protocol', 'is it an MCP server? See that it speaks the protocol on stdout and nothing else'],
  ]).get(reason?.kind ?? 'start-timeout');
  return { verdict: 'failed', next: next ?? `correct its entry: ${place}` };
}

function nextFor({ check, detail }: Check, place: string): string {
  if (check === 'cwd') return `make the directory, or correct "cwd" in ${place}`;
  return detail.endsWith('executed')
    ? 'make it executable: chmod +x'
    : `install it, or correct "command" in ${place}`;
}

function one(name: string, servers: readonly StandingServer[]): StandingServer {
  const found = servers.find((server) => server.name === name);
  if (found !== undefined) return found;
  const names = servers.map((server) => server.name);
  const hint =
    names.length === 0 ? 'there is none' : `nearest: ${nearest(name, names).map(plain).join(', ')}`;
  throw new BulkheadError('UNKNOWN_SERVER', `server "${name}" is not in the config; ${hint}`, {
    server: name,
  });
}

function asText({ server, verdict, checks, next, stderr = [] }: Diagnosis): string {
  const lines = [
    `${plain(server)}: ${verdict}`,
    ...checks.map(
      ({ check, result, detail }) => `  ${result === 'ok' ? '' : `${result}: `}${check}: ${plain(detail)}`,
    ),
    ...(verdict === 'failed' ? stderr.map((line) => `  stderr: ${plain(line)}`) : []),
    ...(next === undefined ? [] : [`  next: ${plain(next)}`]),
  ];
  return `${lines.join('\n')}\n`;
}

function statusOf(diagnoses: readonly Diagnosis[]): number {
  const has = (...verdicts: Diagnosis['verdict'][]) =>
    diagnoses.some(({ verdict }) => verdicts.includes(verdict));
  if (has('failed')) return exitCode.unreachable;
  if (has('invalid')) return exitCode.usage;
  return has('needs-approval', 'needs-auth') ? exitCode.approval : exitCode.ok;
}
