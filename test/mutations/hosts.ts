import { mistakesNamed, type Mutation } from './mutation.ts';

const HOSTS = 'src/simulator/hosts';
const LOOPBACK = 'src/adapters/provider/loopback';
const STUB = 'src/adapters/provider/stub/host';
const OF_HOSTS = ['test/simulator/hosts/host.test.ts'];

/** The one pretended host, and whoever shows it. */
export const mutations: readonly Mutation[] = [
  ...mistakesNamed(
    { file: `${HOSTS}/host.ts`, tests: OF_HOSTS },
    ['a-reboot-keeps-the-boot-id', 'bootId = id;', 'bootId ??= id;'],
    ['a-boot-has-the-id-of-the-last-one', 'if (next !== bootId) return next;', 'return next;'],
    ['the-agent-outlives-the-power', 'if (mayRun) await programs.end();', ''],
    ['what-is-off-is-reachable', 'await door.close();\n    if (isUnknown)', 'if (isUnknown)'],
    ['an-installation-keeps-the-disk', 'await disk.wipe();', ''],
    [
      'a-new-system-has-no-first-boot',
      'await update({ ...change, initialized: false });',
      'await update(change);',
    ],
    ['the-script-runs-at-each-boot', 'if (!system.initialized) {', '{'],
    [
      'power-comes-by-asking',
      'if (isOn || isClosed || isPowerless) return;',
      'if (isOn || isClosed) return;',
    ],
    [
      'power-that-is-back-boots-what-was-off',
      'else if (isWanted) await powerOn();',
      'else await powerOn();',
    ],
    ['a-reboot-does-not-cure-a-hanging-host', 'if (isHanging) freeze(false);', ''],
    [
      'a-reboot-ends-refusing',
      "if (refusing !== 'connection') await door.open();",
      'await door.open();',
    ],
    [
      'the-agent-of-an-earlier-process-returns-at-each-boot',
      'if (isFirst) await programs.resume?.();',
      'await programs.resume?.();',
    ],
    [
      'the-end-of-the-simulator-ends-programs',
      'await service?.close();\n        await door.close();',
      'await programs.end();\n        await door.close();',
    ],
  ),
  ...mistakesNamed(
    { file: `${HOSTS}/disk.ts`, tests: ['test/simulator/hosts/init-script.test.ts', ...OF_HOSTS] },
    [
      'run-outlives-a-reboot',
      'await rm(join(root, VOLATILE), { recursive: true, force: true });',
      '',
    ],
    [
      'run-in-memory-outlives-a-reboot',
      'if (path.startsWith(`${VOLATILE}/`)) files.delete(path);',
      ';',
    ],
    ['files-of-the-first-boot-are-for-all', 'await chmod(file, mode | 0o600);', ''],
  ),
  ...mistakesNamed(
    {
      file: `${HOSTS}/keys.ts`,
      tests: ['test/adapters/provider/loopback/loopback-provider.test.ts'],
    },
    ['any-key-lets-in', 'if (!key) return false;', 'if (!key) return true;'],
  ),
  ...mistakesNamed(
    {
      file: `${HOSTS}/simulated-hosts.ts`,
      tests: ['test/simulator/hosts/simulated-hosts.test.ts'],
      named: 'keeps host key',
    },
    [
      'a-new-system-has-the-old-host-key',
      'const hostKey = generateHostKey();',
      'const { hostKey } = find(deviceId).system();',
    ],
  ),
  ...mistakesNamed(
    {
      file: `${LOOPBACK}/processes.ts`,
      tests: ['test/adapters/provider/loopback/loopback-provider.test.ts'],
    },
    [
      'what-left-its-group-outlives-a-reboot',
      'return killAll(() => processesByMachine().get(bootIdFile) ?? []);',
      'return 0;',
    ],
  ),
  ...mistakesNamed(
    {
      file: `${LOOPBACK}/host.ts`,
      tests: ['test/adapters/provider/loopback/loopback-provider.test.ts'],
    },
    [
      'another-process-is-elbowed-out',
      "state.power === 'on' && (await answers(state.port))",
      'false',
    ],
    ['a-restart-of-the-daemon-is-a-reboot', 'await host.wake();', 'await host.on();'],
    ['what-was-only-looked-at-is-up', 'host?.state().up === true', 'host !== null'],
  ),
  ...mistakesNamed(
    { file: `${STUB}/ssh-machines.ts`, tests: ['test/adapters/provider/stub/machines.test.ts'] },
    ['what-is-off-lets-in', 'if (host.machine.state().up) return', 'if (host.machine) return'],
    ['connections-outlive-a-reboot', 'for (const server of servers) server.cut();', ''],
  ),
];
