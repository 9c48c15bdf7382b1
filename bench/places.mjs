/** Where the measured things lie, from the root of the repository. */
import { fileURLToPath } from 'node:url';

const from = (path) => fileURLToPath(new URL(path, import.meta.url));

export const ECHO = from('../examples/echo/server.mjs');
export const MISCHIEF = from('./servers/mischief.mjs');
export const CLI = from('../packages/cli/dist/main.js');
export const START_HOST = from('./scenes/start-host.mjs');
