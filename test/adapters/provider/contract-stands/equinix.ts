import { createEquinixProvider } from '../../../../src/adapters/provider/equinix/equinix-provider.ts';
import { ownerTag } from '../../../../src/adapters/provider/equinix/tags.ts';
import type { FleetProvider } from '../../../../src/adapters/provider/port.ts';
import { providerName } from '../../../../src/domain/ids.ts';
import type { ContractOptions } from '../../../contracts/provider.ts';
import { advance, driven, settled } from '../../../doubles/simulated-clock.ts';
import { inFleet } from '../../../support/in-fleet.ts';
import { INSTANCE_SET_ID } from '../driver-stand.ts';
import { configFor, recordingDeps, setTags, startEmulator } from '../equinix/setup.ts';

/** The emulator of the API, in virtual time. */
export const equinixStand: ContractOptions = {
  without: ['consistentList', 'hostKey'],
  start: async () => {
    const deps = recordingDeps();
    const { clock } = deps;
    const fake = await startEmulator(deps, { reservations: 4 });
    const config = configFor(fake.url, {
      token: () => fake.tokens.user,
      projectId: fake.projectId,
    });
    const opened: FleetProvider[] = [];
    const open = () => {
      const provider = inFleet(
        createEquinixProvider(config, deps),
        { name: providerName('equinix'), type: 'equinix', instanceSetId: INSTANCE_SET_ID },
        clock,
      );
      opened.push(provider);
      return driven(clock, provider);
    };
    const tagsOf = (id: string) => fake.devices().find((device) => device.id === id)!.tags;
    return {
      provider: open(),
      instanceSetId: INSTANCE_SET_ID,
      strangers: {
        snatch: (reservationId) => void fake.snatch(reservationId),
        async setOwner(id, owner) {
          const others = tagsOf(id).filter((tag) => !tag.startsWith('shepherd-owner-'));
          await setTags({ fake, deps }, id, owner === null ? others : [...others, ownerTag(owner)]);
        },
        putTag: (id, key, value) => setTags({ fake, deps }, id, [...tagsOf(id), `${key}=${value}`]),
      },
      deviceCount: () => fake.devices().length,
      hang() {
        fake.addFault({ effect: { type: 'hang', phase: 'before' } });
        const before = fake.requests().length;
        const reached = pollUntil(() => fake.requests().length > before);
        return { reached };
      },
      reopen: open,
      pass: () => advance(clock, 10),
      async close() {
        await Promise.all(opened.map((provider) => provider.stop()));
        await fake.close();
      },
    };
  },
};

/** The test's own time limit ends it. */
async function pollUntil(met: () => boolean): Promise<void> {
  while (!met()) await settled();
}
