/** `bulkhead add`: one more server in a config file, checked before it is written. */
import { stat } from 'node:fs/promises';
import {
  ApprovalStore,
  checkEntry,
  editConfigFile,
  formatProblem,
  loadAsWritten,
  needsApproval,
} from '@bulkhead/runtime';
import { BulkheadError } from '@bulkhead/workers';
import { type ConfigTarget, configTarget, modeFor, type TargetOptions } from '../config-target.js';
import { type Context, usageError } from '../context.js';
import { exitCode } from '../exit-codes.js';
import { plain } from '../output.js';
import { clearSecrets, type EntryOptions, entryFrom } from '../server-entry.js';

export interface AddCommandOptions extends TargetOptions, EntryOptions {
  replace?: boolean;
}

export async function add(
  name: string,
  command: readonly string[],
  options: AddCommandOptions,
  { output }: Context,
): Promise<number> {
  if (name === '' || /[\p{C}\p{Zl}\p{Zp}]/u.test(name)) {
    throw usageError(`expected a name of printable characters, got ${JSON.stringify(name)}`);
  }
  const target = configTarget(options, 'local');
  const entry = entryFrom(command, options);
  const { problems, unset } = checkEntry(name, entry, target.baseDir);
  for (const problem of problems) {
    if (problem.severity === 'error')
      throw new BulkheadError('BAD_CONFIG', formatProblem(problem), { server: name });
    output.note(`warning: ${formatProblem(problem)}`);
  }
  const secrets = clearSecrets(entry);
  let replaced = false;
  const { created } = await editConfigFile(
    target.path,
    (names) => {
      const line = names.get(name);
      replaced = line !== undefined;
      if (replaced && options.replace !== true) {
        const message = `server "${name}" is in ${target.path}:${line} already; pass --replace to write over it`;
        throw new BulkheadError('BAD_INPUT', message, { server: name });
      }
      return { set: new Map([[name, entry]]) };
    },
    { mode: modeFor(target, secrets.length > 0) },
  );
  const { approved, winner } = await adopted(name, target, output);
  for (const variable of unset)
    output.note(`note: ${variable} is not set; server "${plain(name)}" does not start until it is`);
  await tellSecrets(secrets, target, output);
  if (winner !== undefined)
    output.note(`note: ${winner} has a server "${plain(name)}" too, and that one counts here`);
  output.note(`${replaced ? 'replaced' : 'added'} server "${plain(name)}" in ${target.path}`);
  const { scope = 'file' } = target;
  if (created && scope === 'local')
    output.note(`note: ${target.path} is yours alone; keep it out of version control`);
  if (output.json) {
    const report = { server: name, scope, file: target.path, created, replaced, approved, unset };
    await output.data(`${JSON.stringify(report)}\n`);
  }
  return exitCode.ok;
}

/** Who writes the command line of a server has seen it: where it would need approval it has it. */
async function adopted(
  name: string,
  { path, scope }: ConfigTarget,
  output: Context['output'],
): Promise<{ approved: boolean; winner?: string }> {
  const { config, lacking } = await loadAsWritten();
  const server = [...config.servers, ...lacking].find((candidate) => candidate.name === name);
  const found = server ?? config.rejected.find((candidate) => candidate.name === name)?.problem;
  const isOwn = found?.file === path;
  if (server !== undefined && isOwn && needsApproval(server)) {
    const store = await ApprovalStore.open(config.projectDir, (message) =>
      output.note(`warning: ${message}`),
    );
    await store.approve(server);
    return { approved: true };
  }
  const other = found?.file;
  return scope === undefined || isOwn || other === undefined
    ? { approved: false }
    : { approved: false, winner: other };
}

async function tellSecrets(
  secrets: readonly string[],
  { path, scope }: ConfigTarget,
  output: Context['output'],
): Promise<void> {
  if (secrets.length === 0) return;
  const fields = secrets.map(plain).join(', ');
  output.note(
    `note: ${fields} ${secrets.length === 1 ? 'stands' : 'stand'} in the file in clear text; a reference such as \${NAME} takes the value from the environment`,
  );
  const { mode } = await stat(path);
  if (scope === 'project')
    output.note(`note: ${path} is meant to be shared; --scope local keeps a secret to yourself`);
  else if ((mode & 0o077) !== 0)
    output.note(`note: other users may read ${path}; chmod 600 keeps it to yourself`);
}
