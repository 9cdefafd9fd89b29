import { expect, test } from 'vitest';
import { requestFor, targetOf } from '../contracts/requests-of.ts';
import { advance } from '../doubles/simulated-clock.ts';
import { createPlayedWorld } from '../support/played-world.ts';

const MINUTE = 60_000;

/** A daemon and four machines; the condition `gpu-lost` drains. */
async function begin() {
  const world = createPlayedWorld({
    ...{ seed: 5, locations: { hall: 4 }, hasPool: true, minActive: 0 },
    config: { conditions: { 'gpu-lost': 'drain' } },
  });
  const { daemon } = await world.start({ name: 'one' });
  const pass = (minutes: number) => advance(world.clock, minutes * MINUTE);
  await pass(30);
  const rowOf = (at: number) => [...world.bmdb.tables.machines.values()][at]!.row;
  const report = async (at: number, status: 'True' | 'False') => {
    const { provided, machineId } = rowOf(at);
    const about = { provider: provided!.provider, slotId: provided!.reservationId!, machineId };
    const said = { type: 'gpu-lost', source: 'token:gpu', status, reason: '1 of 8', detail: '' };
    await world.bmdb.conditions.report([{ ...about, ...said, validForMs: null }]);
  };
  const ask = (wish: object) =>
    world.bmdb.requests.submit(requestFor({ ...wish, target: targetOf(rowOf(0)) } as never));
  const open = () => world.bmdb.tables.cases.filter(({ closedAtMs }) => closedAtMs === null).length;
  const stop = async () => {
    await Promise.all([daemon.stop(), pass(1)]);
    world.end();
  };
  await report(0, 'True');
  await pass(5);
  expect(open()).toBe(1);
  return { world, rowOf, report, ask, pass, open, stop };
}

test('a hold by a person does not close the case of a condition that is still true', async () => {
  const { ask, pass, open, stop } = await begin();
  await ask({ verb: 'hold', kind: 'no-serve', fromMs: null, untilMs: null, force: false });
  await pass(20);
  expect(open()).toBe(1);
  await stop();
});

test('a checker that lies about other machines closes no case of a true condition', async () => {
  const { report, pass, open, stop } = await begin();
  await report(1, 'True');
  await report(2, 'True');
  await pass(20);
  expect(open()).toBe(1);
  await report(1, 'False');
  await report(2, 'False');
  await pass(20);
  expect(open()).toBe(1);
  await stop();
});

test('an acceptance in the middle of the repair does not close the case, one after it does', async () => {
  const { world, rowOf, report, ask, pass, open, stop } = await begin();
  await ask({ verb: 'accept' });
  await pass(60);
  expect(open()).toBe(1);
  const clearedAtMs = world.clock.now();
  await report(0, 'False');
  await pass(20);
  expect(rowOf(0).acceptance!.askedAtMs).toBeGreaterThan(clearedAtMs);
  expect(world.bmdb.tables.cases).toMatchObject([{ closedBy: 'acceptance' }]);
  await stop();
});
