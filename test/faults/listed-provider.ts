import type { DriverMachine, Provider } from '../../src/adapters/provider/port.ts';
import { ProviderError } from '../../src/domain/errors.ts';
import { SET_ID_TAG } from '../../src/domain/provisioning/provider-tags.ts';
import { INSTANCE_SET } from './daemon.ts';
import type { MachineInfo } from './messages.ts';

/** A provider with a fixed list of devices, which can only be rebooted. */
export function createListedProvider(
  machines: readonly MachineInfo[],
  reboot: (machine: MachineInfo) => Promise<void>,
): Provider {
  const devices = new Map(machines.map((machine) => [machine.deviceId, machine]));
  const find = (id: string): MachineInfo => {
    const found = devices.get(id);
    if (!found) throw new ProviderError('not-found', `no device ${id}`);
    return found;
  };
  const unlessAborted = ({ signal }: { readonly signal: AbortSignal }) => {
    if (signal.aborted) throw new ProviderError('aborted', 'not asked', { cause: signal.reason });
  };
  const cannot = () => Promise.reject(new ProviderError('not-implemented', 'it is only listed'));
  return {
    capabilities: {
      create: true,
      deprovision: false,
      reboot: true,
      reinstall: false,
      power: false,
      tags: false,
      hostKey: false,
      consistentList: true,
      maxConcurrency: 64,
    },
    async listMachines(_, options) {
      unlessAborted(options);
      return { machines: machines.map(deviceOf), complete: true };
    },
    async getMachine(id, options) {
      unlessAborted(options);
      return deviceOf(find(id));
    },
    async rebootMachine(id, _, options) {
      const device = find(id);
      unlessAborted(options);
      await reboot(device);
      return { operationRef: `reboot of ${id}` };
    },
    createMachine: cannot,
    deprovisionMachine: cannot,
    reinstallMachine: cannot,
    setTags: cannot,
    verifyHostKey: cannot,
    capacityGroup: ({ name }) => name,
    stop: async () => undefined,
  };
}

const deviceOf = (machine: MachineInfo): DriverMachine => ({
  id: machine.deviceId,
  reservationId: machine.reservationId,
  hostname: `machine-${machine.reservationId}`,
  plan: 'memory',
  location: machine.location,
  address: machine.address,
  availability: 'KnownUsed',
  status: 'Running',
  power: 'on',
  tags: { [SET_ID_TAG]: INSTANCE_SET },
});
