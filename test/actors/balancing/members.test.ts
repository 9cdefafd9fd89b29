import { expect, test } from 'vitest';
import type { LoadBalancer } from '../../../src/adapters/balancer/port.ts';
import type { BmdbSession, MemberChange } from '../../../src/adapters/bmdb/port.ts';
import type { Pool } from '../../../src/domain/balancing/pools.ts';
import { Cancelled, Denied, RemoteFailure, TimedOut } from '../../../src/domain/errors.ts';
import { IP, M1, M2, M3, pool } from '../../domain/balancing/pool.ts';
import { createMemoryBalancer } from '../../doubles/memory-balancer.ts';
import type { MemBmdb } from '../../doubles/mem-bmdb/mem-bmdb.ts';
import { drain, serve } from '../../support/balancing-stand.ts';
import { testRows } from '../../support/rows.ts';
import { memoryPool, memoryWorld } from './memory-world.ts';
import { MINUTE } from './vector-world.ts';

/** Members at a balancer that refuses a release, is unreachable, or is not the only balancer. */

const withPolicy = (policy: Pool['drain']['policy']) => [
  pool({ drain: { ...pool().drain, policy } }),
];
const BEST_EFFORT = withPolicy('best-effort');

/** Records written changes of members. */
const writing = (told: MemberChange[]) => (bmdb: MemBmdb) => ({
  ...bmdb,
  openSession: async (...asked: Parameters<MemBmdb['openSession']>): Promise<BmdbSession> => {
    const session = await bmdb.openSession(...asked);
    const write: BmdbSession['balancing']['write'] = (lease, name, changes) => {
      told.push(...changes);
      return session.balancing.write(lease, name, changes);
    };
    return { ...session, balancing: { ...session.balancing, write } };
  },
});

/** The balancer is readable, and refuses to drain a server. */
async function refusedDrain(
  policy: Pool['drain']['policy'],
  by: 'native' | 'remove' = 'native',
  error: Error = new RemoteFailure('read only'),
) {
  let isObeying = true;
  const refused = by === 'native' ? 'setMember' : 'destroy';
  const world = memoryWorld({
    capabilities: { drain: by, sessions: by === 'native', health: by === 'native' },
    onCall: (operation) => {
      if (!isObeying && operation === refused) throw error;
    },
  });
  const written: MemberChange[] = [];
  const { stand, memory } = await memoryPool({
    ...{ world, machines: [M1, M2, M3], pools: withPolicy(policy), bmdb: writing(written) },
  });
  isObeying = false;
  for (const server of memory.servers(M1)) server.sessions = 4;
  written.length = 0;
  const callsBefore = memory.calls.length;
  const calls = (operation: string) =>
    memory.calls.slice(callsBefore).filter((each) => each.operation === operation).length;
  stand.wish(drain(M1, { askedAtMs: world.clock.now() }));
  return { world, stand, written, calls, obey: () => void (isObeying = true) };
}

test('makes few calls and writes under `require` and refuses the order after ten minutes', async () => {
  const { world, stand, written, calls } = await refusedDrain('require');
  await world.pass(9.5 * MINUTE);
  expect(stand.row(M1)).toMatchObject({ state: 'draining', refused: false });
  expect(stand.row(M1)?.note).toContain('balancer edge refuses to drain it: ');
  expect(world.isOpen!(M1), 'it serves all the while').toBe(true);
  expect(calls('setMember'), 'of two servers').toBeLessThan(32);
  expect(calls('observe')).toBeLessThan(90);
  expect(written.length).toBeLessThan(20);
  await world.pass(MINUTE);
  expect(stand.row(M1)).toMatchObject({ state: 'draining', refused: true });
  expect(stand.row(M1)?.note).toMatch(/^refused: balancer edge refuses to drain it: /);
  stand.wish(serve(M1));
  await world.pass(MINUTE);
  expect(stand.row(M1)).toMatchObject({ state: 'active', refused: false, note: null });
});

test('waits half a minute under `best-effort`, and longer once the balancer obeys', async () => {
  const { world, stand, obey } = await refusedDrain('best-effort');
  await world.pass(25_000);
  expect(stand.row(M1)).toMatchObject({ state: 'draining', waived: false });
  await world.pass(15_000);
  expect(stand.row(M1)).toMatchObject({ state: 'draining', waived: true });
  expect(stand.row(M1)?.note).toContain('refuses to drain it, and is not waited for');
  obey();
  await world.pass(45_000);
  expect(stand.row(M1)).toMatchObject({ state: 'draining', waived: false });
  expect(world.isOpen!(M1)).toBe(false);
  await world.pass(MINUTE);
  expect(stand.states()).toMatchObject({ [M1]: 'drained grace' });
});

testRows([
  ['require', new RemoteFailure('read only')],
  ['best-effort', new RemoteFailure('read only')],
  ['require', new Denied('the token may only read')],
  ['best-effort', new TimedOut('no answer')],
] as const)(
  'reports a failed removal to %s where servers are removed instead: %s',
  async (policy, error) => {
    const { world, stand, calls, obey } = await refusedDrain(policy, 'remove', error);
    await world.pass(MINUTE);
    expect(stand.row(M1)).toMatchObject({
      state: 'draining',
      refused: false,
      waived: policy === 'best-effort',
    });
    expect(stand.row(M1)?.note).toContain('balancer edge refuses to drain it');
    await world.pass(10 * MINUTE);
    expect(stand.row(M1)).toMatchObject({
      state: 'draining',
      refused: policy === 'require',
      waived: policy === 'best-effort',
    });
    expect(calls('destroy'), 'of two servers').toBeLessThan(32);
    obey();
    await world.pass(7 * MINUTE);
    expect(stand.states()).toMatchObject({ [M1]: 'drained grace' });
  },
);

test('asks an unreachable balancer only a few times a minute', async () => {
  const { world, stand } = await memoryPool({ pools: BEST_EFFORT });
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
});

test('does not look every second for a member whose server is refused', async () => {
  const world = memoryWorld({
    onCall: (operation, about) => {
      if (operation === 'create' && about?.includes(M1)) throw new RemoteFailure('no more servers');
    },
  });
  const { stand } = await memoryPool({ world, ageMs: 15 * MINUTE });
  expect(stand.states()).toMatchObject({ [M1]: 'joining', [M2]: 'active' });
  const before = world.calls();
  await world.pass(30 * MINUTE);
  expect(world.calls() - before).toBeLessThan(200);
});

test('sends no traffic to a machine under work when its balancer is back', async () => {
  const { world, stand, life } = await memoryPool({ pools: BEST_EFFORT });
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
});

test('aborts pending calls on stop and does not count them as refused', async () => {
  const world = memoryWorld();
  let underWay = 0;
  const setMember: LoadBalancer['setMember'] = (_ref, _mode, _pool, { signal }) => {
    underWay += 1;
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Cancelled('given up')), { once: true });
    });
  };
  const balancers = { edge: { ...world.balancer, setMember } };
  const { stand, life } = await memoryPool({ world, balancers, ageMs: MINUTE });
  expect(underWay).toBeGreaterThan(0);
  await life.stop();
  expect(stand.log.count('the balancer did not apply the mode of a member')).toBe(0);
});

test('serves again while one balancer drained and another cannot, until both can', async () => {
  const world = memoryWorld();
  const core = createMemoryBalancer({ clock: world.clock });
  const { stand } = await memoryPool({
    ...{ world, machines: [M1, M2, M3] },
    balancers: { edge: world.balancer, core: core.balancer },
    pools: [pool({ balancers: ['edge', 'core'] })],
  });
  expect(stand.states('core')).toMatchObject({ [M1]: 'active', [M2]: 'active' });
  core.cutOff(true);
  stand.wish(drain(M1, { askedAtMs: world.clock.now() }));
  await world.pass(MINUTE);
  expect([stand.row(M1)?.state, stand.row(M1, 'core')?.state]).toEqual(['drained', 'draining']);
  await world.pass(5 * MINUTE);
  expect(stand.states('edge')).toMatchObject({ [M1]: 'active' });
  expect(stand.row(M1)?.note).toContain('it serves until its other pools drain it');
  core.cutOff(false);
  await world.pass(MINUTE);
  expect(stand.states('core')).toMatchObject({ [M1]: 'drained no-sessions' });
  expect(stand.states('edge')).toMatchObject({ [M1]: 'drained no-sessions' });
});

test('waits with an address until another machine at that address is drained', async () => {
  const { world, memory, stand } = await memoryPool({ machines: [M2, M3] });
  for (const server of memory.servers(M2)) server.sessions = 3;
  stand.wish(drain(M2), serve(M1, IP[M2]));
  await world.pass(20_000);
  expect(stand.states()).toEqual({ [M2]: 'draining', [M3]: 'active' });
  expect(memory.servers(M2), 'its connections go on').toHaveLength(2);
  await world.pass(MINUTE);
  expect(stand.states()).toMatchObject({ [M1]: 'active', [M2]: 'drained grace' });
  expect(memory.servers(M2)).toEqual([]);
});
