/** The error about arguments that do not fit, and the note about those that nobody could check. Pure. */
import { BulkheadError } from '@bulkhead/workers/errors';
import { plain } from './output.js';

export function invalidArguments(server: string, tool: string, problems: readonly string[]): BulkheadError {
  return new BulkheadError(
    'INVALID_ARGUMENTS',
    `arguments do not fit the input schema of "${tool}": ${problems.map(plain).join('; ')}. ` +
      'A value of another type is written key:=json; --no-validate sends it as it is.',
    { server, tool },
  );
}

export function uncheckedNote(tool: string, why: string): string {
  return `note: arguments are sent unchecked; the schema of "${tool}" is unusable: ${plain(why)}`;
}
