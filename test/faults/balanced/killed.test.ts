import { afterEach, describe, expect, test, vi } from 'vitest';
import type { MemberState } from '../../../src/domain/balancing/members.ts';
import { hasHaproxyFor } from '../../support/haproxy.ts';
import {
  allActive,
  expectNoTwins,
  openBalancedFleet,
  readPoolFile,
  WAIT,
  type BalancedFleet,
  type PooledDaemon,
} from './fleet.ts';

const MACHINES = 5;
/** In the order in which a machine comes to them that is rebooted. */
const DEATHS: readonly MemberState[] = ['draining', 'drained', 'joining', 'warming', 'active'];

let fleet: BalancedFleet | undefined;
afterEach(async () => {
  await fleet?.close();
  fleet = undefined;
});

/** Starts it, and waits until it has a session: that of before may outlive whoever was killed. */
async function startDaemon({ rows }: BalancedFleet, daemon: PooledDaemon): Promise<void> {
  const sessions = async () => {
    const found = await rows<{ id: string }>(
      'SELECT session_id AS id FROM sessions WHERE console_url = $1',
      daemon.consoleUrl,
    );
    return found.map(({ id }) => id);
  };
  const before = await sessions();
  daemon.start();
  await vi.waitFor(async () => {
    const own = (await sessions()).find((id) => !before.includes(id));
    expect(own, 'it has a session').toBeDefined();
  }, WAIT);
}

/** Whoever writes to the balancer: where a session ended just now, whoever does so next. */
const writerOf = ({ rows, daemons }: BalancedFleet): Promise<PooledDaemon> =>
  vi.waitFor(
    async () => {
      const [lease] = await rows<{ url: string }>(
        `SELECT console_url AS url FROM leases JOIN sessions USING (session_id)
         WHERE name = 'balancer/balancer' AND session_deadline > now()`,
      );
      expect(lease, 'somebody writes').toBeDefined();
      return daemons.find(({ consoleUrl }) => consoleUrl === lease!.url)!;
    },
    { ...WAIT, interval: 5 },
  );

const slotsOf = async ({ rows }: BalancedFleet): Promise<string[]> => {
  const found = await rows<{ slot: string }>(
    `SELECT provider || '/' || coalesce(provider_reservation_id, provider_id) AS slot
     FROM machine_provided ORDER BY 1`,
  );
  return found.map(({ slot }) => slot);
};

describe.runIf(hasHaproxyFor('daemons that are killed while they tend a pool'))(
  'a pool whose daemons are killed',
  () => {
    test('by kill -9 in each state of a member: no twin, no client lost, nobody drained for ever', async () => {
      fleet = await openBalancedFleet({ machines: MACHINES, daemons: 2, atOnce: 2 });
      const { daemons, world, audit, pool, rows } = fleet;
      for (const daemon of daemons) await startDaemon(fleet, daemon);

      // The first file of the pool is just being written: the next daemon must make nothing twice.
      await vi.waitFor(() => expect(readPoolFile(pool)).not.toBe(''), { ...WAIT, interval: 2 });
      const first = await writerOf(fleet);
      await first.kill();
      await startDaemon(fleet, first);
      await allActive(fleet);
      await expectNoTwins(fleet);

      const traffic = fleet.send();
      const boots = () =>
        new Map(world.hosts.list().map((host) => [host.deviceId, host.seen.boots]));
      const before = boots();
      const slots = await slotsOf(fleet);
      for (const [at, state] of DEATHS.entries()) {
        const [{ seq }] = (await rows<{ seq: string }>(
          'SELECT coalesce(max(seq), 0)::text AS seq FROM audit.members',
        )) as [{ seq: string }];
        const flags = ['--reason', 'a test', '--by', 'ann'];
        const ordered = await fleet.command('machine', 'reboot', slots[at]!, ...flags);
        expect(ordered).toMatchObject({ code: 0 });
        await vi.waitFor(
          async () => {
            const [found] = await rows(
              'SELECT FROM audit.members WHERE seq > $1 AND state = $2',
              seq,
              state,
            );
            expect(found, `a member is ${state}`).toBeDefined();
          },
          { ...WAIT, interval: 5 },
        );
        const writer = await writerOf(fleet);
        await writer.kill();
        await startDaemon(fleet, writer);
      }

      await vi.waitFor(async () => {
        const now = boots();
        expect([...before].map(([id, count]) => now.get(id)! - count)).toEqual(
          Array.from(before, () => 1),
        );
      }, WAIT);
      await allActive(fleet);
      await expectNoTwins(fleet);
      const { refused, cut, ended, failures } = await traffic.stop();
      expect({ refused, cut, failures: [...failures] }).toEqual({
        refused: 0,
        cut: 0,
        failures: [],
      });
      expect(ended).toBeGreaterThan(10);
      expect(await fleet.outOfTurn()).toEqual([]);
      const open = await rows(`SELECT FROM pool_members WHERE state <> 'active'`);
      expect(open).toHaveLength(0);
      expect((await audit.quarantined('needsHuman')).size).toBe(0);
      expect(world.fakequinix.violations()).toEqual([]);
      expect(daemons.flatMap(({ deaths }) => deaths())).toEqual([]);
    }, 2_400_000);
  },
);

/** Each machine once, one of everything else, and all of it marked as one pool's. */
const allOnEngine = ({ pool, world }: BalancedFleet) =>
  vi.waitFor(() => {
    const there = pool.engine!.objects();
    expect(there).toHaveLength(3 + world.machines);
    expect(new Set(there.map(({ kind, name }) => `${kind} ${name}`)).size).toBe(there.length);
    expect(new Set(there.map(({ tags }) => tags.join())).size).toBe(1);
    expect(there[0]!.tags).toEqual([expect.stringMatching(/^shepherd-pool=/)]);
  }, WAIT);

describe('a pool on the Engine whose daemon is killed', () => {
  test('by kill -9 between making and marking, and while it removes: no twin, no orphan, and the reboot is done', async () => {
    fleet = await openBalancedFleet({ machines: 2, daemons: 1, by: 'engine' });
    const { daemons, pool, world, rows } = fleet;
    const [daemon] = daemons as [PooledDaemon];
    const engine = pool.engine!;
    const struck: string[] = [];
    const boots = () => world.hosts.list().map(({ seen }) => seen.boots);
    /** From now on such a request takes long: the answer kills the daemon in one, and starts it again. */
    const holdUp = (method: string, route: string) => {
      const since = engine.requests().length;
      const { id } = engine.addFault({
        match: { method, route },
        effect: { type: 'latency', ms: 5_000 },
      });
      const isOpen = (each: { method: string; route: string; fate: string }) =>
        each.method === method && each.route === route && each.fate === 'open';
      const held = () => engine.requests(since).filter(isOpen);
      /** @returns how often each machine had booted when nobody was there who could have it booted. */
      return async function killThere() {
        await vi.waitFor(() => expect(held()).not.toEqual([]), { ...WAIT, interval: 5 });
        await daemon.kill();
        struck.push(`${method} ${route}`);
        engine.removeFault(id);
        const booted = boots();
        daemon.start();
        return booted;
      };
    };
    const killMarking = holdUp('POST', '/api/core/v1/resource.json/{id}/tags/{tag}');
    daemon.start();
    await killMarking();
    await allOnEngine(fleet);
    const active = () => rows(`SELECT FROM pool_members WHERE state = 'active'`);
    await vi.waitFor(async () => expect(await active()).toHaveLength(2), WAIT);

    const before = boots();
    const [slot] = await slotsOf(fleet);
    const flags = ['--reason', 'a test', '--by', 'ann'];
    // The command may end long after the daemon has begun.
    const killRemoving = holdUp('DELETE', '/api/LBaaS/v1/server.json/{id}');
    const ordered = fleet.command('machine', 'reboot', slot!, ...flags);
    expect(await killRemoving(), 'nobody was rebooted before he was let go').toEqual(before);
    expect(await ordered).toMatchObject({ code: 0 });
    const sum = (counts: readonly number[]) => counts.reduce((all, each) => all + each, 0);
    await vi.waitFor(() => expect(sum(boots())).toBe(sum(before) + 1), WAIT);
    await vi.waitFor(async () => expect(await active()).toHaveLength(2), WAIT);
    await allOnEngine(fleet);
    expect(struck).toHaveLength(2);
    expect(engine.complaints()).toEqual([]);
    expect(daemon.deaths()).toEqual([]);
  }, 1_800_000);
});
