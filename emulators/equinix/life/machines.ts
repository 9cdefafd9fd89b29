import type { MachineHooks } from '../../kit/hooks.ts';
import type { Machines } from '../../kit/machines.ts';
import type { EquinixCore } from '../core.ts';
import { createAddresses } from '../state/addresses.ts';
import type { EquinixDevice } from '../state/state.ts';

export type DeviceMachines = ReturnType<typeof createDeviceMachines>;

type Tell = (hooks: MachineHooks) => Promise<void>;

/** The simulated machine behind a device follows the device's events. */
export function createDeviceMachines({ state, now, changed }: EquinixCore, machines: Machines) {
  /** Queues a call; false: there is no machine. */
  const tell = (device: EquinixDevice, what: string, call: Tell): boolean => {
    const exists = machines.exist && !device.machine.paper;
    if (exists) machines.tell(device.id, what, call);
    return exists;
  };
  const publish = (device: EquinixDevice, address?: string) => {
    const shown = device.addresses.find((one) => one.public && one.family === 4)?.address;
    if (shown !== undefined && shown === (address ?? shown)) return;
    device.addresses = createAddresses(state, device.id, address);
    device.updatedAtMs = now();
    changed();
  };
  const ask = async (device: EquinixDevice, hooks: MachineHooks) => {
    if (device.state === 'deleted') return;
    const { address, sshPort } = await hooks.assign(described(device));
    device.machine.sshPort = sshPort;
    publish(device, address);
    changed();
  };

  return {
    /**
     * Asks for the machine's address and publishes it; a device on paper gets invented addresses.
     */
    assign(device: EquinixDevice): void {
      if (!tell(device, 'assign', (hooks) => ask(device, hooks))) publish(device);
    },
    /**
     * Calls back when the device has its addresses: at once if it has them, otherwise after a last
     * attempt, successful or not.
     */
    whenAssigned(device: EquinixDevice, then: () => void): void {
      if (device.addresses.length > 0) return then();
      const isAsked = tell(device, 'assign', async (hooks) => {
        try {
          if (device.addresses.length === 0) await ask(device, hooks);
        } finally {
          then();
        }
      });
      if (isAsked) return;
      publish(device);
      then();
    },
    up(device: EquinixDevice): void {
      const { machine, id } = device;
      machine.up = true;
      tell(device, 'up', async (hooks) => {
        if (machine.wipePending) await hooks.reinstalled(id, described(device));
        machine.wipePending = false;
        changed();
        if (machine.up) await hooks.up(id);
      });
    },
    down(device: EquinixDevice): void {
      device.machine.up = false;
      tell(device, 'down', (hooks) => hooks.down(device.id));
    },
    /** Calls back when the machine has released everything; never if that fails. */
    gone(device: EquinixDevice, then: () => void): void {
      const isAsked = tell(device, 'gone', async (hooks) => {
        await hooks.gone(device.id);
        then();
      });
      if (!isAsked) then();
    },
  };
}

const described = ({ id, authorizedKeys, fields: { hostname, userdata } }: EquinixDevice) => ({
  ...{ id, hostname, authorizedKeys, userdata },
});
