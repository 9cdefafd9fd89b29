import { expect, test } from 'vitest';
import type { DriverContext } from '../../src/adapters/provider/port.ts';
import { advance } from '../doubles/simulated-clock.ts';
import { createPlayedWorld } from '../support/played-world.ts';

const live = () => ({ signal: new AbortController().signal });

test('gives a provider’s driver its database rows while the daemon has a session', async () => {
  const world = createPlayedWorld({ seed: 1, locations: { hall: 1 } });
  const contexts: DriverContext[] = [];
  const start = (name: string) =>
    world.start({
      name,
      driven: (provider, context) => {
        contexts.push(context);
        return provider;
      },
    });
  const [one, two] = [await start('one'), await start('two')];
  const [first, second] = contexts.map(({ records }) => records);
  await advance(world.clock, 5_000);
  const version = await first!.make('bmc-1', { step: 1 }, live());
  const record = { key: 'bmc-1', value: { step: 1 }, version };
  expect(world.bmdb.tables.records.all(contexts[0]!.name)).toEqual([record]);
  expect(await second!.all(live())).toEqual([record]);
  await expect(second!.make('bmc-1', { step: 1 }, live())).rejects.toMatchObject({
    kind: 'conflict',
  });
  await Promise.all([one.daemon.stop(), advance(world.clock, 60_000)]);
  await expect(first!.drop('bmc-1', version, live())).rejects.toMatchObject({ kind: 'aborted' });
  await second!.drop('bmc-1', version, live());
  expect(await second!.all(live())).toEqual([]);
  await Promise.all([two.daemon.stop(), advance(world.clock, 60_000)]);
  world.end();
});

test('refuses a driver’s record before the daemon has a session, and starts all the same', async () => {
  const world = createPlayedWorld({ seed: 1, locations: { hall: 1 } });
  const told: unknown[] = [];
  const { daemon } = await world.start({
    name: 'one',
    driven: (provider, { records }) => ({
      ...provider,
      async prepare() {
        expect(await records.all(live())).toEqual([]);
        await records.make('calls', {}, live()).catch((error: unknown) => void told.push(error));
      },
    }),
  });
  expect(told).toMatchObject([{ kind: 'aborted', outcome: 'not-done' }]);
  await Promise.all([daemon.stop(), advance(world.clock, 60_000)]);
  world.end();
});
