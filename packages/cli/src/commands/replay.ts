/** `bulkhead replay`: a recorded server's answers on stdio, for whoever wants to see what happened without the server. */
import { readRecording, replay as replayed } from '@bulkhead/runtime/serve';
import type { CommonOptions, Context } from '../context.js';
import { exitCode } from '../exit-codes.js';

export interface ReplayCommandOptions extends CommonOptions {
  server?: string;
}

export async function replay(
  file: string,
  { server }: ReplayCommandOptions,
  { output, interrupt }: Context,
): Promise<number> {
  const recording = await readRecording(file, server);
  try {
    await replayed(recording, process.stdin, process.stdout, {
      signal: interrupt.signal,
      onMiss: (why) => output.note(`miss: ${why}`),
    });
  } finally {
    process.stdin.destroy();
  }
  return exitCode.ok;
}
