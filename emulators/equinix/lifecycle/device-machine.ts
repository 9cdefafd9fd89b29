import type { MachineHooks, SimulatedDevice } from '../../kit/hooks.ts';
import type { Core } from '../core.ts';
import type { Machines } from './machines.ts';
import type { Device } from '../state/state.ts';
import { createAddresses } from '../state/addresses.ts';

/** The simulated machine behind a device follows what happens to the device. */
export interface DeviceMachines {
  /** Asks where the machine listens and publishes it; a paper device gets made-up addresses. */
  assign(device: Device): void;
  /**
   * Calls back when the device has its addresses: at once when it has them, else after a last
   * attempt to get them, failed or not.
   */
  whenAssigned(device: Device, then: () => void): void;
  up(device: Device): void;
  down(device: Device): void;
  /** Calls back when the machine has given everything back; never when it fails to. */
  gone(device: Device, then: () => void): void;
}

export function createDeviceMachines(core: Core, machines: Machines): DeviceMachines {
  const exists = (device: Device) => machines.exist && !device.machine.paper;

  const publish = (device: Device, address?: string) => {
    const shown = device.addresses.find((one) => one.public && one.family === 4)?.address;
    const moved = address !== undefined && shown !== undefined && shown !== address;
    if (device.addresses.length > 0 && !moved) return;
    device.addresses = createAddresses(core.state, device, address);
    device.updatedAtMs = core.now();
    core.changed();
  };
  const ask = async (device: Device, hooks: MachineHooks) => {
    if (device.state === 'deleted') return;
    const { address, sshPort } = await hooks.assign(described(device));
    device.machine.sshPort = sshPort;
    publish(device, address);
    core.changed();
  };
  const boot = async (device: Device, hooks: MachineHooks) => {
    if (device.machine.wipePending) await hooks.reinstalled(device.id, described(device));
    device.machine.wipePending = false;
    core.changed();
    if (device.machine.up) await hooks.up(device.id);
  };

  return {
    assign: (device) => {
      if (exists(device)) machines.tell(device.id, 'assign', (hooks) => ask(device, hooks));
      else publish(device);
    },
    whenAssigned: (device, then) => {
      if (device.addresses.length > 0) {
        then();
      } else if (!exists(device)) {
        publish(device);
        then();
      } else {
        machines.tell(device.id, 'assign', async (hooks) => {
          try {
            if (device.addresses.length === 0) await ask(device, hooks);
          } finally {
            then();
          }
        });
      }
    },
    up: (device) => {
      device.machine.up = true;
      if (exists(device)) machines.tell(device.id, 'up', (hooks) => boot(device, hooks));
    },
    down: (device) => {
      device.machine.up = false;
      if (exists(device)) machines.tell(device.id, 'down', (hooks) => hooks.down(device.id));
    },
    gone: (device, then) => {
      if (!exists(device)) {
        device.machine.gone = true;
        then();
        return;
      }
      machines.tell(device.id, 'gone', async (hooks) => {
        await hooks.gone(device.id);
        device.machine.gone = true;
        then();
      });
    },
  };
}

const described = ({ id, hostname, authorizedKeys, userdata }: Device): SimulatedDevice => ({
  id,
  hostname,
  authorizedKeys,
  userdata,
});
