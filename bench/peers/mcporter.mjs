/** `createRuntime()` of `mcporter`: servers by name, each connected on first use. */
import { connectEach } from './each.mjs';
import { importFrom } from './installed.mjs';

export async function connect(servers, options) {
  const { createRuntime } = await importFrom(options.directory, 'mcporter');
  const silent = { info() {}, warn() {}, error() {} };
  const runtime = await createRuntime({
    servers: Object.entries(servers).map(([name, { args, url }]) => ({
      name,
      command:
        url === undefined
          ? { kind: 'stdio', command: process.execPath, args, cwd: process.cwd() }
          : { kind: 'http', url: new URL(url) },
    })),
    logger: silent,
  });
  await connectEach(
    servers,
    options,
    (name) => runtime.listTools(name),
    () => {},
  );
  return {
    call: (server, tool, args) => runtime.callTool(server, tool, { args }),
    decode: (result) => result.content,
    close: () => runtime.close(),
  };
}
