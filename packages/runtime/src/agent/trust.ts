/**
 * Permissions, pins and the flow of confidential data as one gate, which is what most hosts want: rules decide, changed
 * tools are noticed, and one `onAsk` asks a person about all of it.
 */
import type { RuntimeApi } from '../api.js';
import { DataFlow } from './data-flow.js';
import { allGates } from './gates.js';
import { type PermissionOptions, Permissions } from './permissions.js';
import { type PinOptions, Pins } from './pins.js';
import type { Gate } from './tool.js';

/** The options of the three parts, and what they share. */
export interface TrustOptions
  extends Omit<PermissionOptions, 'file'>,
    Pick<PinOptions, 'onChanged' | 'onFlag'> {
  /** `false` keeps nothing for later runs. Default true: in `$XDG_STATE_HOME/bulkhead/approvals`. */
  keep?: boolean;
}

/** Permissions, pins and data flow as one gate. */
export interface Trust {
  /** For `createRuntime({gate})`. */
  readonly gate: Gate;
  readonly permissions: Permissions;
  readonly pins: Pins;
  readonly flow: DataFlow;
  /** Pins what the servers of a runtime list, now and later; call it once the runtime is made. Gives the end of it. */
  watch(runtime: Pick<RuntimeApi, 'servers' | 'server' | 'on' | 'off'>): () => void;
}

/** @throws {BulkheadError} `BAD_INPUT` for a rule that could mean more than its author thinks. */
export async function openTrust(options: TrustOptions = {}): Promise<Trust> {
  const { keep = true, ...rest } = options;
  const kept = keep ? {} : { file: false as const };
  const permissions = await Permissions.open({ ...rest, ...kept });
  const pins = await Pins.open({ ...rest, ...kept });
  const flow = new DataFlow(rest);
  // What is forbidden anyway is asked about by nobody.
  const gate = allGates(permissions, pins, flow);
  return { gate, permissions, pins, flow, watch: (runtime) => pins.watch(runtime) };
}
