import { createMemoryDisk } from './memory-disk.ts';
import type { MachineHooks, SimulatedDevice } from '../../emulators/kit/hooks.ts';
import type { Random } from '../../src/adapters/clock/port.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import { INSTANCE_SECRET_PATH } from '../../src/domain/provisioning/provider-tags.ts';
import { createFakeHost, type FakeHost } from './fake-shell.ts';

interface HookedMachine {
  readonly host: FakeHost;
  /** Name by which the shell finds it. */
  readonly name: string;
  /** Script of the coming first boot; null: none is coming. */
  script: string | null;
}

/** Machines in memory behind the devices of an emulator, for the fake shell. */
export function createHookedMachines({ uuid }: Random) {
  const hosts = new Map<string, FakeHost>();
  const machines = new Map<string, HookedMachine>();
  let made = 0;
  const newKey = () => Buffer.from(uuid()).toString('base64');
  const find = (deviceId: string) => machines.get(deviceId)!;
  const hooks: MachineHooks = {
    async assign({ id, userdata = '' }: SimulatedDevice) {
      made += 1;
      const address = `192.0.2.${made}`;
      const host = createFakeHost({ hostKey: newKey(), unreachable: true });
      const name = `${address}:22`;
      machines.set(id, { host, name, script: userdata });
      hosts.set(name, host);
      return { address, sshPort: 22 };
    },
    async up(id) {
      const machine = find(id);
      const { host, script } = machine;
      if (script !== null) {
        const disk = createMemoryDisk(silentLog);
        await disk.runScript(script);
        host.secret = disk.files.get(INSTANCE_SECRET_PATH) ?? null;
        machine.script = null;
      }
      Object.assign(host, { bootId: uuid(), unreachable: false });
    },
    async down(id) {
      find(id).host.unreachable = true;
    },
    async reinstalled(id, { userdata = '' }) {
      const machine = find(id);
      machine.script = userdata;
      Object.assign(machine.host, { hostKey: newKey(), secret: null });
    },
    async gone(id) {
      hosts.delete(find(id).name);
      machines.delete(id);
    },
  };
  return { hosts, hooks };
}
