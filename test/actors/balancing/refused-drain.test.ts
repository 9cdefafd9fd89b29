import { expect, test } from 'vitest';
import type { BmdbSession, MemberChange } from '../../../src/adapters/bmdb/port.ts';
import type { Pool } from '../../../src/domain/balancing/pools.ts';
import { Denied, RemoteFailure, TimedOut } from '../../../src/domain/errors.ts';
import { M1, M2, M3, pool } from '../../domain/balancing/pool.ts';
import type { MemBmdb } from '../../doubles/mem-bmdb/mem-bmdb.ts';
import { createBalancingStand, drain, serve } from '../../support/balancing-stand.ts';
import { memoryWorld } from './memory-world.ts';

/** A balancer that can be read, and refuses to keep connections away from a server. */

const MINUTE = 60_000;

/** Changes of members that are written, as they are written. */
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
  const stand = createBalancingStand({
    clock: world.clock,
    balancers: { edge: world.balancer },
    pools: [pool({ drain: { ...pool().drain, policy } })],
    bmdb: writing(written),
  });
  stand.wish(serve(M1), serve(M2), serve(M3));
  const life = await stand.life();
  await world.pass(3 * MINUTE);
  isObeying = false;
  for (const server of world.memory.servers(M1)) server.sessions = 4;
  written.length = 0;
  const callsBefore = world.memory.calls.length;
  const calls = (operation: string) =>
    world.memory.calls.slice(callsBefore).filter((each) => each.operation === operation).length;
  stand.wish(drain(M1, { askedAtMs: world.clock.now() }));
  return { world, stand, life, written, calls, obey: () => void (isObeying = true) };
}

test('require: few calls, few writes, and after ten minutes the order is refused', async () => {
  const { world, stand, life, written, calls } = await refusedDrain('require');
  await world.pass(9.5 * MINUTE);
  expect(stand.row(M1)).toMatchObject({ state: 'draining', refused: false });
  expect(stand.row(M1)?.note).toContain('balancer edge refuses to let it go: ');
  expect(world.isOpen!(M1), 'it serves all the while').toBe(true);
  expect(calls('setMember'), 'of two servers').toBeLessThan(32);
  expect(calls('observe')).toBeLessThan(90);
  expect(written.length).toBeLessThan(20);
  await world.pass(MINUTE);
  expect(stand.row(M1)).toMatchObject({ state: 'draining', refused: true });
  expect(stand.row(M1)?.note).toMatch(/^refused: balancer edge refuses to let it go: /);
  stand.wish(serve(M1));
  await world.pass(MINUTE);
  expect(stand.row(M1)).toMatchObject({ state: 'active', refused: false, note: null });
  await life.stop();
});

test('best-effort: after half a minute nobody waits for it; when it obeys, it is waited for', async () => {
  const { world, stand, life, obey } = await refusedDrain('best-effort');
  await world.pass(25_000);
  expect(stand.row(M1)).toMatchObject({ state: 'draining', waived: false });
  await world.pass(15_000);
  expect(stand.row(M1)).toMatchObject({ state: 'draining', waived: true });
  expect(stand.row(M1)?.note).toContain('refuses to let it go, and is not waited for');
  obey();
  await world.pass(45_000);
  expect(stand.row(M1)).toMatchObject({ state: 'draining', waived: false });
  expect(world.isOpen!(M1)).toBe(false);
  await world.pass(MINUTE);
  expect(stand.states()).toMatchObject({ [M1]: 'drained grace' });
  await life.stop();
});

test.each([
  ['require', new RemoteFailure('read only')],
  ['best-effort', new RemoteFailure('read only')],
  ['require', new Denied('the token may only read')],
  ['best-effort', new TimedOut('no answer')],
] as const)(
  'where servers are removed instead, %s is told of a removal that fails: %s',
  async (policy, error) => {
    const { world, stand, life, calls, obey } = await refusedDrain(policy, 'remove', error);
    await world.pass(MINUTE);
    expect(stand.row(M1)).toMatchObject({
      state: 'draining',
      refused: false,
      waived: policy === 'best-effort',
    });
    expect(stand.row(M1)?.note).toContain('balancer edge refuses to let it go');
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
    await life.stop();
  },
);
