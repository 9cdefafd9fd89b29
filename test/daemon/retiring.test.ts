import { afterEach, expect, test } from 'vitest';
import { advance } from '../doubles/simulated-clock.ts';
import { createPlayedWorld, type PlayedWorld } from '../support/played-world.ts';

/** A fleet whose lost machines are retired and replaced, in virtual time. */

const [MINUTE, HOUR] = [60_000, 3_600_000];
const worlds: PlayedWorld[] = [];
afterEach(() => worlds.splice(0).forEach((world) => world.end()));

/** What a daemon does all the time it does less often here, because days pass. */
const RARELY = {
  session: { interval: '10m' },
  mirror: { scanInterval: '10m', pollInterval: '1m', listInterval: '5m' },
  provisioner: { reconcilerRate: '5m' },
  statistics: { interval: '1h' },
} as const;

/** Four of eight slots are in use. At most one machine is replaced in a day. */
async function playedFleet(retired: 'keep' | 'give-back') {
  const world = createPlayedWorld({
    ...{ seed: 5, locations: { hall: 8 }, config: { replacement: { maxPerDay: 1 }, ...RARELY } },
    ofProvider: { target: 4, retire: 'always', retired },
  });
  worlds.push(world);
  const { daemon, log } = await world.start({ name: 'one' });
  await advance(world.clock, 15 * MINUTE);
  const facts = () => daemon.board.entries;
  /** A machine dies for good. @returns its slot, when nothing is left to try. */
  const lose = async (): Promise<string> => {
    const victim = [...facts().values()].find(({ substate }) => substate === 'healthy')!;
    world.hosts.get(`${addressOf(world, victim.view.providerId!)}:22`)!.die();
    for (let step = 0; step < 40 && !isRetired(world, victim.view.slot); step += 1) {
      await advance(world.clock, 15 * MINUTE);
    }
    return victim.view.slot;
  };
  const healthy = () =>
    [...facts().values()].filter(({ substate }) => substate === 'healthy').length;
  const stop = () => Promise.all([daemon.stop(), advance(world.clock, MINUTE)]);
  return { world, daemon, log, lose, healthy, stop };
}
const addressOf = ({ provider }: PlayedWorld, id: string) =>
  provider.devices().find((device) => device.id === id)!.address;
const isRetired = ({ bmdb }: PlayedWorld, slot: string): boolean =>
  bmdb.tables.holds.some((each) => each.kind === 'retired' && slot.endsWith(`/${each.slotId}`));

test('a machine that never comes back is retired and replaced, one a day', async () => {
  const { world, daemon, lose, healthy, stop } = await playedFleet('keep');
  expect(healthy()).toBe(4);
  const first = await lose();
  expect(daemon.board.entries.get(first as never)).toMatchObject({
    ...{ state: 'Quarantined', substate: 'retired' },
    view: { endedBy: 'an operator: shepherd machine unretire', holds: ['retired'] },
  });
  await advance(world.clock, 30 * MINUTE);
  expect([healthy(), world.provider.devices().length]).toEqual([4, 5]);
  const second = await lose();
  expect(isRetired(world, second)).toBe(true);
  await advance(world.clock, HOUR);
  expect(healthy(), 'today’s replacement was made').toBe(3);
  await advance(world.clock, 24 * HOUR);
  expect([healthy(), world.provider.devices().length]).toEqual([4, 6]);
  await stop();
});

test('a retired machine is given back where configured, and its slot stays free', async () => {
  const { world, lose, healthy, stop } = await playedFleet('give-back');
  const slot = await lose();
  await advance(world.clock, HOUR);
  expect([healthy(), world.provider.devices().length]).toEqual([4, 4]);
  expect(isRetired(world, slot)).toBe(true);
  const used = world.provider.devices().map((device) => device.reservationId);
  expect(used).not.toContain(slot.split('/')[1]);
  await stop();
});
