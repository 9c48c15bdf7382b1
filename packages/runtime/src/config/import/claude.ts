/** Claude Code (`~/.claude.json`, with servers of one project below `projects`) and Claude Desktop. */
import { join } from 'node:path';
import { appDirectory, membersOf, type OtherHost, Reading } from './host.js';

export const claude: OtherHost = {
  format: 'json',
  files({ home, cwd, env }) {
    const own = env.get('CLAUDE_CONFIG_DIR');
    return [{ path: join(own ?? home, '.claude.json') }, { path: join(cwd, '.mcp.json'), isOurs: true }];
  },
  servers(root, { cwd }) {
    const all = membersOf(root.get('mcpServers'));
    const project = membersOf(membersOf(membersOf(root.get('projects'))?.get(cwd))?.get('mcpServers'));
    return all === undefined && project === undefined
      ? undefined
      : new Map([...(all ?? []), ...(project ?? [])]);
  },
  translate(entry) {
    const reading = new Reading(entry)
      .same('type', 'command', 'args', 'env', 'cwd', 'url', 'headers', 'headersHelper', 'timeout')
      .ignore('alwaysLoad', 'scope');
    const oauth = membersOf(reading.value('oauth'));
    if (oauth !== undefined) {
      const auth = new Map<string, unknown>();
      for (const [theirs, ours] of [
        ['clientId', 'clientId'],
        ['callbackPort', 'redirectPort'],
      ] as const) {
        if (oauth.has(theirs)) auth.set(ours, oauth.get(theirs));
      }
      if (auth.size > 0) reading.set('auth', auth);
    }
    return reading.done();
  },
};

export const claudeDesktop: OtherHost = {
  format: 'json',
  files: (context) => [{ path: join(appDirectory(context), 'Claude', 'claude_desktop_config.json') }],
  servers: (root) => membersOf(root.get('mcpServers')),
  translate: (entry) =>
    new Reading(entry).same('type', 'command', 'args', 'env', 'cwd', 'url', 'headers').done(),
};
