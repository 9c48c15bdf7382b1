/** What a server would run, field by field, for the person who decides about it: nothing left out, nothing masked. */
import { type LoadedServer, printable } from '@bulkhead/runtime';

/** Lines of `name: value`, as written: variables are not expanded. */
export function launchText(
  { name, file, line, written }: LoadedServer,
  changes: readonly string[] = [],
): string {
  const { type, command, args, env, inheritEnv, cwd, url, headers, headersHelper, auth, trust } = written;
  const rows: [string, string | undefined][] = [
    ['from', file === undefined ? undefined : `${file}${line === undefined ? '' : `:${line}`}`],
    ['type', type],
    ['command', command],
    [
      'args',
      args === undefined || args.length === 0 ? undefined : args.map((arg) => JSON.stringify(arg)).join(' '),
    ],
    ['env', names(env)],
    ['inheritEnv', inheritEnv === true ? 'yes: it gets every variable of this terminal' : undefined],
    ['cwd', cwd],
    ['url', url],
    ['headers', names(headers)],
    ['headersHelper', headersHelper],
    ['auth', names(auth)],
    ['trust', trust === true ? 'yes: what its tools say of themselves would be believed' : undefined],
    ...changes.map((change): [string, string] => ['changed', change]),
  ];
  const shown = rows.flatMap(([label, value]) =>
    value === undefined ? [] : [`  ${label}: ${printable(value)}`],
  );
  return [`server "${printable(name)}"`, ...shown].join('\n');
}

function names(list: readonly string[] | undefined): string | undefined {
  return list === undefined || list.length === 0 ? undefined : list.join(', ');
}
