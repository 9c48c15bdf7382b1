/** Ends a runtime in order when the program is told to end. */
import { constants } from 'node:os';
import type { RuntimeApi } from './api.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * SIGINT, SIGTERM and SIGHUP close the runtime and then end the program with 128 + the signal's number. The second
 * signal kills every server's process group at once.
 * @returns a function that takes the handlers away again.
 */
export function installSignalHandlers(runtime: RuntimeApi): () => void {
  let signalled = false;
  const onSignal = (signal: NodeJS.Signals) => {
    const again = signalled;
    signalled = true;
    const code = 128 + (constants.signals[signal] ?? 0);
    const closing = again ? runtime.close({ deadlineMs: 0 }) : runtime.close();
    void closing.finally(() => process.exit(code));
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return () => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
}
