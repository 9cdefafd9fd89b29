import { afterEach, describe, expect, test, vi } from 'vitest';
import type { MemberState } from '../../../src/domain/balancing/members.ts';
import { hasHaproxyFor } from '../../support/haproxy.ts';
import type { DaemonProcess } from '../daemon-processes.ts';
import {
  allActive,
  expectNoTwins,
  openBalancedFleet,
  readPoolFile,
  WAIT,
  type BalancedFleet,
} from './fleet.ts';

const MACHINES = 5;
/** In the order in which a machine comes to them that is rebooted. */
const DEATHS: readonly MemberState[] = ['draining', 'drained', 'joining', 'warming', 'active'];

let fleet: BalancedFleet | undefined;
afterEach(async () => {
  await fleet?.close();
  fleet = undefined;
}, 60_000);

/** Which session each daemon has: those that are there and are nobody's yet are the one's that started. */
function createRoster({ rows }: BalancedFleet) {
  const holders = new Map<string, DaemonProcess>();
  return {
    async start(daemon: DaemonProcess) {
      daemon.start();
      await vi.waitFor(async () => {
        const found = await rows<{ id: string }>(
          'SELECT session_id AS id FROM sessions WHERE session_deadline > now()',
        );
        const own = found.find(({ id }) => !holders.has(id));
        expect(own, 'it has a session').toBeDefined();
        holders.set(own!.id, daemon);
      }, WAIT);
    },
    /** Whoever writes to the balancer; null: nobody does. */
    async writer(): Promise<DaemonProcess | null> {
      const [lease] = await rows<{ id: string }>(
        `SELECT session_id AS id FROM leases JOIN sessions USING (session_id)
         WHERE name = 'balancer/balancer' AND session_deadline > now()`,
      );
      return (lease && holders.get(lease.id)) ?? null;
    },
  };
}

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
      const roster = createRoster(fleet);
      for (const daemon of daemons) await roster.start(daemon);

      // The first file of the pool is just being written: the next daemon must make nothing twice.
      await vi.waitFor(() => expect(readPoolFile(pool)).not.toBe(''), { ...WAIT, interval: 2 });
      const first = await roster.writer();
      await first?.kill();
      if (first) await roster.start(first);
      await allActive(fleet);
      await expectNoTwins(fleet);

      const traffic = fleet.send();
      const boots = () =>
        new Map(world.hosts.list().map((host) => [host.deviceId, host.seen.boots]));
      const before = boots();
      const slots = await slotsOf(fleet);
      const killed: string[] = [];
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
        const writer = await roster.writer();
        if (!writer) continue;
        await writer.kill();
        killed.push(state);
        await roster.start(writer);
      }
      expect(killed, 'somebody was killed in each').toEqual(DEATHS);

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
    }, 600_000);
  },
);
