/** `bulkhead validate`: every mistake in config files, each with its place and what to do. Starts nothing. */
import { type ConfigProblem, formatProblem, loadConfig } from '@bulkhead/runtime';
import type { CommonOptions, Context } from '../context.js';
import { exitCode } from '../exit-codes.js';

export async function validateFiles(
  named: readonly string[],
  options: CommonOptions,
  { output }: Context,
): Promise<number> {
  const wanted = [...(options.config ?? []), ...named];
  const { problems, servers, files } = await loadConfig(wanted.length > 0 ? { files: wanted } : {});
  const sorted = [...problems].sort(
    (a, b) =>
      compare(a.file ?? '', b.file ?? '') || (a.line ?? 0) - (b.line ?? 0) || compare(a.message, b.message),
  );
  if (output.json) await output.data(asJson(sorted));
  else
    await output.data(sorted.map((problem) => `${problem.severity}: ${formatProblem(problem)}\n`).join(''));
  const errors = sorted.filter(({ severity }) => severity === 'error').length;
  const warnings = sorted.length - errors;
  const read =
    files.length === 0
      ? 'no config file found'
      : `${count(servers.length, 'usable server')} in ${files.join(', ')}`;
  output.note(`${read}; ${count(errors, 'error')}, ${count(warnings, 'warning')}`);
  return errors > 0 ? exitCode.usage : exitCode.ok;
}

function asJson(problems: readonly ConfigProblem[]): string {
  const lines = problems.map(({ severity, file, line, server, field, message, hint }) =>
    JSON.stringify({ severity, file, line, server, field, message, hint }),
  );
  return lines.length === 0 ? '[]\n' : `[\n${lines.join(',\n')}\n]\n`;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
