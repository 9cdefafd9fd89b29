import type { FleetProvider } from '../../src/adapters/provider/port.ts';
import { ProviderError } from '../../src/domain/errors.ts';
import type { ProviderMachine } from '../../src/domain/machine.ts';
import { scriptedProvider } from '../doubles/scripted-provider.ts';
import type { MachineInfo } from './messages.ts';

/** A provider whose devices are given once and for all. */
export function createListedProvider(
  machines: readonly MachineInfo[],
  reboot: (machine: MachineInfo) => Promise<void>,
): FleetProvider {
  const devices = new Map(machines.map((machine) => [machine.deviceId, machine]));
  const find = (id: string): MachineInfo => {
    const found = devices.get(id);
    if (!found) throw new ProviderError('not-found', `no device ${id}`);
    return found;
  };
  const unlessAborted = ({ signal }: { readonly signal: AbortSignal }) => {
    if (signal.aborted) throw new ProviderError('aborted', 'not asked', { cause: signal.reason });
  };
  const { capabilities } = scriptedProvider();
  return scriptedProvider({
    type: 'listed',
    capabilities: { ...capabilities, create: false },
    async listMachines(options) {
      unlessAborted(options);
      return { machines: machines.map(deviceOf), complete: true };
    },
    async getMachine(id, options) {
      unlessAborted(options);
      return deviceOf(find(id));
    },
    async rebootMachine(id, _mode, options) {
      const device = find(id);
      unlessAborted(options);
      await options.beforeSending?.();
      await reboot(device);
      return { operationRef: `reboot of ${id}` };
    },
  });
}

const deviceOf = (machine: MachineInfo): ProviderMachine => ({
  id: machine.deviceId,
  reservationId: machine.reservationId,
  hostname: `machine-${machine.reservationId}`,
  plan: 'memory',
  location: machine.location,
  address: machine.address,
  remoteUser: 'root',
  availability: 'KnownUsed',
  failed: false,
  status: 'Running',
  power: 'on',
  tags: {},
  ownership: 'ours',
  observedAtMs: Date.now(),
});
