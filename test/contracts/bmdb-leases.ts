import { describe, expect, it } from 'vitest';
import type { Lease } from '../../src/adapters/bmdb/port.ts';
import { PROVIDER } from './bmdb-rows.ts';
import { refusedWith } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';

const JOB = 'provisioner/metal';

export function leasesContract(s: BmdbStage): void {
  const taken = (lease: Lease | null): Lease => lease ?? expect.fail('somebody else has the job');
  const leases = async () => (await s.scan()).leases;

  describe('jobs', () => {
    it('belong to one daemon at a time, which renews them by asking again', async () => {
      const lease = taken(await s.session.lease(JOB));
      expect(lease.name).toBe(JOB);
      expect(await s.rival.lease(JOB)).toBeNull();
      expect((await s.session.lease(JOB))?.epoch).toBe(lease.epoch);
      expect(await leases()).toEqual([{ name: JOB, sessionId: s.session.sessionId, held: true }]);
      expect(await s.rival.lease('provisioner/other')).not.toBeNull();
    });

    it('are free at once when released, and cannot be released by another daemon', async () => {
      const first = taken(await s.session.lease(JOB));
      await first.release();
      expect(await leases()).toEqual([]);
      const second = taken(await s.rival.lease(JOB));
      expect(second.epoch).not.toBe(first.epoch);
      await first.release();
      expect(await s.session.lease(JOB)).toBeNull();
      await second.release();
      await second.release();
      const third = taken(await s.session.lease(JOB));
      // A release of its own lease that it no longer holds.
      await first.release();
      expect((await s.session.lease(JOB))?.epoch).toBe(third.epoch);
    });

    it('pass to another daemon when their holder’s session dies', async () => {
      const short = await s.openOn(s.h.bmdb, 60_000);
      const first = taken(await short.lease(JOB));
      expect(await s.rival.lease(JOB)).toBeNull();
      await s.h.expireSession(short.sessionId);
      expect(await leases()).toEqual([{ name: JOB, sessionId: short.sessionId, held: false }]);
      const second = taken(await s.rival.lease(JOB));
      expect(second.epoch).not.toBe(first.epoch);
      expect(await leases()).toMatchObject([{ sessionId: s.rival.sessionId, held: true }]);
      expect(await refusedWith(short.lease(JOB))).toBe('session-expired');
      await first.release();
      expect(await leases()).toHaveLength(1);
      await first.release();
      expect(await s.session.lease(JOB)).toBeNull();
      await short.close();
    });

    it('are not released by a dead session that does not know it yet', async () => {
      const short = await s.openOn(s.h.bmdb, 60_000);
      const lease = taken(await short.lease(JOB));
      await s.h.expireSession(short.sessionId);
      await lease.release();
      expect(await leases()).toEqual([{ name: JOB, sessionId: short.sessionId, held: false }]);
      await short.close();
    });

    it('pass to another daemon when their holder closes or is swept away', async () => {
      const short = await s.openOn(s.h.bmdb, 60_000);
      taken(await short.lease(JOB));
      await short.close();
      const brief = await s.openOn(s.h.other, 60_000);
      taken(await brief.lease(JOB));
      await s.h.pass(3 * 60_000 + 1);
      await s.h.bmdb.sweep();
      taken(await s.session.lease(JOB));
    });

    it('need a name of at most 128 characters', async () => {
      await expect(s.session.lease('')).rejects.toThrow(RangeError);
      await expect(s.session.lease('x'.repeat(129))).rejects.toThrow(RangeError);
      expect((await s.session.lease('x'.repeat(128)))?.name).toBe('x'.repeat(128));
    });
  });

  describe('an intent under a job', () => {
    const slot = { provider: PROVIDER, slotId: 'reservation-1', hostname: 'm-1' };
    const unsettled = async () => (await s.scan()).intents;

    it('is opened while the daemon holds the job', async () => {
      const lease = taken(await s.session.lease(JOB));
      const intent = await s.session.intents.open({ ...slot, lease });
      expect(await unsettled()).toEqual([intent]);
      expect(intent).not.toHaveProperty('lease');
    });

    it('is not opened after the job was lost or released', async () => {
      const short = await s.openOn(s.h.bmdb, 60_000);
      const old = taken(await short.lease(JOB));
      await old.release();
      expect(await refusedWith(short.intents.open({ ...slot, lease: old }))).toBe('lease-lost');
      const again = taken(await short.lease(JOB));
      expect(await refusedWith(short.intents.open({ ...slot, lease: old }))).toBe('lease-lost');
      await again.release();
      taken(await s.rival.lease(JOB));
      expect(await refusedWith(short.intents.open({ ...slot, lease: again }))).toBe('lease-lost');
      expect(await unsettled()).toEqual([]);
      await short.close();
    });

    it('is not opened by a daemon that does not hold the job', async () => {
      const lease = taken(await s.session.lease(JOB));
      expect(await refusedWith(s.rival.intents.open({ ...slot, lease }))).toBe('lease-lost');
      expect(await unsettled()).toEqual([]);
    });
  });
}
