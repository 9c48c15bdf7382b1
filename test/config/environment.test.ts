/** B033, B034: what a server's process gets to see of the host's environment, on each platform. */
import { describe, expect, it } from 'vitest';
import {
  type ChildEnvironmentInput,
  childEnvironment,
  hostVariables,
  variableLookup,
} from '../../packages/runtime/src/config/environment.js';

function child(input: Omit<ChildEnvironmentInput, 'host'> & { host: Record<string, string> }) {
  return new Map(childEnvironment({ ...input, host: hostVariables(input.host) }));
}

const secrets = {
  AWS_SECRET_ACCESS_KEY: 's',
  GITHUB_TOKEN: 's',
  SSH_AUTH_SOCK: 's',
  NODE_OPTIONS: 's',
  PATHS: 's',
};
const shared = {
  PATH: '/bin',
  LANG: 'de_DE.UTF-8',
  LC_ALL: 'C',
  LC_TIME: 'C',
  TZ: 'UTC',
  NODE_EXTRA_CA_CERTS: '/ca.pem',
  SSL_CERT_FILE: '/ca.pem',
  SSL_CERT_DIR: '/ca',
  HTTP_PROXY: 'p',
  HTTPS_PROXY: 'p',
  NO_PROXY: 'p',
  http_proxy: 'p',
  https_proxy: 'p',
  no_proxy: 'p',
};
const posix = {
  ...shared,
  HOME: '/home/me',
  USER: 'me',
  LOGNAME: 'me',
  SHELL: '/bin/sh',
  TERM: 'xterm',
  TMPDIR: '/tmp',
  XDG_RUNTIME_DIR: '/run/1',
  XDG_DATA_HOME: '/data',
};

describe('the allow-list', () => {
  it.each(['linux', 'darwin', 'freebsd'])(
    'lets the harmless variables through on %s, and no secrets',
    (platform) => {
      expect(child({ platform, host: { ...posix, ...secrets } })).toEqual(
        new Map(Object.entries(posix).sort()),
      );
    },
  );

  it('tells upper from lower case on POSIX', () => {
    expect(child({ platform: 'linux', host: { Path: 'x', home: 'x' } })).toEqual(new Map());
  });

  it('lets through on Windows what programs need to start others, in any case', () => {
    const host = {
      Path: 'C:\\bin',
      PathExt: '.EXE;.CMD',
      ComSpec: 'C:\\cmd.exe',
      SystemRoot: 'C:\\Windows',
      windir: 'C:\\Windows',
      APPDATA: 'a',
      LocalAppData: 'b',
      TEMP: 't',
      TMP: 't',
      USERPROFILE: 'u',
      'ProgramFiles(x86)': 'p',
      HOMEDRIVE: 'C:',
      HomePath: '\\me',
      https_proxy: 'p',
    };
    expect(child({ platform: 'win32', host: { ...host, ...secrets } })).toEqual(
      new Map(Object.entries(host).sort()),
    );
  });

  it('leaves variables of Windows out elsewhere', () => {
    expect(child({ platform: 'linux', host: { PATHEXT: 'x', COMSPEC: 'x', APPDATA: 'x' } })).toEqual(
      new Map(),
    );
  });
});

describe("the entry's own env", () => {
  it('stands over the allow-list, which stays', () => {
    const own = new Map([
      ['X', '1'],
      ['HOME', '/else'],
      ['GITHUB_TOKEN', 'mine'],
    ]);
    expect(child({ platform: 'linux', host: { PATH: '/bin', HOME: '/home/me', ...secrets }, own })).toEqual(
      new Map([
        ['GITHUB_TOKEN', 'mine'],
        ['HOME', '/else'],
        ['PATH', '/bin'],
        ['X', '1'],
      ]),
    );
  });

  it('takes a variable out with null', () => {
    const own = new Map([['TERM', null]]);
    expect(child({ platform: 'linux', host: { PATH: '/bin', TERM: 'x' }, own })).toEqual(
      new Map([['PATH', '/bin']]),
    );
  });

  it('replaces and removes in any case on Windows, leaving no twin', () => {
    const host = { Path: 'C:\\bin', Temp: 't' };
    const own = new Map([
      ['PATH', 'D:\\bin'],
      ['TEMP', null],
    ]);
    expect(child({ platform: 'win32', host, own })).toEqual(new Map([['PATH', 'D:\\bin']]));
  });

  it('may hold names of inherited properties', () => {
    const own = new Map([
      ['__proto__', 'a'],
      ['constructor', 'b'],
    ]);
    expect(child({ platform: 'linux', host: {}, own })).toEqual(own);
  });
});

describe('inheritEnv', () => {
  it('passes everything, with env over it', () => {
    const own = new Map([['GITHUB_TOKEN', null]]);
    const seen = child({ platform: 'linux', host: { ...posix, ...secrets }, own, inherit: true });
    const { GITHUB_TOKEN: _, ...rest } = { ...posix, ...secrets };
    expect(seen).toEqual(new Map(Object.entries(rest).sort()));
  });
});

it.each([true, false])('exported bash functions never reach a server (inherit: %s)', (inherit) => {
  const host = { PATH: '/bin', TERM: '() { :; }; evil', 'BASH_FUNC_ls%%': '() {  evil' };
  expect(child({ platform: 'linux', host, inherit })).toEqual(new Map([['PATH', '/bin']]));
});

it('variables of a reference are found in any case on Windows only', () => {
  const host = hostVariables({ Token: 't' });
  expect(variableLookup(host, 'win32')('TOKEN')).toBe('t');
  expect(variableLookup(host, 'linux')('TOKEN')).toBeUndefined();
});
