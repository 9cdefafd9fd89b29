import { createEquinixProvider } from '../../../../src/adapters/provider/equinix/equinix-provider.ts';
import { ownerTag } from '../../../../src/adapters/provider/equinix/tags.ts';
import type { FleetProvider } from '../../../../src/adapters/provider/port.ts';
import { providerName } from '../../../../src/domain/ids.ts';
import { startFakequinix } from '../../../../src/simulator/fakequinix/fakequinix.ts';
import type { ContractOptions } from '../../../contracts/provider.ts';
import { systemClock } from '../../../../src/adapters/clock/system-clock.ts';
import { inFleet } from '../../../support/in-fleet.ts';
import { configFor, INSTANCE_SET_ID, recordingDeps, setTags } from '../equinix/setup.ts';

/** The emulator of the API, in real time but fast. */
export const equinixStand: ContractOptions = {
  without: ['consistentList', 'hostKey'],
  start: async () => {
    const fake = await startFakequinix({
      listen: { host: '127.0.0.1', port: 0 },
      profile: 'fast',
      reservations: 4,
      timings: { queuedMs: 5, provisioningMs: 40, addressesMs: 10 },
    });
    const config = configFor(fake.url, {
      token: () => fake.tokens.user,
      projectId: fake.projectId,
    });
    const opened: FleetProvider[] = [];
    const open = () => {
      const driven = createEquinixProvider(config, recordingDeps());
      const provider = inFleet(
        driven,
        { name: providerName('equinix'), type: 'equinix', instanceSetId: INSTANCE_SET_ID },
        systemClock,
      );
      opened.push(provider);
      return provider;
    };
    const tagsOf = (id: string) => fake.devices().find((device) => device.id === id)!.tags;
    return {
      provider: open(),
      instanceSetId: INSTANCE_SET_ID,
      strangers: {
        snatch: (reservationId) => void fake.snatch(reservationId),
        async setOwner(id, owner) {
          const others = tagsOf(id).filter((tag) => !tag.startsWith('shepherd-owner-'));
          await setTags(fake, id, owner === null ? others : [...others, ownerTag(owner)]);
        },
        putTag: (id, key, value) => setTags(fake, id, [...tagsOf(id), `${key}=${value}`]),
      },
      deviceCount: () => fake.devices().length,
      hang() {
        fake.addFault({ effect: { type: 'hang', phase: 'before' } });
        const before = fake.requests().length;
        const reached = pollUntil(() => fake.requests().length > before);
        return { reached };
      },
      reopen: open,
      async close() {
        await Promise.all(opened.map((provider) => provider.stop()));
        await fake.close();
      },
    };
  },
};

/** Looks every few milliseconds; the test's own time limit ends it. */
async function pollUntil(met: () => boolean): Promise<void> {
  while (!met()) await new Promise((resolve) => setTimeout(resolve, 5));
}
