import { expect, onTestFinished, test } from 'vitest';
import type { NewRoll } from '../../src/adapters/bmdb/port.ts';
import type { RollRow } from '../../src/domain/rolling.ts';
import { targetOf } from '../contracts/requests-of.ts';
import { advance, createSeededRandom } from '../doubles/simulated-clock.ts';
import { createPlayedWorld, type WorldOptions } from '../support/played-world.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** Longer than the defaults, because the looks of two daemons take most of the time of these tests. */
const MIRROR = { scanInterval: '10m', pollInterval: '20s', listInterval: '5m' };
const ID = '00000000-0000-4000-8000-0000000000aa';

/** Four running machines under two daemons, and a roll over them. */
async function rolling(roll: Partial<NewRoll> = {}, config: WorldOptions['config'] = {}) {
  const world = createPlayedWorld({
    seed: 1,
    locations: { hall: 4 },
    config: { provisioner: { maxMachines: 0 }, mirror: MIRROR, ...config },
  });
  const pass = (ms: number) => advance(world.clock, ms);
  const one = await world.start({ name: 'one', random: createSeededRandom(1) });
  const two = await world.start({ name: 'two', random: createSeededRandom(2) });
  onTestFinished(async () => {
    const alive = [one, two].filter(({ isAlive }) => isAlive);
    await Promise.all([...alive.map(({ daemon }) => daemon.stop()), pass(MINUTE)]);
    world.end();
  });
  const allRun = () => [one, two].every(({ daemon }) => daemon.board.counts().Running === 4);
  for (let left = 60; left > 0 && !allRun(); left -= 1) await pass(MINUTE);
  expect(allRun()).toBe(true);
  const rows = [...world.bmdb.tables.machines.values()].map(({ row }) => row);
  const slots = rows.map((row) => ({ ...targetOf(row), machineId: row.machineId }));
  const hostOf = (at: number) => world.hosts.get(`${rows[at]!.provided!.address}:22`)!;
  const begin = () =>
    world.bmdb.rolls.create({
      ...{ id: ID, action: 'reboot', drain: null, filter: 'provider:stub', slots },
      ...{ canary: 1, batch: 2, pauseMs: 5 * MINUTE, stopOnFailure: true },
      ...{ by: 'ann', role: 'operator', proven: true, reason: 'new kernel', ...roll },
    });
  const now = async () => (await world.bmdb.rolls.read(ID))!;
  const until = async (isSo: (roll: RollRow) => boolean) => {
    for (let left = 10 * 60; left > 0 && !isSo(await now()); left -= 1) await pass(MINUTE);
    return now();
  };
  const orders = () => [...world.bmdb.tables.requests.values()].map(({ slotId }) => slotId);
  return { world, one, two, slots, hostOf, begin, pass, now, until, orders };
}

test('goes on under another daemon when one dies, and orders each machine once', async () => {
  const { one, two, slots, begin, until, orders } = await rolling();
  await begin();
  await until(({ position }) => position === 1);
  expect(orders()).toEqual([slots[0]!.slotId]);
  const [holder, other] = one.daemon.parts.rollLeases.held('rolls') ? [one, two] : [two, one];
  holder.kill();
  const end = await until(({ state }) => state !== 'running');
  expect(end).toMatchObject({ state: 'done', note: null, position: 4, failures: [] });
  expect(orders()).toEqual(slots.map(({ slotId }) => slotId));
  expect(other.daemon.board.counts()).toEqual({ Running: 4 });
});

test('stops at a machine that does not come back, and says why', async () => {
  const { slots, hostOf, begin, until, orders } = await rolling();
  const first = slots[0]!;
  hostOf(0).bootMs = 24 * HOUR;
  await begin();
  const end = await until(({ state }) => state !== 'running');
  expect(end.state).toBe('stopped');
  expect(end.note).toMatch(new RegExp(`^${first.provider}/${first.slotId}: `));
  expect(orders()).toEqual([first.slotId]);
});

test('waits for a thaw', async () => {
  const { world, begin, until, pass, now, orders } = await rolling({ batch: 4, canary: 0 });
  await world.bmdb.requests.submit({
    ...{ key: 'freeze', by: 'bob', reason: 'power' },
    what: { verb: 'freeze', scope: 'fleet' },
  });
  await pass(MINUTE);
  await begin();
  await pass(HOUR / 2);
  expect(await now()).toMatchObject({ position: 0, note: expect.stringMatching(/frozen by bob/) });
  expect(orders()).toEqual([null]);
  await world.bmdb.requests.submit({
    ...{ key: 'thaw', by: 'bob', reason: 'power is back' },
    what: { verb: 'thaw', scope: 'fleet' },
  });
  expect(await until(({ state }) => state !== 'running')).toMatchObject({ state: 'done' });
});

test('waits for its maintenance window', async () => {
  const { world, begin, until, pass, now, orders } = await rolling(
    { batch: 4, canary: 0 },
    { windows: { night: { at: '23:00', for: '4h' } } },
  );
  const hour = () => new Date(world.clock.now()).getUTCHours();
  expect(hour()).toBe(22);
  await begin();
  await pass(HOUR / 2);
  expect((await now()).note).toMatch(/window night opens at .*T23:00:00/);
  expect(orders()).toEqual([]);
  await until(({ state }) => state !== 'running');
  expect(orders()).toHaveLength(4);
  expect(hour()).toBe(23);
});
