import { describe, expect, it } from 'vitest';
import type { Work } from '../../src/adapters/bmdb/port.ts';
import type { MachineId } from '../../src/domain/ids.ts';
import type { QuarantineKind } from '../../src/domain/machine.ts';
import { codeOf } from '../../src/domain/errors.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { ASKED, MINUTE, machineRow, providedOf, startedAt } from './bmdb-rows.ts';
import { SIGNAL, STEADY, refusedWith, holdOn } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';
import type { StandingRung } from '../../src/domain/recovery/rungs.ts';

export function recoveryContract(s: BmdbStage): void {
  const { now, read, addLost, beat } = s;
  describe('recovery', () => {
    const asked = async (id: MachineId, worker = s.session): Promise<Work> => {
      const work = await worker.claim('ShepherdRecovery', id);
      await work.note(ASKED);
      return work;
    };

    it('remembers its steps and makes the machine startable', async () => {
      const id = await addLost({ heartbeat: { atMs: (await now()) - 20 * MINUTE, bootId: 'b' } });
      const work = await asked(id);
      await work.note({ kind: 'recoveryAccepted', operationRef: 'op-1' });
      expect(await read(id)).toMatchObject({
        permit: true,
        recovery: { rung: 'rebooting', attempts: 1, operationRef: 'op-1', nextAtMs: null },
      });
      await work.finish({ kind: 'recovered', coolDown: STEADY, bootSeconds: null });
      const row = await read(id);
      expect(row).toMatchObject({ agentStarted: null, heartbeat: null, permit: false, work: [] });
      expect(row.recovery?.nextAtMs).toBeGreaterThan(await now());
      expect((await s.h.events(id)).map((line) => line.split(' ')[0])).toEqual([
        'recoveryAsked',
        'recovered',
      ]);
      await (await s.rival.claim('ShepherdAgentStart', id)).cancel();
    });

    it('counts attempts on a rung and starts anew on the next', async () => {
      const id = await addLost();
      const work = await asked(id);
      await work.note(ASKED);
      expect((await read(id)).recovery).toMatchObject({ rung: 'rebooting', attempts: 2 });
      await work.note({ kind: 'recoveryAsked', rung: 'powerCycling', bootId: null });
      expect((await read(id)).recovery).toMatchObject({ rung: 'powerCycling', attempts: 1 });
    });

    it('stays within the budget over all daemons', async () => {
      const ids = await Promise.all(Array.from({ length: 5 }, () => addLost()));
      const asks = await Promise.allSettled(
        ids.map((id, at) => asked(id, at % 2 ? s.rival : s.session)),
      );
      const granted = asks.filter((each) => each.status === 'fulfilled');
      expect(granted, 'a group of four or more may have two').toHaveLength(2);
      for (const each of asks) {
        if (each.status === 'rejected') expect(codeOf(each.reason)).toBe('no-permit');
      }
      const { machines } = await s.h.bmdb.scan(SIGNAL);
      expect(machines.filter((row) => row.permit)).toHaveLength(2);
      const first = granted[0]!.value;
      await first.finish({ kind: 'recovered', coolDown: STEADY, bootSeconds: null });
      const held = new Set(granted.map(({ value }) => value.machineId));
      const next = ids.find((id) => !held.has(id))!;
      await s.session.releaseWork(next);
      await s.rival.releaseWork(next);
      await (await asked(next)).cancel();
    });

    it('cools down without a permit after a failure, longer each time', async () => {
      const growing = { initialMs: MINUTE, exponent: 2, maximumMs: 5 * MINUTE };
      const id = await addLost();
      for (const minutes of [1, 2, 4]) {
        await (await asked(id)).fail(growing, 'no evidence');
        const row = await read(id);
        expect(row.permit).toBe(false);
        expect(row.recovery!.nextAtMs! - (await now())).toBeGreaterThan((minutes - 1) * MINUTE);
        expect(await refusedWith(s.session.claim('ShepherdRecovery', id))).toBe('nothing-to-do');
        await s.h.pass(minutes * MINUTE + 1);
      }
      const work = await asked(id);
      await work.finish({ kind: 'recovered', coolDown: growing, bootSeconds: null });
      const left = (await read(id)).recovery!.nextAtMs! - (await now());
      expect(left).toBeGreaterThan(4 * MINUTE);
      expect(left).toBeLessThanOrEqual(5 * MINUTE);
    });

    it('returns the permit when the machine is quarantined', async () => {
      const id = await addLost();
      const work = await asked(id);
      await work.fail(STEADY, 'end of the ladder', {
        quarantine: { kind: 'needsHuman', reason: 'dead' },
      });
      expect((await read(id)).permit).toBe(false);
    });

    it('returns the permit when nothing was requested', async () => {
      const id = await addLost();
      await (await s.session.claim('ShepherdRecovery', id)).cancel();
      expect((await read(id)).permit).toBe(false);
      await (await asked(id)).cancel();
      expect((await read(id)).permit).toBe(true);
    });

    it('requests nothing when the machine came back', async () => {
      const id = await addLost();
      const work = await s.session.claim('ShepherdRecovery', id);
      await beat(id);
      expect(await refusedWith(work.note(ASKED))).toBe('nothing-to-do');
      expect((await read(id)).recovery).toBeNull();
      await work.cancel();
    });

    it('is barred by a hold and by a freeze', async () => {
      const row = machineRow(await now(), startedAt((await now()) - 40 * MINUTE));
      await s.h.insert(row);
      await s.h.freeze('fleet', 'too many at once');
      expect(await refusedWith(s.session.claim('ShepherdRecovery', row.machineId))).toBe(
        'no-permit',
      );
      await s.h.hold(holdOn(row, 'no-recover'));
      expect(await refusedWith(s.session.claim('ShepherdRecovery', row.machineId))).toBe(
        'nothing-to-do',
      );
    });

    it('ends its episode after heartbeats', async () => {
      const id = await addLost();
      await (await asked(id)).cancel();
      await beat(id);
      await beat(id);
      expect((await read(id)).permit).toBe(true);
      await beat(id);
      expect(await read(id)).toMatchObject({ permit: false, recovery: { rung: 'rebooting' } });
      for (let passedMs = 0; passedMs <= 30 * MINUTE; passedMs += 50_000) {
        await s.h.pass(50_000);
        await beat(id);
      }
      expect((await read(id)).recovery).toBeNull();
    });

    it('C4: no longer needs a person after heartbeats for the time of the policy', async () => {
      const resetMs = 5 * MINUTE;
      await s.begin({ ...DEFAULT_LOSS, ladderResetMs: resetMs });
      const park = async (kind: QuarantineKind, cause: 'chronic' | null = null) => {
        const id = await addLost({ provided: providedOf(`${kind} ${cause}`) });
        const work = await s.session.claim('ShepherdRecovery', id);
        await work.fail(STEADY, 'its end', { quarantine: { kind, reason: 'dead', cause } });
        return id;
      };
      const parked = await park('needsHuman');
      const contradicts = await park('conflict');
      const chronic = await park('needsHuman', 'chronic');
      const heard = async () => {
        await beat(parked);
        await beat(contradicts);
        await beat(chronic);
      };
      await heard();
      for (let passedMs = 50_000; passedMs < resetMs; passedMs += 50_000) {
        await s.h.pass(50_000);
        await heard();
        expect((await read(parked)).quarantine, `after ${passedMs} ms`).not.toBeNull();
      }
      await s.h.pass(50_000);
      await heard();
      expect((await read(parked)).quarantine).toBeNull();
      expect((await read(contradicts)).quarantine, 'what contradicts stays').not.toBeNull();
      expect((await read(chronic)).quarantine, 'a cause stays').toMatchObject({ cause: 'chronic' });
      expect((await s.h.events(parked)).at(-1)).toBe(
        'released needsHuman ended: heartbeats without a break for 5 min',
      );
      await s.h.pass(10_000);
      await heard();
      expect((await s.h.events(parked)).filter((line) => line.startsWith('rel'))).toHaveLength(1);
    });

    it('is not under way after a definite refusal, and counts only if told to', async () => {
      const id = await addLost();
      const work = await asked(id);
      await work.note({ kind: 'recoveryAccepted', operationRef: 'op-1' });
      await work.note({ kind: 'recoveryRefused', counts: true });
      const refused = { rung: 'rebooting', askedAtMs: null, operationRef: null };
      expect((await read(id)).recovery).toMatchObject({ ...refused, attempts: 1 });
      await work.note(ASKED);
      expect((await read(id)).recovery).toMatchObject({ attempts: 2 });
      await work.note({ kind: 'recoveryRefused', counts: false });
      expect((await read(id)).recovery).toMatchObject({ ...refused, attempts: 1 });
      await work.note({ kind: 'recoveryRefused', counts: false });
      await work.note({ kind: 'recoveryRefused', counts: false });
      expect((await read(id)).recovery).toMatchObject({ attempts: 0 });
      await work.cancel();
      expect((await read(id)).permit, 'nothing is under way').toBe(false);
    });

    it('keeps no permit when it failed before any request, and counts only if told to', async () => {
      const id = await addLost();
      const failed = async (countsOn: StandingRung | null) => {
        const work = await s.session.claim('ShepherdRecovery', id);
        await work.fail(STEADY, 'the device cannot be looked at', { unasked: { countsOn } });
        const { permit, recovery } = await read(id);
        expect(permit).toBe(false);
        await s.h.pass(2 * MINUTE);
        return recovery;
      };
      expect(await failed(null), 'of an outage').toBeNull();
      const begun = { rung: 'restartingAgent', askedAtMs: null, askedRung: null };
      expect(await failed('restartingAgent')).toMatchObject({ ...begun, attempts: 1 });
      expect(await failed('restartingAgent')).toMatchObject({ ...begun, attempts: 2 });
      expect(await failed('rebooting')).toMatchObject({ rung: 'rebooting', attempts: 1 });
      const before = await failed(null);
      expect(before).toMatchObject({ rung: 'rebooting', attempts: 1 });
      expect(before!.nextAtMs, 'it cools down').not.toBeNull();
    });

    it('also returns the permit of an earlier attempt after such a failure', async () => {
      const id = await addLost();
      await (await asked(id)).cancel();
      await s.h.pass(2 * MINUTE);
      const work = await s.session.claim('ShepherdRecovery', id);
      const { askedAtMs } = (await read(id)).recovery!;
      await work.fail(STEADY, 'no such device', { unasked: { countsOn: 'rebooting' } });
      expect(await read(id)).toMatchObject({ permit: false, recovery: { attempts: 2, askedAtMs } });
    });

    it('keeps an agent that came back when nothing was requested', async () => {
      const id = await addLost();
      const work = await s.session.claim('ShepherdRecovery', id);
      await beat(id);
      const { agentStarted, heartbeat } = await read(id);
      const recovered = { kind: 'recovered', coolDown: STEADY, bootSeconds: null } as const;
      expect(await refusedWith(work.finish({ ...recovered, unasked: true }))).toBe('nothing-to-do');
      expect(await read(id)).toMatchObject({ agentStarted, heartbeat, recovery: null });
      await work.cancel();
      expect(await read(id)).toMatchObject({ permit: false, work: [] });
      const other = await addLost();
      const booted = await s.session.claim('ShepherdRecovery', other);
      await booted.finish({ ...recovered, unasked: true });
      expect(await read(other)).toMatchObject({ agentStarted: null, work: [], permit: false });
    });

    it('cannot be refused when it was never requested', async () => {
      const id = await addLost();
      const work = await s.session.claim('ShepherdRecovery', id);
      await work.note({ kind: 'recoveryRefused', counts: true });
      expect((await read(id)).recovery).toBeNull();
      await work.cancel();
      expect(await refusedWith(work.note({ kind: 'recoveryRefused', counts: true }))).toBe(
        'work-lost',
      );
    });

    it('takes permits back from machines that no longer need one', async () => {
      const row = machineRow(await now(), startedAt((await now()) - 40 * MINUTE));
      await s.h.insert(row);
      await (await asked(row.machineId)).cancel();
      await s.h.pass(2 * MINUTE);
      expect((await s.h.bmdb.sweep()).permits).toBe(0);
      await s.h.hold(holdOn(row, 'no-recover'));
      expect((await s.h.bmdb.sweep()).permits).toBe(1);
      expect((await read(row.machineId)).permit).toBe(false);
    });
  });
}
