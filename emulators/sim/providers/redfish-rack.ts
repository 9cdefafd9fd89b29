import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startRedfishEmulator } from '../../redfish/emulator.ts';
import { inventoryOf } from '../../redfish/machines/inventory.ts';
import { createFishMachines, type FishMachines } from '../../redfish/machines/machines.ts';
import type { RedfishEmulator, SystemSnapshot } from '../../redfish/options.ts';
import { LOOPBACK, SIM_SET, type SimProvider, type SimProviderOptions } from './provider.ts';

/** Below the directory of the fleet. */
export const INVENTORY = 'inventory.json';

export interface RedfishProvider extends SimProvider {
  readonly fakefish: RedfishEmulator;
}

export interface Rack {
  readonly fakefish: RedfishEmulator;
  readonly machines: FishMachines;
  readonly systems: readonly SystemSnapshot[];
}

export interface RackOptions {
  readonly systems: number;
  /** The machines run a system already, which is never replaced. */
  readonly isUsed: boolean;
}

/** Installers are a hundred times as fast, daemons that are started again are not: about a minute. */
const SEED_ATTEMPTS = 600;

/** BMCs and the machines behind them; their inventory is written for the driver. */
export async function startRack(
  { dir, hosts, publicLine, log: parent }: SimProviderOptions,
  { systems, isUsed }: RackOptions,
): Promise<Rack> {
  const log = parent.child({ component: 'fakefish' });
  const machines = createFishMachines({
    ...{ hosts, log, seedAttempts: SEED_ATTEMPTS },
    ...(isUsed && { installed: [publicLine] }),
  });
  const fakefish = await startRedfishEmulator({
    listen: LOOPBACK,
    systems,
    pace: 'fast',
    hooks: machines.hooks,
    startsOn: isUsed,
    log,
  });
  const lines = inventoryOf(fakefish, hosts, isUsed);
  writeFileSync(join(dir, INVENTORY), JSON.stringify(lines), { mode: 0o600 });
  return { fakefish, machines, systems: fakefish.bmcs().flatMap((bmc) => bmc.systems) };
}

/** What is the same whether machines are installed or not. */
export function rackProvider({ fakefish, machines, systems }: Rack) {
  const { username, password } = fakefish.credentials;
  return {
    fakefish,
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
    requests: () => fakefish.requests(),
    slotOf: (deviceId: string) => systems.find(({ name }) => name === deviceId)?.serial ?? deviceId,
    close: () => fakefish.close(),
  };
}
