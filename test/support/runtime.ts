/** A runtime for one test: its own log directory, and closed when the test ends, however it ends. */
import { createRuntime, type Runtime, type RuntimeOptions } from '@bulkhead/runtime';
import { afterEach } from 'vitest';

/** Installs the hook; call it after `useCensus()` and `useTempDir()`, so that closing comes before both. */
export function useRuntime(directory: (...names: string[]) => string) {
  const open: Runtime[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((runtime) => runtime.close()));
  });
  return async (
    servers: NonNullable<RuntimeOptions['servers']>,
    options: Omit<RuntimeOptions, 'servers'> = {},
  ) => {
    const runtime = await createRuntime({ servers, logDir: directory('logs'), ...options });
    open.push(runtime);
    return runtime;
  };
}

/** Resolves when a server reaches a state. */
export function reaches(runtime: Runtime, server: string, state: string): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (runtime.server(server).state !== state) return;
      runtime.off('state', look);
      resolve();
    };
    runtime.on('state', look);
    look();
  });
}

/** The error that a call ends with; fails when it does not. */
export async function failureOf(call: Promise<unknown>): Promise<import('@bulkhead/runtime').BulkheadError> {
  try {
    await call;
  } catch (error) {
    return error as import('@bulkhead/runtime').BulkheadError;
  }
  throw new Error('the call was expected to fail, but it did not');
}
