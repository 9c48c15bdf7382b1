/** What a program says about the control socket that it opens. */
import type { ReconfigureReport } from '../api.js';
import type { Logger } from '../logging/logger.js';

/** `RuntimeOptions.control`. */
export interface ControlName {
  /** 1 to 64 of `A-Z a-z 0-9 . _ -`; what `bulkhead status --resident NAME` asks for. One runtime of the user may have it. */
  name: string;
}

/** Second argument of {@link openControl}; only `name` is needed. */
export interface ControlOptions extends ControlName {
  /** Directory of the project, without symbolic links: how a command that runs there finds this runtime. */
  project?: string;
  /** Config files named by hand, absolute. */
  files?: readonly string[];
  /** Which configuration the servers are of; without it no command uses this runtime unless it is named. */
  config?: ControlConfig;
  /** What the configuration says of a server beside its state. */
  describe?: (server: string) => { scope: string; lazy: boolean } | undefined;
  /** Sentences about the configuration that every command tells first. */
  findings?: () => string[];
  /** `POST /v1/reload`; absent: refused as `UNSUPPORTED`. */
  reload?: () => Promise<ReconfigureReport>;
  /** Why the last reload was not taken. */
  reloadFailure?: () => string | undefined;
  /** `POST /v1/shutdown`: ends the program in good order; absent: refused as `UNSUPPORTED`. */
  shutdown?: () => void;
  /** Told of every request, at level `debug`. */
  logger?: Logger;
  /** Told of every request that uses a server; looking on is no use. */
  onActivity?: () => void;
}

/** What the runtime behind a socket was configured with. */
export interface ControlConfig {
  /** See `config-mark.ts`. */
  mark: () => string;
  /** Servers of the project's own files run without a stored approval. */
  trusted: boolean;
  /** A caller expects another mark: looks whether the files changed, and reloads them then. Never rejects. */
  recheck: () => Promise<void>;
}

/** An open control socket. */
export interface ControlSocket {
  readonly name: string;
  /** Path of the unix socket. */
  readonly path: string;
  /** Idempotent; happens by itself when the runtime closes. */
  close(): Promise<void>;
}
