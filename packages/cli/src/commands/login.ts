/** `bulkhead login` and `bulkhead logout`: a person's sign-in to a remote server, kept for later runs. */
import { type LoadedConfig, openBrowser } from '@bulkhead/runtime';
import { type AuthSettings, BulkheadError, forgetSignIn } from '@bulkhead/workers';
import { type CommonOptions, type Context, time } from '../context.js';
import { exitCode } from '../exit-codes.js';
import { plain } from '../output.js';
import { notReady, oneServer } from '../ready-servers.js';
import { atOnce, openConfig, withRuntime } from '../session.js';

export interface LoginCommandOptions extends CommonOptions {
  browser: boolean;
}

/** A person reads, looks for a password and confirms on a telephone. */
const DEFAULT_TIMEOUT_MS = 6 * 60_000;

export async function login(server: string, options: LoginCommandOptions, context: Context): Promise<number> {
  const { output, interrupt } = context;
  const timeoutMs = time('--timeout', options.timeout) ?? DEFAULT_TIMEOUT_MS;
  const config = await remote(server, options, context);
  let asked = false;
  const authorize = async (url: string): Promise<void> => {
    asked = true;
    const opened = options.browser && (await openBrowser(url));
    const what = opened ? 'a browser was opened; if it shows nothing, open' : 'open this in a browser';
    output.note(`sign in to "${plain(server)}": ${what}: ${plain(url)}`);
  };
  return withRuntime(
    atOnce(config),
    context,
    async (runtime) => {
      const report = await interrupt.race(runtime.ready({ servers: [server], timeoutMs }));
      const [failure] = report.failed;
      if (failure !== undefined) {
        const code = failure.state === 'needs-auth' ? 'DENIED' : 'NOT_READY';
        throw new BulkheadError(code, notReady(failure), { server });
      }
      output.note(`${asked ? 'signed in' : 'no sign-in was needed: it answers'} (server "${plain(server)}")`);
      if (output.json) await output.data(`${JSON.stringify({ server, signedIn: asked })}\n`);
      return exitCode.ok;
    },
    { handlers: { authorize } },
  );
}

export async function logout(server: string, options: CommonOptions, context: Context): Promise<number> {
  const { output } = context;
  const { url, settings } = endpointOf(server, await remote(server, options, context));
  const had = await forgetSignIn(url, settings);
  output.note(
    had ? `signed out of server "${plain(server)}"` : `nobody was signed in to server "${plain(server)}"`,
  );
  if (output.json) await output.data(`${JSON.stringify({ server, signedOut: had })}\n`);
  return exitCode.ok;
}

async function remote(server: string, options: CommonOptions, context: Context): Promise<LoadedConfig> {
  const config = oneServer(server, await openConfig(options, context, (name) => name === server));
  endpointOf(server, config);
  return config;
}

/** @throws {BulkheadError} `BAD_INPUT` for servers to which nobody signs in. */
function endpointOf(server: string, { servers }: LoadedConfig): { url: string; settings: AuthSettings } {
  const launch = servers[0]?.spec.launch;
  if (launch === undefined || launch.type === 'stdio') {
    const message = `server "${server}" is a program on this machine; give it credentials with "env" in its entry`;
    throw new BulkheadError('BAD_INPUT', message, { server });
  }
  if (launch.headers.some(([name]) => name.toLowerCase() === 'authorization')) {
    const message = `server "${server}" gets the Authorization header of its entry; take it out to sign in`;
    throw new BulkheadError('BAD_INPUT', message, { server });
  }
  return { url: launch.url, settings: launch.auth ?? {} };
}
