import { systemClock } from '../../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../../src/adapters/log/port.ts';
import { silentMetrics } from '../../../../src/adapters/metrics/port.ts';
import type { FleetProvider } from '../../../../src/adapters/provider/port.ts';
import {
  createStubAccount,
  type StubAccount,
} from '../../../../src/adapters/provider/stub/account.ts';
import { noMachines } from '../../../../src/adapters/provider/stub/device.ts';
import { createStubProvider } from '../../../../src/adapters/provider/stub/stub-provider.ts';
import { SET_ID_TAG } from '../../../../src/domain/provisioning/provider-tags.ts';
import {
  type ContractOptions,
  isOfWorld,
  type Need,
  type ProviderStand,
  type WorldNeed,
} from '../../../contracts/provider.ts';
import { inFleet } from '../../../support/in-fleet.ts';
import { INSTANCE_SET_ID } from '../driver-stand.ts';

/** A stand on a stub's account, and how another provider is opened on it. */
export function standOn(account: StubAccount, open: () => FleetProvider): ProviderStand {
  const opened: FleetProvider[] = [];
  const another = () => {
    const provider = open();
    opened.push(provider);
    return provider;
  };
  return {
    provider: another(),
    instanceSetId: INSTANCE_SET_ID,
    strangers: {
      snatch: (reservationId) => void account.snatch(reservationId),
      setOwner: async (...to) => account.setOwner(...to),
      putTag: async (...to) => account.putTag(...to),
    },
    deviceCount: () => account.world.devices().length,
    hang() {
      account.faults.add({ fault: 'hangs' });
      return { reached: Promise.resolve() };
    },
    reopen: another,
    async close() {
      await Promise.all(opened.map((provider) => provider.stop()));
      await account.close();
    },
  };
}

const isAbility = (need: Need): need is Exclude<Need, WorldNeed> => !isOfWorld(need);

/** A stub that can less than it could, or is an inventory. */
export const stubStand = ({
  without,
  inventory = false,
}: {
  readonly without: readonly Need[];
  readonly inventory?: boolean;
}): ContractOptions => ({
  without,
  start: async () => {
    const tags = { [SET_ID_TAG]: INSTANCE_SET_ID };
    const account = createStubAccount(
      {
        plans: [{ name: 'c3', location: 'm1', spot: false, reservations: 4 }],
        timing: { provisioningMs: 20, bootMs: 5, deprovisioningMs: 10 },
        latencyMs: 1,
        devicePrefix: 'stub-',
        seed: 1,
        faults: [],
        inventory: inventory ? { publicKey: '', tags } : null,
      },
      { clock: systemClock, log: silentLog, metrics: silentMetrics, machines: () => noMachines },
    );
    const { strangers, ...stand } = standOn(account, () =>
      inFleet(
        createStubProvider(account, {
          instanceSetId: INSTANCE_SET_ID,
          maxConcurrency: 2,
          without: without.filter(isAbility),
        }),
        { instanceSetId: INSTANCE_SET_ID },
        systemClock,
      ),
    );
    return without.includes('strangers') ? stand : { ...stand, strangers: strangers! };
  },
});
