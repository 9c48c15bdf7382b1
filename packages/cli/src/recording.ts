/** Whether this program runs under `bulkhead record`: said by the environment, as the recorded command is a process of its own. */
export const RECORD_VARIABLE = 'BULKHEAD_RECORD';

/** The file that messages are written to; undefined when nobody records. A resident would not be recorded and is not used. */
export function recordFile(): string | undefined {
  const file = process.env[RECORD_VARIABLE];
  return file === undefined || file === '' ? undefined : file;
}
