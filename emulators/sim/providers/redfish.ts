import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { takeFreePort } from '../../../src/adapters/network/free-port.ts';
import { machineIdOf } from '../../../src/adapters/provider/redfish/install/claims.ts';
import type { ProviderRecord } from '../../../src/domain/provisioning/records.ts';
import { startRedfishEmulator } from '../../redfish/emulator.ts';
import { inventoryOf } from '../../redfish/machines/inventory.ts';
import { createRackMachines } from '../../redfish/machines/machines.ts';
import type { RedfishEmulator } from '../../redfish/options.ts';
import {
  deviceOf,
  holdsOthers,
  LOOPBACK,
  MACHINES,
  SIM_SET,
  type SimKind,
  type SimProvider,
  type SimProviderOptions,
} from './provider.ts';

/** Below the directory of the fleet. */
const INVENTORY = 'inventory.json';

export interface RedfishProvider extends SimProvider {
  readonly emulator: RedfishEmulator;
}

/** A rack with empty disks: each machine is installed from a virtual CD. */
export const redfishKind: SimKind<RedfishProvider> = {
  onePort: false,
  isKept: false,
  async start(options: SimProviderOptions) {
    const rack = await startRack(options, { systems: options.machines ?? MACHINES, isUsed: false });
    const seeds = `127.0.0.1:${await takeFreePort(new Set())}`;
    return {
      ...rack.provider,
      secrets: {
        ...rack.provider.secrets,
        SEED_KEY: `seed-${randomBytes(32).toString('base64url')}`,
      },
      section: (refer) => ({
        ...rack.provider.section(refer),
        recoveryMayEraseDisks: true,
        install: {
          method: 'vmedia',
          iso: `http://${seeds}/{token}/installer.iso`,
          seedListen: seeds,
          seedKey: refer('SEED_KEY'),
          window: '1m',
        },
      }),
      devices(records) {
        const claims = new Map(records.map((record) => [record.key, claimOf(record)]));
        return rack.installedMoreThan(0).map((serial) => claims.get(serial) ?? deviceOf(serial));
      },
      claims: (records) => records.map(claimOf),
    };
  },
};

const claimed = z.object({ witness: z.string() });

/** The machine that a record claims; for an unreadable record only its entry. */
function claimOf({ key: entryId, value }: ProviderRecord) {
  const witness = claimed.safeParse(value).data?.witness;
  return witness === undefined
    ? deviceOf(entryId)
    : deviceOf(machineIdOf({ entryId, witness }), witness);
}

/** A rack whose machines already run a system: the fleet adopts them unchanged. */
export const usedRedfishKind: SimKind<RedfishProvider> = {
  onePort: false,
  isKept: true,
  async start(options: SimProviderOptions) {
    const { dir, machines: wanted } = options;
    const file = join(dir, INVENTORY);
    const held = existsSync(file) ? entries.parse(JSON.parse(readFileSync(file, 'utf8'))) : null;
    if (held && wanted !== undefined && held.length !== wanted) {
      throw holdsOthers(dir, held.length, wanted);
    }
    const systems = held?.length ?? wanted ?? MACHINES;
    const rack = await startRack(options, { systems, isUsed: true });
    return {
      ...rack.provider,
      // The machines existed before the fleet, which made only later installations.
      devices: () => rack.installedMoreThan(1).map((serial) => deviceOf(serial)),
      // An adopted machine is not claimed.
      claims: (records) => records.map(({ key }) => deviceOf(`record ${key}`)),
    };
  },
};

const entries = z.array(z.unknown());

interface RackOptions {
  readonly systems: number;
  /** The machines run a system that is never replaced. */
  readonly isUsed: boolean;
}

/** BMCs and their machines, with an inventory file for the driver. */
async function startRack(
  { dir, hosts, publicLine, log: parent }: SimProviderOptions,
  { systems: count, isUsed }: RackOptions,
) {
  const log = parent.child({ component: 'redfish' });
  const machines = createRackMachines({
    ...{ hosts, log },
    ...(isUsed && { installed: [publicLine] }),
  });
  const emulator = await startRedfishEmulator({
    listen: LOOPBACK,
    systems: count,
    profile: 'fast',
    hooks: machines.hooks,
    startsOn: isUsed,
    log,
  });
  const lines = inventoryOf(emulator, hosts, isUsed);
  writeFileSync(join(dir, INVENTORY), JSON.stringify(lines), { mode: 0o600 });
  const systems = emulator.bmcs().flatMap((bmc) => bmc.systems);
  const { username, password } = emulator.credentials;
  return {
    /** Serial numbers. */
    installedMoreThan: (times: number) =>
      systems.filter(({ name }) => machines.installs(name) > times).map(({ serial }) => serial),
    /** The common part, with and without installations. */
    provider: {
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
      slotOf: (deviceId: string) =>
        systems.find(({ name }) => name === deviceId)?.serial ?? deviceId,
      close: () => emulator.close(),
    },
  };
}
