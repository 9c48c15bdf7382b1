/** `bulkhead reload`: the resident looks at its config files now. */
import type { CommonOptions, Context } from '../context.js';
import { exitCode } from '../exit-codes.js';
import { plain } from '../output.js';
import { meant } from '../resident/find-resident.js';

export async function reload(options: CommonOptions, context: Context): Promise<number> {
  const { output, interrupt } = context;
  const report = await interrupt.race(meant(options, context).reload());
  if (output.json) {
    await output.data(`${JSON.stringify(report)}\n`);
    return exitCode.ok;
  }
  const { added, changed, removed, problems } = report;
  for (const problem of problems) output.note(`config: ${plain(problem)}`);
  const said = Object.entries({ added, changed, removed }).flatMap(([what, names]) =>
    names.length === 0 ? [] : [`${what} ${names.map(plain).join(', ')}`],
  );
  output.note(`the configuration was reloaded: ${said.join('; ') || 'no server changed'}`);
  return exitCode.ok;
}
