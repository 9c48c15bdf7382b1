/**
 * What a runtime writes about itself: its log and its audit, made only when one of them is wanted. Both get texts
 * without the secrets of the configuration, which they learn before anything runs.
 */
import { randomUUID } from 'node:crypto';
import type { RuntimeOptions } from './api.js';
import { CallAudit } from './audit/call-audit.js';
import type { LoadedConfig } from './config/types.js';
import { openLogger } from './logging/logger.js';
import { RuntimeLog } from './logging/runtime-log.js';
import { Secrets } from './secrets.js';
import { allWitnesses, type Witness } from './witness.js';

export interface Books {
  readonly log: RuntimeLog | undefined;
  /** Undefined when no call is written down. */
  readonly witness: Witness | undefined;
  /** A configuration is about to be taken. */
  learn(config: LoadedConfig): void;
  /** Where complaints about a file go. */
  complainTo(warn: (message: string) => void): void;
  /** Resolves when everything is in its file. */
  close(): Promise<void>;
}

export async function openBooks({
  audit: wanted,
  logger,
}: Pick<RuntimeOptions, 'audit' | 'logger'>): Promise<Books> {
  const secrets = new Secrets();
  let tell = (_message: string): void => {};
  const warn = (message: string): void => tell(message);
  const opened = logger === undefined ? undefined : await openLogger(logger, warn);
  const log = opened === undefined ? undefined : new RuntimeLog(opened.logger, secrets.mask);
  const audit =
    wanted === undefined ? undefined : new CallAudit(wanted, randomUUID(), { mask: secrets.mask, warn });
  return {
    log,
    witness: allWitnesses([audit?.witness, log?.witness]),
    learn: (config) => secrets.learn(config),
    complainTo: (hearer) => {
      tell = hearer;
    },
    async close() {
      await audit?.close();
      await opened?.close();
    },
  };
}
