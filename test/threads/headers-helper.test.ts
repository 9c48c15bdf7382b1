/** Headers from a command. */
import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { useCensus } from '../support/census.js';
import { useHttp } from '../support/http-script.js';
import { useRuntime } from '../support/runtime.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus();
const directory = useTempDir();
const start = useRuntime(directory);
const serve = useHttp();

describe('headersHelper', () => {
  it('is run for the connection and its headers go out, over the configured ones', async () => {
    const server = await serve();
    const file = directory('token');
    writeFileSync(file, 'Bearer fresh');
    const headersHelper = `printf '{"authorization":"%s","X-Name":"%s"}' "$(cat '${file}')" "$BULKHEAD_SERVER_NAME"`;
    const headers = { Authorization: 'Bearer old', 'X-Kept': '1' };
    const runtime = await start({ api: { url: server.url, headers, headersHelper, protocol: 'legacy' } });
    expect(await runtime.ready()).toMatchObject({ ok: true });
    expect(server.posted('initialize')[0]?.headers).toMatchObject({
      authorization: 'Bearer fresh',
      'x-name': 'api',
      'x-kept': '1',
    });
  });

  it.each([
    ['echo no >&2; exit 3', 'failed (3): no'],
    ['echo hello', 'did not print JSON'],
    [`echo '{"X": 1}'`, 'must print one JSON object'],
  ])('`%s` is the reason why the server does not start', async (headersHelper, words) => {
    const server = await serve();
    const entry = { url: server.url, headersHelper };
    const runtime = await start({ api: entry }, { limits: { restartMax: 0 } });
    const report = await runtime.ready();
    expect(report.failed[0]?.reason).toMatchObject({ kind: 'headers-helper' });
    expect(report.failed[0]?.reason?.message).toContain(words);
  });
});
