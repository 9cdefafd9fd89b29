import { describe, expect, it } from 'vitest';
import type { Cursor, MachineId } from '../../src/domain/ids.ts';
import type { MachineRow } from '../../src/domain/machine.ts';
import { KEY, KEY_HEX, ladderOn, MINUTE, PROVIDER, providedOf, requestedAt } from './bmdb-rows.ts';
import { agentStarted, holdOn, refusedWith, SIGNAL, STEADY } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';
import { askToGiveBack } from './requests-of.ts';

const DEPROVISIONED = { kind: 'deprovisioned' } as const;
const ASKED = { kind: 'deprovisionAsked' } as const;

export function deprovisionContract(s: BmdbStage): void {
  const { add, read } = s;
  const request = (id: MachineId, how = {}) => askToGiveBack(s.h.bmdb, s.session, id, how);
  const claim = (id: MachineId) => s.session.claim('ShepherdDeprovision', id);
  const addAsked = async (change: Partial<MachineRow> = {}) =>
    add({ deprovision: requestedAt(await s.now()), ...change });
  const reading = async (id: MachineId) => (await s.h.other.readMachine(id, SIGNAL)).row;

  describe('a request to give a machine back', () => {
    it('is written once with who and why; repeated requests keep the first', async () => {
      const id = await add();
      expect(await request(id)).toMatchObject({ state: 'done', outcome: 'it will be given back' });
      const { deprovision } = await read(id);
      expect(deprovision).toMatchObject({
        requestedBy: 'ann',
        reason: 'no longer needed',
        attempts: 0,
        askedAtMs: null,
      });
      expect(Math.abs(deprovision!.requestedAtMs - (await s.now()))).toBeLessThan(MINUTE);
      const again = await askToGiveBack(s.h.other, s.rival, id, { by: 'bob', reason: 'me too' });
      expect(again).toMatchObject({
        state: 'done',
        outcome: 'ann asked for it already: no longer needed',
      });
      expect((await read(id)).deprovision).toEqual(deprovision);
      expect(await s.h.events(id)).toEqual([
        'deprovisionRequested no longer needed',
        'requestDone deprovision: ann asked for it already: no longer needed',
      ]);
      expect(await s.h.actors(id)).toEqual(['ann', 'bob']);
    });

    it('can be hurried by a second request and never slowed down', async () => {
      const id = await add();
      await request(id);
      const { deprovision } = await read(id);
      const skip = await request(id, { drain: 'skip' });
      expect(skip?.outcome).toContain('from now on it does not wait for its pools');
      expect((await read(id)).deprovision).toEqual({ ...deprovision, drain: 'skip' });
      const slower = await request(id, { drain: 'force' });
      expect(slower?.outcome).toBe('ann asked for it already: no longer needed');
      expect((await read(id)).deprovision).toEqual({ ...deprovision, drain: 'skip' });
    });

    it('D4: decides whether the slot returns to the pool; a second request does not change that', async () => {
      const id = await add();
      await request(id, { returnToPool: true });
      await request(id, { drain: 'skip' });
      expect((await read(id)).deprovision).toMatchObject({ returnToPool: true, drain: 'skip' });
    });

    it('is refused only while a hold preserves the machine', async () => {
      const id = await add();
      const row = await read(id);
      await s.h.hold(holdOn(row, 'no-start'));
      await s.h.hold({ ...holdOn(row, 'preserve'), untilMs: (await s.now()) + MINUTE });
      expect(await request(id)).toMatchObject({ state: 'refused', outcome: 'a hold preserves it' });
      expect(await reading(id)).toMatchObject({ deprovision: null });
      expect(await s.h.events(id)).toEqual(['requestRefused deprovision: a hold preserves it']);
      await s.h.pass(2 * MINUTE);
      expect(await request(id)).toMatchObject({ state: 'done' });
      expect((await read(id)).deprovision).not.toBeNull();
    });

    it.each(['needsHuman', 'byOperator'] as const)('ends a quarantine %s', async (kind) => {
      const id = await add({ quarantine: { kind, reason: 'x', untilMs: null, cause: null } });
      expect(await request(id)).toMatchObject({ state: 'done' });
      expect(await read(id)).toMatchObject({ quarantine: null, deprovision: { attempts: 0 } });
    });
  });

  describe('giving a machine back', () => {
    it('begins only after a request, and not while a hold preserves the machine', async () => {
      const plain = await add();
      expect(await refusedWith(claim(plain))).toBe('nothing-to-do');
      const id = await addAsked();
      await s.h.hold(holdOn(await read(id), 'preserve'));
      expect(await refusedWith(claim(id))).toBe('nothing-to-do');
      await s.h.lift(PROVIDER, (await read(id)).provided!.reservationId!, 'preserve');
      await (await claim(id)).cancel();
    });

    it('also works for a machine without hardware', async () => {
      const id = await addAsked({ provided: null });
      await (await claim(id)).finish(DEPROVISIONED);
      expect(await reading(id)).toBeNull();
      expect(await s.h.events(id)).toEqual([]);
    });

    it('excludes all other work and waits after a failure', async () => {
      const id = await addAsked();
      const work = await claim(id);
      expect(await refusedWith(s.rival.claim('ShepherdDeprovision', id))).toBe('work-conflict');
      expect(await refusedWith(s.rival.claim('ShepherdAccess', id))).toBe('work-conflict');
      await work.fail(STEADY, 'the provider is down');
      expect(await read(id)).toMatchObject({
        work: [],
        backoffs: [{ process: 'ShepherdDeprovision', cause: 'the provider is down' }],
      });
      expect(await refusedWith(claim(id))).toBe('nothing-to-do');
      await s.h.pass(MINUTE + 1);
      await (await claim(id)).finish(DEPROVISIONED);
      expect(await reading(id)).toBeNull();
    });

    it('counts each call to the provider before the call', async () => {
      const id = await addAsked();
      const work = await claim(id);
      await work.note(ASKED);
      const first = (await read(id)).deprovision!;
      expect(first).toMatchObject({ attempts: 1, requestedBy: 'ann' });
      await s.h.pass(MINUTE);
      await work.note(ASKED);
      const second = (await read(id)).deprovision!;
      expect(second.attempts).toBe(2);
      expect((await s.now()) - second.askedAtMs!).toBeLessThan(MINUTE);
      expect(await s.h.events(id)).toEqual([
        'deprovisionAsked attempt 1',
        'deprovisionAsked attempt 2',
      ]);
      expect(await s.h.actors(id)).toEqual(['shepherd', 'shepherd']);
    });

    it('makes no call when a hold preserves the machine or the request is gone', async () => {
      const id = await addAsked();
      const work = await claim(id);
      const row = await read(id);
      await s.h.hold(holdOn(row, 'preserve'));
      expect(await refusedWith(work.note(ASKED))).toBe('nothing-to-do');
      expect((await read(id)).deprovision).toMatchObject({ attempts: 0, askedAtMs: null });
      await s.h.lift(PROVIDER, row.provided!.reservationId!, 'preserve');
      await work.note(ASKED);
      await s.h.withdraw(id);
      expect(await refusedWith(work.note(ASKED))).toBe('nothing-to-do');
      expect(await s.h.events(id)).toEqual(['deprovisionAsked attempt 1']);
      await work.cancel();
    });
  });

  describe('a machine that was given back', () => {
    const gone = async (change: Partial<MachineRow> = {}) => {
      const id = await addAsked(change);
      await (await claim(id)).finish(DEPROVISIONED);
      return id;
    };

    it('loses all its tags and keeps its histories', async () => {
      const nowMs = await s.now();
      const id = await addAsked({
        agentStarted: { atMs: nowMs - MINUTE, publicKey: KEY_HEX, bootId: 'boot-1' },
        heartbeat: { atMs: nowMs, bootId: 'boot-1' },
        installation: {
          requestGeneration: 2n,
          handedOutAtMs: nowMs,
          reportGeneration: 1n,
          reportResult: 'Error',
        },
        startAttempt: { atMs: nowMs, count: 2, unreached: 0 },
        recovery: ladderOn('rebooting', {
          askedAtMs: nowMs,
          askedRung: 'rebooting',
          operationRef: 'op',
        }),
        permit: true,
        quarantine: { kind: 'needsHuman', reason: 'x', untilMs: null, cause: null },
        missing: { sinceMs: nowMs, seen: 3 },
        hostKey: 'key',
        backoffs: [
          {
            process: 'ShepherdAgentStart',
            untilMs: nowMs + MINUTE,
            cause: 'x',
            lastIntervalSeconds: 60,
          },
        ],
      });
      const hardwareReport = new Uint8Array([10, 0]);
      const record = { machineId: id, publicKey: KEY, bootId: null, hardwareReport };
      await s.h.bmdb.heartbeats.recordHeartbeats([record]);
      const { provided } = await read(id);
      const work = await claim(id);
      await work.finish(DEPROVISIONED);
      expect(await reading(id)).toBeNull();
      expect((await s.h.bmdb.scan(SIGNAL)).machines).toEqual([]);
      expect((await s.h.bmdb.inspection.statistics(SIGNAL)).fleet.machines).toBe(0);
      expect(await s.h.history(id)).toEqual([
        'ShepherdDeprovision Started',
        'ShepherdDeprovision Finished',
      ]);
      expect(await s.h.events(id)).toEqual([`deprovisioned device ${provided!.providerId}`]);
      expect(await s.h.actors(id)).toEqual(['shepherd']);
      expect(await refusedWith(work.finish(DEPROVISIONED))).toBe('already-finished');
      expect(await refusedWith(work.fail(STEADY, 'x'))).toBe('already-finished');
      await work.cancel();
    });

    it('is reported to readers as gone', async () => {
      const id = await addAsked();
      const work = await claim(id);
      const { cursor } = await s.scan();
      await work.finish(DEPROVISIONED);
      const changes = await s.h.other.changesSince(cursor as Cursor, SIGNAL);
      expect(changes).toMatchObject({ machines: [], gone: [id] });
    });

    it('frees its slot and its device’s name for the next machine at once', async () => {
      const slot = { provider: PROVIDER, slotId: 'reservation-1', hostname: 'm-1' };
      const before = await s.session.intents.open(slot);
      const provided = providedOf('1', { reservationId: slot.slotId });
      const id = await s.session.intents.adopt(before.witness, provided);
      await request(id);
      await (await claim(id)).finish(DEPROVISIONED);
      const after = await s.rival.intents.open(slot);
      const next = await s.rival.intents.adopt(after.witness, provided);
      expect(next).not.toBe(id);
      expect(await reading(next)).toMatchObject({ provided, deprovision: null, missing: null });
      expect(await s.session.intents.adopt(before.witness, provided)).toBe(id);
      expect(await reading(id)).toBeNull();
    });

    it('is unknown to every later call that names it', async () => {
      const id = await addAsked({
        agentStarted: { atMs: await s.now(), publicKey: KEY_HEX, bootId: null },
      });
      const [test] = [await s.rival.claim('UnitTest1', id)];
      await (await claim(id)).finish(DEPROVISIONED);
      expect(await s.beat(id)).toEqual([{ kind: 'unauthenticated' }]);
      expect(await refusedWith(test.finish({ kind: 'nothing' }))).toBe('work-lost');
      expect(await refusedWith(test.note({ kind: 'agentStartAttempt' }))).toBe('work-lost');
      expect(await refusedWith(claim(id))).toBe('nothing-to-do');
      expect(await refusedWith(s.rival.claim('ShepherdRecovery', id))).toBe('nothing-to-do');
      expect(await refusedWith(s.session.updateProvided(id, { absent: true }))).toBe('not-found');
      expect(await refusedWith(request(id))).toBe('not-found');
      await s.session.releaseWork(id);
      expect(await s.h.history(id)).toEqual([
        'UnitTest1 Started',
        'ShepherdDeprovision Started',
        'ShepherdDeprovision Finished',
        'UnitTest1 Canceled deprovisioned',
      ]);
    });

    it('leaves the holds of its slot unchanged', async () => {
      const id = await addAsked();
      const hold = holdOn(await read(id), 'no-allocate');
      await s.h.hold(hold);
      await (await claim(id)).finish(DEPROVISIONED);
      expect((await s.h.bmdb.scan(SIGNAL)).holds).toMatchObject([hold]);
    });

    it('C3: bars its slot while the machine still exists, until somebody lifts the bar', async () => {
      const letGo = {
        ...DEPROVISIONED,
        remark: 'it had no agent',
        bar: { setBy: 'ann', reason: 'given back: moved out' },
      } as const;
      const [fresh, short, held] = [await addAsked(), await addAsked(), await addAsked()];
      const holdsOf = async (slotId: string) =>
        (await s.holds()).filter((hold) => hold.slotId === slotId);
      const slots = await Promise.all(
        [fresh, short, held].map(async (id) => (await read(id)).provided!.reservationId!),
      );
      const shortHold = holdOn(await read(short), 'no-allocate');
      await s.h.hold({ ...shortHold, untilMs: (await s.now()) + MINUTE });
      await s.h.hold({ ...holdOn(await read(held), 'no-allocate'), reason: 'mine, for ever' });
      for (const id of [fresh, short, held]) await (await claim(id)).finish(letGo);
      for (const slotId of slots.slice(0, 2)) {
        expect(await holdsOf(slotId)).toMatchObject([
          { provider: PROVIDER, slotId, kind: 'no-allocate', ...letGo.bar, untilMs: null },
        ]);
      }
      expect(await holdsOf(slots[2]!)).toMatchObject([{ reason: 'mine, for ever' }]);
      expect((await s.h.events(fresh)).slice(-2)).toEqual([
        expect.stringMatching(/^deprovisioned device .*; it had no agent$/),
        'held no-allocate: given back: moved out',
      ]);
    });

    it('is gone even if the request was withdrawn meanwhile', async () => {
      const id = await addAsked();
      const work = await claim(id);
      await work.note(ASKED);
      await s.h.withdraw(id);
      await work.finish(DEPROVISIONED);
      expect(await reading(id)).toBeNull();
    });

    it('can be recorded only by the process that gave it back', async () => {
      const id = await gone();
      expect(await reading(id)).toBeNull();
      const other = await add();
      const work = await s.session.claim('ShepherdAgentStart', other);
      await expect(work.finish(DEPROVISIONED)).rejects.toThrow(/cannot end/);
      await work.finish(agentStarted());
      expect(await reading(other)).not.toBeNull();
    });
  });
}
