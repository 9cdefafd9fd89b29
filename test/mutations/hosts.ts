import { mutationsOf } from './mutation.ts';

/** The one pretended host, and whoever shows it. */
export const mutations = mutationsOf`
emulators/hosts/host.ts test/emulators/hosts/host.test.ts
  a-reboot-keeps-the-boot-id: bootId {+??+}= nextBootId();
  a-boot-has-the-id-of-the-last-one: [-if (next !== bootId) -]return next;
  the-agent-outlives-the-power: [-if (mayRun) await programs.end();-]
  what-is-off-is-reachable: [-await listener.close();\n    -]if (isUnknown)
  an-installation-keeps-the-disk: [-await disk.wipe();-]
  a-new-system-has-no-first-boot: await update([-{ ...change, initialized: false }-]{+change+});
  the-script-runs-at-each-boot: [-if (!system.initialized) -]{
  power-comes-by-asking: if (isOn || isClosed[- || isPowerless-]) return;
  power-that-is-back-boots-what-was-off: else [-if (isWanted) -]await powerOn();
  a-reboot-does-not-cure-a-hanging-host: [-if (isHanging) freeze(false);-]
  a-reboot-ends-refusing: [-if (refusing !== 'connection') -]await listener.open();
  the-agent-of-an-earlier-process-returns-at-each-boot: [-if (isFirst) -]await programs.resume?.();
  the-end-of-the-simulator-ends-programs:
    await [-service?.close-]{+programs.end+}();\n        await listener.close();
emulators/hosts/disk.ts test/emulators/hosts/first-boot.test.ts test/emulators/hosts/host.test.ts
  run-outlives-a-reboot: [-await rm(join(root, VOLATILE), { recursive: true, force: true });-]
  files-of-the-first-boot-are-for-all: [-await chmod(file, mode | 0o600);-]
emulators/hosts/keys.ts test/adapters/ssh/shell.contract.test.ts
  any-key-lets-in: if (!key) return [-false-]{+true+};
emulators/hosts/user-data.ts test/emulators/hosts/first-boot.test.ts
  any-head-is-a-cloud-config: /^#cloud-config[-\\s*(\\n|$)-]/
  base64-is-written-as-it-is: encoding === '[-b64-]{+none+}'
  modes-of-files-are-unheeded: [-Number.parseInt(permissions, 8)-]{+0o644+}
  files-are-not-removed: [-await disk.remove(path)-]{+void path+}
emulators/hosts/machine.ts test/emulators/hosts/first-boot.test.ts
  anybody-logs-in: [-attempt.username === user &&-]
emulators/hosts/sftp.ts test/emulators/hosts/containment.test.ts
  uploads-lead-out-of-the-machine: [-await containedPath(root, path)-]{+(void containedPath, root + path)+}
emulators/hosts/simulated-hosts.ts test/emulators/hosts/simulated-hosts.test.ts -t keeps host key
  a-new-system-has-the-old-host-key:
    const [-hostKey = generateHostKey-]{+{ hostKey } = find(deviceId).system+}();
`;
