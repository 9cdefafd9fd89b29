import { expect, test } from 'vitest';
import type { LoadBalancer } from '../../../src/adapters/balancer/port.ts';
import { Cancelled, RemoteFailure } from '../../../src/domain/errors.ts';
import { M1, M2, pool } from '../../domain/balancing/pool.ts';
import { createBalancingStand, drain, serve } from '../../support/balancing-stand.ts';
import { memoryWorld } from './memory-world.ts';

/** How often a balancer is asked while nothing comes of it, and what is done the moment that it does. */

const MINUTE = 60_000;

async function standOf(world: ReturnType<typeof memoryWorld>) {
  const stand = createBalancingStand({
    clock: world.clock,
    balancers: { edge: world.balancer },
    pools: [pool({ drain: { ...pool().drain, policy: 'best-effort' } })],
  });
  stand.wish(serve(M1), serve(M2));
  return { stand, life: await stand.life() };
}

test('one that cannot be reached is asked a few times a minute at most, however long it takes', async () => {
  const world = memoryWorld();
  const { stand, life } = await standOf(world);
  await world.pass(3 * MINUTE);
  world.cutOff!(true);
  await world.pass(10 * MINUTE);
  const before = world.calls();
  stand.wish(drain(M1, { askedAtMs: world.clock.now() }), serve(M2));
  await world.pass(30 * MINUTE);
  expect(world.calls() - before).toBeLessThan(60);
  const beforeChanges = world.calls();
  for (let at = 0; at < 120; at += 1) {
    stand.wish(drain(M1, { askedAtMs: at }), serve(M2));
    await world.pass(1_000);
  }
  expect(world.calls() - beforeChanges, 'whatever is said of members meanwhile').toBeLessThan(10);
  world.cutOff!(false);
  await world.pass(2 * MINUTE);
  expect(stand.states()[M1]).toMatch(/^drained/);
  await life.stop();
});

test('a member whose server is refused is not looked for every second', async () => {
  const world = memoryWorld({
    onCall: (operation, about) => {
      if (operation === 'create' && about?.includes(M1)) throw new RemoteFailure('no more servers');
    },
  });
  const { stand, life } = await standOf(world);
  await world.pass(15 * MINUTE);
  expect(stand.states()).toMatchObject({ [M1]: 'joining', [M2]: 'active' });
  const before = world.calls();
  await world.pass(30 * MINUTE);
  expect(world.calls() - before).toBeLessThan(200);
  await life.stop();
});

test('a machine that is worked on, since nobody waited for the balancer, gets no traffic once it is back', async () => {
  const world = memoryWorld();
  const { stand, life } = await standOf(world);
  await world.pass(3 * MINUTE);
  world.cutOff!(true);
  await world.pass(MINUTE);
  stand.wish(drain(M1, { askedAtMs: world.clock.now() }), serve(M2));
  await world.pass(MINUTE);
  expect(stand.row(M1)).toMatchObject({ state: 'active', waived: true });
  stand.bmdb.tables.machines.get(M1)!.leases = [
    {
      ...{ process: 'ShepherdRecovery', machineId: M1, epoch: '1', startedAtMs: world.clock.now() },
      sessionId: life.keeper.require().sessionId,
    },
  ];
  world.cutOff!(false);
  await world.pass(2 * MINUTE);
  expect(world.isOpen!(M1)).toBe(false);
  stand.bmdb.tables.machines.get(M1)!.leases = [];
  await world.pass(MINUTE);
  expect(stand.states()[M1]).toMatch(/^drained/);
  await life.stop();
});

test('a stop breaks off what is under way at the balancer, and nobody has refused it', async () => {
  const world = memoryWorld();
  let underWay = 0;
  const setMember: LoadBalancer['setMember'] = (_ref, _mode, _pool, { signal }) => {
    underWay += 1;
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Cancelled('given up')), { once: true });
    });
  };
  const { stand, life } = await standOf({ ...world, balancer: { ...world.balancer, setMember } });
  await world.pass(MINUTE);
  expect(underWay).toBeGreaterThan(0);
  await life.stop();
  expect(stand.log.count('the balancer did not take over how a member is to be served')).toBe(0);
});
