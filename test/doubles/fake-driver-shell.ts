import { createDriverShell } from '../../src/adapters/ssh/driver-shell.ts';
import type { Log } from '../../src/adapters/log/port.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import type { DriverShell, DriverShellTarget } from '../../src/adapters/provider/port.ts';
import { createFakeShell, type FakeHost, type FakeShellOptions } from './fake-shell.ts';

export interface FakeDriverShell {
  readonly shell: DriverShell;
  /** Targets of all connections in order, with their key files. */
  readonly targets: readonly Pick<DriverShellTarget, 'keyFile' | 'limits'>[];
}

/**
 * The drivers' SSH to machines in a map (by `host:port`). A machine's `run` receives the bare
 * command: wrappers that carried its environment are removed, and the environment precedes it as
 * words such as `NAME='value'`.
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
