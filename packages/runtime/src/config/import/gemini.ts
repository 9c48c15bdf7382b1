/** Gemini CLI (`settings.json`): `url` is SSE and `httpUrl` is HTTP there, and `$NAME` is a reference. */
import { join } from 'node:path';
import { type Members, mapTexts, membersOf, type OtherHost, Reading } from './host.js';

export const gemini: OtherHost = {
  format: 'json',
  files: ({ home, cwd }) => [
    { path: join(home, '.gemini', 'settings.json') },
    { path: join(cwd, '.gemini', 'settings.json') },
  ],
  servers: (root) => membersOf(root.get('mcpServers')),
  translate(entry) {
    const braced = (text: string) => text.replaceAll(/\$([A-Za-z_][A-Za-z0-9_]*)/g, '$${$1}');
    const reading = new Reading(mapTexts(entry, braced) as Members).same(
      'command',
      'args',
      'env',
      'cwd',
      'headers',
      'timeout',
    );
    const http = reading.value('httpUrl');
    const url = reading.value('url');
    const type = reading.value('type');
    if (http !== undefined) {
      reading.set('type', 'http');
      reading.set('url', http);
    } else if (url !== undefined) {
      reading.set('type', type ?? 'sse');
      reading.set('url', url);
    }
    return reading.done();
  },
};
