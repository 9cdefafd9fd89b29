import { describe, expect, it } from 'vitest';
import type { Work } from '../../src/adapters/bmdb/port.ts';
import type { MachineId } from '../../src/domain/ids.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import type { StandingRung } from '../../src/domain/recovery/rungs.ts';
import { ladderOn, MINUTE, PROVIDER } from './bmdb-rows.ts';
import { agentStarted, DAY, SIGNAL, STEADY } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';
import { askToGiveBack } from './requests-of.ts';

const RESET_MS = 5 * MINUTE;
const RECOVERED = { kind: 'recovered', coolDown: STEADY, bootSeconds: null } as const;

export function episodesContract(s: BmdbStage): void {
  const { read, addLost, beat } = s;
  const reading = (query: { sinceMs?: number; limit?: number } = {}) =>
    s.h.other.inspection.episodes({ sinceMs: 0, ...query }, SIGNAL);
  const episodes = async () => (await reading()).episodes;
  const asked = async (id: MachineId, rung: StandingRung = 'rebooting'): Promise<Work> => {
    const work = await s.session.claim('ShepherdRecovery', id);
    await work.note({ kind: 'recoveryAsked', rung, bootId: null });
    return work;
  };
  const failed = async (id: MachineId, rung?: StandingRung) => {
    await (await asked(id, rung)).fail(STEADY, 'no evidence');
    await s.h.pass(2 * MINUTE);
  };
  /** Heartbeats without a break, until they end the episode. */
  const heard = async (id: MachineId) => {
    await beat(id);
    for (let passedMs = 0; passedMs < RESET_MS; passedMs += 50_000) {
      await s.h.pass(50_000);
      await beat(id);
    }
  };
  /** The machine is recovered by this rung, and its agent is started and heard. */
  const healed = async (id: MachineId, rung?: StandingRung) => {
    await (await asked(id, rung)).finish(RECOVERED);
    await (await s.session.claim('ShepherdAgentStart', id)).finish(agentStarted());
    await heard(id);
  };
  const begin = () => s.begin({ ...DEFAULT_LOSS, ladderResetMs: RESET_MS });

  describe('episodes of recovery', () => {
    it('are written once for a recovery, with the rung that healed the machine', async () => {
      await begin();
      const id = await addLost();
      const { agentStarted: start, provided } = await read(id);
      await s.h.bmdb.sweep();
      await s.h.pass(MINUTE);
      const firstMs = await s.now();
      await failed(id);
      await failed(id);
      expect(await episodes()).toMatchObject([
        { rung: 'rebooting', healedAtMs: null, endedAtMs: null },
      ]);
      const work = await asked(id, 'powerCycling');
      await work.finish(RECOVERED);
      await (await s.session.claim('ShepherdAgentStart', id)).finish(agentStarted());
      await s.h.pass(MINUTE);
      const heardMs = await s.now();
      await heard(id);
      const [episode, ...others] = await episodes();
      expect(others).toEqual([]);
      expect(episode).toEqual({
        provider: PROVIDER,
        slotId: provided!.reservationId,
        machineId: id,
        location: 'ny',
        rung: 'powerCycling',
        attempts: 3,
        silentSinceMs: expect.closeTo(start!.atMs, -1),
        beganAtMs: expect.closeTo(firstMs, -4),
        healedAtMs: expect.closeTo(heardMs, -4),
        endedAtMs: expect.closeTo(heardMs + RESET_MS, -4),
      });
      expect((await read(id)).slot).toMatchObject({
        episodes: [expect.closeTo(episode!.beganAtMs, -1)],
        healedBy: 'powerCycling',
      });
    });

    it('tell which rung healed the machine last', async () => {
      await begin();
      const id = await addLost();
      await healed(id, 'powerCycling');
      await s.h.pass(20 * MINUTE);
      await healed(id);
      await s.h.pass(20 * MINUTE);
      await failed(id, 'powerCycling');
      const { slot } = await read(id);
      expect(slot.healedBy, 'the open episode healed nothing').toBe('rebooting');
      expect(slot.episodes).toHaveLength(3);
      expect(slot.episodes).toEqual(slot.episodes.toSorted((a, b) => b - a));
    });

    it('are read newest first, since a time, and at most so many', async () => {
      const first = await addLost();
      await failed(first);
      const sinceMs = await s.now();
      const second = await addLost();
      await failed(second);
      const machines = async (...query: Parameters<typeof reading>) => {
        const { episodes: found, isCut } = await reading(...query);
        return [found.map(({ machineId }) => machineId), isCut];
      };
      expect(await machines()).toEqual([[second, first], false]);
      expect(await machines({ limit: 2 })).toEqual([[second, first], false]);
      expect(await machines({ limit: 1 })).toEqual([[second], true]);
      expect(await machines({ sinceMs })).toEqual([[second], false]);
      const [{ silentSinceMs, beganAtMs } = expect.fail()] = await episodes();
      expect(silentSinceMs, 'no sweep recorded its silence').toBe(beganAtMs);
    });

    it('also count failures before any request', async () => {
      const id = await addLost();
      const fail = async (countsOn: StandingRung | null) => {
        const work = await s.session.claim('ShepherdRecovery', id);
        await work.fail(STEADY, 'the device cannot be looked at', { unasked: { countsOn } });
        await s.h.pass(2 * MINUTE);
      };
      await fail(null);
      expect(await episodes(), 'of an outage').toEqual([]);
      await fail('restartingAgent');
      await fail('rebooting');
      expect(await episodes()).toMatchObject([{ machineId: id, rung: 'rebooting', attempts: 2 }]);
    });

    it('are not written for orders', async () => {
      const id = await addLost({ recovery: ladderOn('powerCycling', { attempts: 2 }) });
      const order = await s.submit({ verb: 'reboot', target: await s.target(id), force: false });
      const work = await s.session.claim('ShepherdRecovery', id);
      await work.note({ kind: 'recoveryAsked', rung: 'rebooting', bootId: null, order });
      await work.finish({ ...RECOVERED, order });
      expect(await episodes()).toEqual([]);
      expect((await read(id)).slot).toMatchObject({ episodes: [], healedBy: null });
    });

    it('no longer count for a machine that a person has released', async () => {
      await begin();
      const [id, other] = [await addLost(), await addLost()];
      await healed(id);
      await failed(other);
      await s.h.pass(20 * MINUTE);
      await failed(id);
      expect((await read(id)).slot.episodes).toHaveLength(2);
      await s.applyRequest({ verb: 'release', target: await s.target(id), forgetHostKey: false });
      expect((await read(id)).slot).toMatchObject({ episodes: [], healedBy: null });
      expect((await read(other)).slot.episodes).toHaveLength(1);
      expect(
        await episodes(),
        'they stay in the statistics, and the last one is over',
      ).toMatchObject([
        { machineId: id, healedAtMs: null, endedAtMs: expect.any(Number) },
        { machineId: other, endedAtMs: null },
        { machineId: id, healedAtMs: expect.any(Number) },
      ]);
      await failed(id);
      expect((await read(id)).slot.episodes, 'a new episode counts').toHaveLength(1);
    });

    it('end when the machine is given back, and stay', async () => {
      const id = await addLost();
      const { provided } = await read(id);
      await failed(id);
      await askToGiveBack(s.h.bmdb, s.session, id, {});
      const work = await s.session.claim('ShepherdDeprovision', id);
      await work.finish({ kind: 'deprovisioned' });
      expect(await episodes()).toMatchObject([
        { machineId: id, healedAtMs: null, endedAtMs: expect.closeTo(await s.now(), -4) },
      ]);
      const next = await s.add({ provided });
      expect((await read(next)).slot.episodes, 'it is the same hardware').toHaveLength(1);
    });

    it('are deleted after 400 days', async () => {
      await failed(await addLost());
      await s.h.pass(399 * DAY);
      await s.h.takeIn(true);
      const id = await addLost();
      const session = await s.openOn(s.h.bmdb);
      const work = await session.claim('ShepherdRecovery', id);
      await work.note({ kind: 'recoveryAsked', rung: 'rebooting', bootId: null });
      await s.h.bmdb.sweep();
      expect(await episodes()).toHaveLength(2);
      await s.h.pass(DAY);
      await s.h.bmdb.sweep();
      expect(await episodes()).toMatchObject([{ machineId: id }]);
      await session.close();
    });
  });
}
