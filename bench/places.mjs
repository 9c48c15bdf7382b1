/** Where the measured things lie, and the limits that every peer is given alike. */
import { fileURLToPath } from 'node:url';

const from = (path) => fileURLToPath(new URL(path, import.meta.url));

export const BENCH = from('.');
export const ECHO = from('../examples/echo/server.mjs');
export const MISCHIEF = from('./servers/mischief.mjs');
export const HTTP_ECHO = from('./servers/http-echo.mjs');
export const CLI = from('../packages/cli/dist/main.js');
export const HOST = from('./host.mjs');

/** Room for a JSON text that holds 64 MB of text with its quotes and line ends escaped. */
export const MAX_MESSAGE_BYTES = 128 * 1024 * 1024;
