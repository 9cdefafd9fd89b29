import { createDriverShell } from '../../src/adapters/ssh/driver-shell.ts';
import type { Log } from '../../src/adapters/log/port.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import type { DriverShell, DriverShellTarget } from '../../src/adapters/provider/port.ts';
import { createFakeShell, type FakeHost, type FakeShellOptions } from './fake-shell.ts';

export interface FakeDriverShell {
  readonly shell: DriverShell;
  /** Who was connected to, in order, with what key file. */
  readonly targets: readonly Pick<DriverShellTarget, 'keyFile' | 'limits'>[];
}

/**
 * SSH of drivers to machines in a map (by `host:port`). What a machine's `run` is given is the command
 * itself: whatever carried its environment is taken off, and told as words before it, such as `NAME='value'`.
 */
export function createFakeDriverShell({
  hosts,
  log = silentLog,
  ...options
}: FakeShellOptions & { readonly log?: Log }): FakeDriverShell {
  const targets: Pick<DriverShellTarget, 'keyFile' | 'limits'>[] = [];
  const bare = {
    get: (name: string): FakeHost | undefined => {
      const host = hosts.get(name);
      return host && withBareCommands(host);
    },
  };
  const shellFor = ({ keyFile, limits }: DriverShellTarget) => {
    targets.push({ keyFile, ...(limits && { limits }) });
    return createFakeShell({ ...options, hosts: bare, limits: { ...options.limits, ...limits } });
  };
  const shell = createDriverShell({
    shellFor: (target) => shellFor(target as DriverShellTarget),
    log,
  });
  return { shell, targets };
}

const withBareCommands = (host: FakeHost): FakeHost =>
  new Proxy(host, {
    get: (target, property) =>
      property === 'run'
        ? (argv: readonly string[], stdin: Buffer) => target.run(...bareCommand(argv, stdin))
        : Reflect.get(target, property),
  });

function bareCommand(argv: readonly string[], stdin: Buffer): [readonly string[], Buffer] {
  const [program, , script = '', length] = argv;
  if (program !== 'sh' || !script.startsWith('eval "$(dd')) return [argv, stdin];
  const exports = stdin.subarray(0, Number(length)).toString();
  const variables = exports.split('\n').flatMap((line) => line.replace(/^export /, '') || []);
  return [[...variables, ...argv.slice(4)], stdin.subarray(Number(length))];
}
