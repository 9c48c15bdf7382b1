/** The tool that a command line names: `<server>.<tool>` or the full name. Server and tool names may hold dots. Pure. */
import { usageError } from './context.js';

export type Target = { server: string; tool: string } | { fullName: string; candidates: string[] };

/**
 * The longest known server name that `text` starts with wins.
 * @throws {BulkheadError} `BAD_INPUT` for text of another shape; `unknownServer` decides about unknown servers.
 */
export function parseTarget(
  text: string,
  servers: readonly string[],
  unknownServer: (name: string) => Error,
): Target {
  const [server] = servers
    .filter((name) => text.startsWith(`${name}.`) && text.length > name.length + 1)
    .sort((a, b) => b.length - a.length);
  if (server !== undefined) return { server, tool: text.slice(server.length + 1) };
  if (text.startsWith('mcp__')) {
    // Altered names fit no server by their text; then every server may have the tool.
    const fitting = servers.filter((name) => text.startsWith(`mcp__${name}__`));
    return { fullName: text, candidates: fitting.length > 0 ? fitting : [...servers] };
  }
  const dot = text.indexOf('.');
  if (dot <= 0 || dot === text.length - 1) {
    throw usageError(`expected <server>.<tool>, for example files.read_file, got "${text}"`);
  }
  throw unknownServer(text.slice(0, dot));
}
