import { chmodSync } from 'node:fs';
import { beforeEach, describe, expect, test } from 'vitest';
import { FakeAuthorization } from '../fixtures/auth/authorization-server.js';
import { useCensus } from '../support/census.js';
import { useTempDir } from '../support/temp-dir.js';
import { makeProject, type Project, userFile } from './project.js';

useCensus();
const directory = useTempDir();
let project: Project;
beforeEach(() => {
  project = makeProject(directory);
});

function servers(entries: Record<string, object>): void {
  project.write(userFile(project), { mcpServers: entries });
}

describe('login and logout', () => {
  test('open a browser once, keep the sign-in for the next run, and forget it', async () => {
    const authorization = await FakeAuthorization.start({ speaks: true });
    try {
      servers({ remote: { url: authorization.mcpUrl } });
      // A browser that follows where it is sent: the person agrees at once.
      const browser = project.write(
        project.path('bin', 'xdg-open'),
        `#!/bin/sh\nexec "${process.execPath}" -e 'fetch(process.argv[1]).then(r => r.text())' "$1"\n`,
      );
      chmodSync(browser, 0o755);
      const env = { PATH: `${project.path('bin')}:${process.env.PATH}` };
      expect(await project.run(['tools', 'remote'], { env })).toMatchObject({ code: 3 });
      const first = await project.run(['login', 'remote', '--json'], { env });
      expect(first, first.stderr).toMatchObject({ code: 0, stdout: '{"server":"remote","signedIn":true}\n' });
      expect(await project.run(['tools', 'remote'])).toMatchObject({ code: 0 });
      expect(await project.run(['login', 'remote'])).toMatchObject({
        code: 0,
        stderr: expect.stringMatching(/no sign-in was needed/),
      });
      expect(await project.run(['logout', 'remote'])).toMatchObject({
        code: 0,
        stderr: expect.stringMatching(/signed out/),
      });
      expect(await project.run(['logout', 'remote'])).toMatchObject({
        code: 0,
        stderr: expect.stringMatching(/nobody was signed in/),
      });
      expect(await project.run(['tools', 'remote'])).toMatchObject({ code: 3 });
    } finally {
      await authorization.stop();
    }
  });

  test('are refused for a program, and where the entry sends its own header', async () => {
    servers({
      program: { command: 'node' },
      fixed: { url: 'https://x.example', headers: { authorization: 'Bearer x' } },
    });
    for (const command of ['login', 'logout']) {
      expect(await project.run([command, 'program'])).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/is a program/),
      });
      expect(await project.run([command, 'fixed'])).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/Authorization header/),
      });
    }
  });
});
