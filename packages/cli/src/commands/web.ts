/** `bulkhead web`: the servers in a browser. Those of the resident when one is up, else servers of its own. */
import type { LoadedConfig } from '@bulkhead/runtime';
import { type ControlEntry, configSource, readEntry } from '@bulkhead/runtime/control/client';
import { BulkheadError } from '@bulkhead/workers/errors';
import { type CommonOptions, type Context, count } from '../context.js';
import { exitCode } from '../exit-codes.js';
import { meant, ownEntry } from '../resident/find-resident.js';
import { openWeb } from '../web/open.js';

export interface WebOptions extends CommonOptions {
  port?: string;
  open?: boolean;
}

const MOST_PORT = 65_535;

export async function web(options: WebOptions, context: Context): Promise<number> {
  const port = count('--port', options.port, MOST_PORT) ?? 0;
  if (mayLookAtResident(options)) {
    const { entry } = meant(options, context);
    return show(entry, `resident "${entry.name}"`, port, options, context);
  }
  const { openConfig, withRuntime } = await import('../session.js');
  const { openControl } = await import('@bulkhead/runtime/control');
  const config = await openConfig(options, context);
  return withRuntime(config, context, async (runtime) => {
    // The page speaks to one kind of runtime: one with a control socket.
    const { name } = await openControl(runtime, { name: `web-${process.pid}`, ...descriptionOf(config) });
    const entry = readEntry(name);
    if (entry === undefined) throw new BulkheadError('INTERNAL', `control socket "${name}" has no entry`);
    return show(entry, 'servers of its own', port, options, context);
  });
}

/** A resident that was named must be there; otherwise the one of this directory counts when it is up. */
function mayLookAtResident({ resident, config }: WebOptions): boolean {
  if (typeof resident === 'string') return true;
  return resident !== false && ownEntry(configSource(config)) !== undefined;
}

async function show(
  entry: ControlEntry,
  what: string,
  port: number,
  { open }: WebOptions,
  { output, interrupt }: Context,
): Promise<number> {
  const page = await openWeb(entry, port);
  try {
    await output.data(
      output.json ? `${JSON.stringify({ url: page.url, port: page.port })}\n` : `${page.url}\n`,
    );
    output.note(`the page shows ${what}; the address opens it once. Ctrl-C ends it`);
    if (open === true) {
      const { openBrowser } = await import('@bulkhead/runtime');
      if (!(await openBrowser(page.url))) output.note('no browser could be opened; open the address by hand');
    }
    await interrupt.race(new Promise(() => {}));
    return exitCode.ok;
  } finally {
    await page.close();
  }
}

function descriptionOf({ servers }: LoadedConfig) {
  const facts = new Map(
    servers.map(({ name, scope, spec }) => [name, { scope, lazy: spec.lifecycle === 'lazy' }]),
  );
  return { describe: (server: string) => facts.get(server) };
}
