/** Codex (`~/.codex/config.toml`): names of variables in place of references to them, times in seconds. */
import { join } from 'node:path';
import { membersOf, type OtherHost, Reading } from './host.js';

export const codex: OtherHost = {
  format: 'toml',
  files: ({ home, env }) => [{ path: join(env.get('CODEX_HOME') ?? join(home, '.codex'), 'config.toml') }],
  servers: (root) => membersOf(root.get('mcp_servers')),
  translate(entry) {
    const reading = new Reading(entry).same('command', 'args', 'cwd', 'url');
    const env = new Map(membersOf(reading.value('env')) ?? []);
    const passed = reading.value('env_vars');
    for (const variable of Array.isArray(passed) ? passed : []) {
      if (typeof variable === 'string' && !env.has(variable)) env.set(variable, reference(variable));
      else if (typeof variable !== 'string') reading.notes.push('an entry of "env_vars" is not taken over');
    }
    if (env.size > 0) reading.set('env', env);

    const headers = new Map(membersOf(reading.value('http_headers')) ?? []);
    for (const [header, variable] of membersOf(reading.value('env_http_headers')) ?? []) {
      headers.set(header, reference(String(variable)));
    }
    const token = reading.value('bearer_token_env_var');
    if (typeof token === 'string') headers.set('Authorization', `Bearer ${reference(token)}`);
    if (headers.size > 0) reading.set('headers', headers);

    if (reading.value('enabled') === false) reading.set('disabled', true);
    const startMs = reading.value('startup_timeout_ms') ?? milliseconds(reading.value('startup_timeout_sec'));
    reading.set('startupTimeoutMs', startMs);
    reading.set('callTimeoutMs', milliseconds(reading.value('tool_timeout_sec')));
    return reading.ignore('required').done();
  },
};

function reference(variable: string): string {
  return `\${${variable}}`;
}

function milliseconds(seconds: unknown): number | undefined {
  return typeof seconds === 'number' ? Math.round(seconds * 1_000) : undefined;
}
