/** A tool's result on stdout, and a sentence on stderr when the tool reported an error. */
import type { ToolResult } from '@bulkhead/runtime';
import { exitCode } from './exit-codes.js';
import { foreignText } from './foreign-text.js';
import { type Output, plain } from './output.js';
import { renderText } from './render.js';

/** @returns the exit status. */
export async function printResult(
  result: ToolResult,
  server: string,
  tool: string,
  output: Output,
): Promise<number> {
  for (const warning of result.warnings) output.note(`warning: ${plain(warning)}`);
  const text = output.json ? result.raw : foreignText(renderText(result), output.stdout);
  if (text === '') output.note('(empty result)');
  else await output.data(text.endsWith('\n') ? text : `${text}\n`);
  if (!result.isError) return exitCode.ok;
  const message = `tool "${tool}" of server "${server}" reported an error; its text is on stdout`;
  if (output.json) output.report(JSON.stringify({ error: { code: 'TOOL_ERROR', message, server, tool } }));
  else output.note(`error: ${message} [TOOL_ERROR]`);
  return exitCode.failed;
}
