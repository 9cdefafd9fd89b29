import { createSeededRandom } from '../../../src/adapters/clock/simulated-clock.ts';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { createEquinixProvider } from '../../../src/adapters/provider/equinix/equinix-provider.ts';
import { createMemProvider } from '../../../src/adapters/provider/stub/mem-provider.ts';
import { ownerTag } from '../../../src/adapters/provider/equinix/tags.ts';
import { startFakequinix } from '../../../src/simulator/fakequinix/fakequinix.ts';
import { providerContract } from '../../contracts/provider.ts';
import { configFor, INSTANCE_SET_ID, recordingDeps, setTags } from './equinix-setup.ts';

providerContract('in memory', async () => {
  const provider = createMemProvider(
    {
      devicePrefix: 'mem-',
      instanceSetId: INSTANCE_SET_ID,
      reservations: 4,
      provisioningMs: 20,
      latencyMs: 0,
    },
    { clock: systemClock, random: createSeededRandom(1) },
  );
  return {
    provider,
    instanceSetId: INSTANCE_SET_ID,
    snatch: (reservationId) => void provider.snatch(reservationId),
    setOwner: async (id, owner) => provider.setOwner(id, owner),
    deviceCount: () => provider.devices().length,
    hang() {
      for (const operation of ['list', 'get', 'create', 'find', 'reboot'] as const) {
        provider.inject({ operation, effect: 'hang', times: 10 });
      }
      return { reached: Promise.resolve() };
    },
    close: () => provider.stop(),
  };
});

providerContract('equinix', async () => {
  const fake = await startFakequinix({
    listen: { host: '127.0.0.1', port: 0 },
    profile: 'fast',
    reservations: 4,
    timings: { queuedMs: 5, provisioningMs: 40, addressesMs: 10 },
  });
  const config = configFor(fake.url, { token: () => fake.tokens.user, projectId: fake.projectId });
  const provider = createEquinixProvider(config, recordingDeps());
  return {
    provider,
    instanceSetId: INSTANCE_SET_ID,
    snatch: (reservationId) => void fake.snatch(reservationId),
    async setOwner(id, owner) {
      const { tags } = fake.devices().find((device) => device.id === id)!;
      const others = tags.filter((tag) => !tag.startsWith('shepherd-owner-'));
      await setTags(fake, id, owner === null ? others : [...others, ownerTag(owner)]);
    },
    deviceCount: () => fake.devices().length,
    hang() {
      fake.addFault({ effect: { type: 'hang', phase: 'before' } });
      const before = fake.requests().length;
      const reached = pollUntil(() => fake.requests().length > before);
      return { reached };
    },
    async close() {
      await provider.stop();
      await fake.close();
    },
  };
});

/** Looks every few milliseconds; the test's own time limit ends it. */
async function pollUntil(met: () => boolean): Promise<void> {
  while (!met()) await new Promise((resolve) => setTimeout(resolve, 5));
}
