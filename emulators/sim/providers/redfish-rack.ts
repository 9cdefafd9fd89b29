import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startRedfishEmulator } from '../../redfish/emulator.ts';
import { inventoryOf } from '../../redfish/machines/inventory.ts';
import { createRackMachines, type RackMachines } from '../../redfish/machines/machines.ts';
import type { RedfishEmulator, SystemSnapshot } from '../../redfish/options.ts';
import { LOOPBACK, SIM_SET, type SimProvider, type SimProviderOptions } from './provider.ts';

/** Below the directory of the fleet. */
export const INVENTORY = 'inventory.json';

export interface RedfishProvider extends SimProvider {
  readonly emulator: RedfishEmulator;
}

export interface Rack {
  readonly emulator: RedfishEmulator;
  readonly machines: RackMachines;
  readonly systems: readonly SystemSnapshot[];
}

export interface RackOptions {
  readonly systems: number;
  /** The machines run a system already, which is never replaced. */
  readonly isUsed: boolean;
}

/** BMCs and the machines behind them; their inventory is written for the driver. */
export async function startRack(
  { dir, hosts, publicLine, log: parent }: SimProviderOptions,
  { systems, isUsed }: RackOptions,
): Promise<Rack> {
  const log = parent.child({ component: 'redfish' });
  const machines = createRackMachines({
    ...{ hosts, log },
    ...(isUsed && { installed: [publicLine] }),
  });
  const emulator = await startRedfishEmulator({
    listen: LOOPBACK,
    systems,
    profile: 'fast',
    hooks: machines.hooks,
    startsOn: isUsed,
    log,
  });
  const lines = inventoryOf(emulator, hosts, isUsed);
  writeFileSync(join(dir, INVENTORY), JSON.stringify(lines), { mode: 0o600 });
  return { emulator, machines, systems: emulator.bmcs().flatMap((bmc) => bmc.systems) };
}

/** What is the same whether machines are installed or not. */
export function rackProvider({ emulator, machines, systems }: Rack) {
  const { username, password } = emulator.credentials;
  return {
    emulator,
    name: 'redfish',
    machines: systems.length,
    secrets: { PASSWORD: password },
    section: (refer: (secret: string) => string) => ({
      driver: 'redfish' as const,
      instanceSetId: SIM_SET,
      inventory: `file:${INVENTORY}`,
      credentials: { default: { username, password: refer('PASSWORD') } },
      callsPerSecond: 0,
      bmcGap: '5ms',
      powerPoll: '5s',
    }),
    installs: () => systems.map(({ name }) => machines.installs(name)),
    requests: () => emulator.requests(),
    slotOf: (deviceId: string) => systems.find(({ name }) => name === deviceId)?.serial ?? deviceId,
    close: () => emulator.close(),
  };
}
