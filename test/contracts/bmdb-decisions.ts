import { describe, expect, it } from 'vitest';
import type { RequestedThing } from '../../src/adapters/bmdb/port.ts';
import type { MachineId } from '../../src/domain/ids.ts';
import type { MachineRow } from '../../src/domain/machine.ts';
import { QUARANTINE_KINDS } from '../../src/domain/machine.ts';
import { SETTABLE_HOLDS } from '../../src/domain/verbs.ts';
import { ASKED, ladderOn, MINUTE, PROVIDER, requestedAt } from './bmdb-rows.ts';
import { holdOn, refusedWith, SIGNAL, STEADY } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';
import { requestFor, targetOf } from './requests-of.ts';

const EMPTY_SLOT = { provider: PROVIDER, slotId: 'nobody-there', machineId: null };

export function decisionsContract(s: BmdbStage): void {
  const { add, read } = s;
  const { applyRequest } = s;
  const log = async (id: MachineId) =>
    (await s.h.bmdb.inspection.events({ machineId: id, limit: 20 }, SIGNAL)).map(
      ({ kind, actor, reason }) => `${actor} ${kind} ${reason}`,
    );
  const quarantined = (kind: (typeof QUARANTINE_KINDS)[number]): Partial<MachineRow> => ({
    quarantine: { kind, reason: 'x', untilMs: null, cause: null },
  });

  describe('labels', () => {
    it('belong to the slot and pass to its next machine', async () => {
      const id = await add({ deprovision: requestedAt(await s.now()) });
      const { cursor } = await s.scan();
      const target = await s.target(id);
      await applyRequest({ verb: 'label', target, set: 'rack=b4,b=2,team=web' });
      await applyRequest({ verb: 'label', target, set: 'team-,rack=b5' });
      const changes = await s.h.other.changesSince(cursor!, SIGNAL);
      expect(changes?.machines).toMatchObject([{ machineId: id, slot: { labels: 'b=2,rack=b5' } }]);
      expect(await log(id)).toEqual([
        'ann labelled rack=b4,b=2,team=web: no longer needed',
        'ann labelled team-,rack=b5: no longer needed',
      ]);
      const { provided } = await read(id);
      await (await s.session.claim('ShepherdDeprovision', id)).finish({ kind: 'deprovisioned' });
      const next = await add({ provided });
      expect((await read(next)).slot).toMatchObject({ labels: 'b=2,rack=b5' });
      await applyRequest({ verb: 'label', target: await s.target(next), set: 'b-,rack-' });
      expect((await read(next)).slot).toMatchObject({ labels: null });
      expect((await read(await add())).slot).toMatchObject({ labels: null });
    });
  });

  describe('applying a request', () => {
    it('happens once, by the first daemon', async () => {
      const id = await add();
      const request = requestFor({ verb: 'deprovision', target: await s.target(id) });
      await s.h.bmdb.requests.submit(request);
      const both = await Promise.all([
        s.session.applyRequest(request.key),
        s.rival.applyRequest(request.key),
      ]);
      expect(both[0]).toMatchObject({ state: 'done' });
      expect(both[1]).toEqual(both[0]);
      expect(await s.session.applyRequest(request.key)).toEqual(both[0]);
      expect(await log(id)).toEqual(['ann deprovisionRequested no longer needed']);
    });

    it('needs a live session and an existing request', async () => {
      const key = await s.submit({ verb: 'freeze', scope: 'fleet' });
      expect(await refusedWith(s.session.applyRequest('no such key'))).toBe('not-found');
      expect(await refusedWith(s.session.applyRequest('a\0b'))).toBe('not-found');
      await s.h.expireSession(s.session.sessionId);
      expect(await refusedWith(s.session.applyRequest(key))).toBe('session-expired');
      expect(await s.rival.applyRequest(key)).toMatchObject({ state: 'done' });
    });

    it('records when it happened and for whom', async () => {
      const id = await add();
      const what = { verb: 'hold', kind: 'preserve', untilMs: null } as const;
      const target = await s.target(id);
      const state = await applyRequest(
        { ...what, target },
        { by: 'bob', reason: 'a disk to save' },
      );
      expect(Math.abs(state!.settledAtMs! - (await s.now()))).toBeLessThan(MINUTE);
      expect(await log(id)).toEqual(['bob held preserve: a disk to save']);
    });

    it('refuses an expired request', async () => {
      const id = await add();
      const what = { verb: 'quarantine', target: await s.target(id), untilMs: null } as const;
      const key = await s.submit(what, { validForMs: MINUTE });
      await s.h.pass(2 * MINUTE);
      const outcome = 'it expired before it was carried out';
      expect(await s.session.applyRequest(key)).toMatchObject({ state: 'refused', outcome });
      expect((await read(id)).quarantine).toBeNull();
      expect(await log(id)).toEqual([`ann requestRefused quarantine: ${outcome}`]);
      expect((await s.scan()).requests).toEqual([]);
    });

    it('refuses a request whose slot has another machine by now', async () => {
      const id = await add();
      const target = await s.target(id);
      const { provided } = await read(id);
      const whats: RequestedThing[] = [
        { verb: 'hold', target, kind: 'no-start', untilMs: null },
        { verb: 'quarantine', target, untilMs: null },
        { verb: 'release', target, forgetHostKey: true },
        { verb: 'deprovision', target },
        { verb: 'clear-backoff', target },
      ];
      const submitted = await Promise.all(
        whats.map((what) => s.h.bmdb.requests.submit(requestFor(what))),
      );
      await s.h.remove(id);
      const next = await add({ provided });
      for (const { key } of submitted) {
        expect(await s.session.applyRequest(key)).toMatchObject({
          state: 'refused',
          outcome: `machine ${id} is not on slot metal/${target.slotId} any more`,
        });
      }
      expect(await s.holds()).toEqual([]);
      expect(await read(next)).toMatchObject({ quarantine: null, deprovision: null });
      expect(await log(next)).toEqual([]);
    });

    it('refuses every request except holds for a machine that cannot be read', async () => {
      const id = await add();
      const target = await s.target(id);
      await s.h.spoil(id);
      const refused = [
        await applyRequest({ verb: 'quarantine', target, untilMs: null }),
        await applyRequest({ verb: 'release', target, forgetHostKey: false }),
        await applyRequest({ verb: 'deprovision', target }),
        await applyRequest({ verb: 'clear-backoff', target }),
      ];
      expect(refused.map((state) => state?.state)).toEqual(refused.map(() => 'refused'));
      const held = await applyRequest({ verb: 'hold', target, kind: 'preserve', untilMs: null });
      expect(held).toMatchObject({ state: 'done' });
    });
  });

  describe('a hold', () => {
    it.each(SETTABLE_HOLDS)('sets, replaces and removes %s', async (kind) => {
      const id = await add();
      const target = await s.target(id);
      const untilMs = (await s.now()) + 10 * MINUTE;
      expect(await applyRequest({ verb: 'hold', target, kind, untilMs })).toMatchObject({
        state: 'done',
        outcome: `${kind} holds until ${new Date(untilMs).toISOString()}`,
      });
      const [first] = await s.holds();
      expect(first).toMatchObject({
        provider: target.provider,
        slotId: target.slotId,
        kind,
        setBy: 'ann',
        reason: 'no longer needed',
      });
      expect(Math.abs(first!.untilMs! - untilMs)).toBeLessThan(2);
      const by = { by: 'bob', reason: 'for good' };
      expect(await applyRequest({ verb: 'hold', target, kind, untilMs: null }, by)).toMatchObject({
        outcome: `${kind} holds until it is removed, instead of that by ann (no longer needed)`,
      });
      expect(await s.holds()).toMatchObject([{ kind, setBy: 'bob', untilMs: null }]);
      expect(await applyRequest({ verb: 'unhold', target, kind })).toMatchObject({
        state: 'done',
        outcome: `${kind} is removed; bob had set it (for good)`,
      });
      expect(await s.holds()).toEqual([]);
      expect(await applyRequest({ verb: 'unhold', target, kind })).toMatchObject({
        state: 'done',
        outcome: 'there was none',
      });
      expect(await log(id)).toEqual([
        `ann held ${kind}: no longer needed`,
        `bob held ${kind}: for good`,
        `ann unheld ${kind}: no longer needed`,
        'ann requestDone unhold: there was none',
      ]);
    });

    it('can be set on a slot without a machine and bars creation there', async () => {
      const kind = 'no-allocate';
      await applyRequest({ verb: 'hold', target: EMPTY_SLOT, kind, untilMs: null });
      const { provider, slotId } = EMPTY_SLOT;
      const input = { provider, slotId, hostname: 'm-1' };
      expect(await refusedWith(s.session.intents.open(input))).toBe('nothing-to-do');
      const lines = await s.h.bmdb.inspection.events({ provider, slotId, limit: 9 }, SIGNAL);
      expect(lines).toMatchObject([{ machineId: null, actor: 'ann', kind: 'held' }]);
      await applyRequest({ verb: 'unhold', target: EMPTY_SLOT, kind });
      expect((await s.session.intents.open(input)).state).toBe('open');
    });

    it('counts from its begin on', async () => {
      const id = await add();
      const target = await s.target(id);
      const fromMs = (await s.now()) + 10 * MINUTE;
      const what = { verb: 'hold', target, kind: 'no-start' } as const;
      expect(await applyRequest({ ...what, fromMs })).toMatchObject({
        outcome: `no-start holds from ${new Date(fromMs).toISOString()} until it is removed`,
      });
      const [planned] = await s.holds();
      expect(Math.abs(planned!.fromMs! - fromMs)).toBeLessThan(2);
      await (await s.session.claim('ShepherdAgentStart', id)).cancel();
      await s.h.pass(11 * MINUTE);
      expect(await refusedWith(s.session.claim('ShepherdAgentStart', id))).toBe('nothing-to-do');
      expect(await applyRequest({ verb: 'unhold', target, kind: 'no-start' })).toMatchObject({
        outcome: 'no-start is removed; ann had set it (no longer needed)',
      });
    });

    it('leaves holds of other kinds and slots unchanged', async () => {
      const target = await s.target(await add());
      const other = await s.target(await add());
      for (const each of [target, other]) {
        await applyRequest({ verb: 'hold', target: each, kind: 'no-start', untilMs: null });
      }
      await applyRequest({ verb: 'hold', target, kind: 'preserve', untilMs: null });
      await applyRequest({ verb: 'unhold', target, kind: 'no-start' });
      expect((await s.holds()).map(({ slotId, kind }) => `${slotId} ${kind}`).toSorted()).toEqual(
        [`${other.slotId} no-start`, `${target.slotId} preserve`].toSorted(),
      );
    });

    it('has no effect after its end', async () => {
      const id = await add();
      const row = await read(id);
      await s.h.hold({ ...holdOn(row, 'no-start'), untilMs: (await s.now()) - MINUTE });
      const unhold = { verb: 'unhold', target: targetOf(row), kind: 'no-start' } as const;
      expect(await applyRequest(unhold)).toMatchObject({ outcome: 'there was none' });
    });
  });

  describe('a quarantine by an operator', () => {
    it('is set for a while or for good, and bars work', async () => {
      const id = await add();
      const target = await s.target(id);
      const untilMs = (await s.now()) + 10 * MINUTE;
      await applyRequest({ verb: 'quarantine', target, untilMs }, { reason: 'it smokes' });
      const { quarantine } = await read(id);
      expect(quarantine).toMatchObject({ kind: 'byOperator', reason: 'it smokes' });
      expect(Math.abs(quarantine!.untilMs! - untilMs)).toBeLessThan(2);
      expect(await refusedWith(s.session.claim('ShepherdAgentStart', id))).toBe('nothing-to-do');
      const again = await applyRequest({ verb: 'quarantine', target, untilMs: null });
      expect(again!.outcome).toBe(
        'quarantined until it is released; it was quarantined (byOperator: it smokes)',
      );
      expect((await read(id)).quarantine).toMatchObject({ untilMs: null });
      expect(await log(id)).toEqual([
        'ann quarantined byOperator: it smokes',
        'ann quarantined byOperator: no longer needed',
      ]);
    });

    it('returns the permit unless work uses it', async () => {
      const park = async (id: MachineId) =>
        applyRequest({ verb: 'quarantine', target: await s.target(id), untilMs: null });
      const idle = await s.addLost({ permit: true });
      await park(idle);
      expect((await read(idle)).permit).toBe(false);
      const id = await s.addLost();
      const work = await s.session.claim('ShepherdRecovery', id);
      await work.note(ASKED);
      await park(id);
      expect((await read(id)).permit).toBe(true);
      await work.fail(STEADY, 'no evidence');
      expect((await read(id)).permit).toBe(false);
    });
  });

  describe('a release', () => {
    const spoilt = async (kind: (typeof QUARANTINE_KINDS)[number]) => {
      const at = await s.now();
      const wait = { untilMs: at + 10 * MINUTE, cause: 'x', lastIntervalSeconds: 60 };
      return add({
        ...quarantined(kind),
        recovery: ladderOn('reinstalling', { attempts: 2, nextAtMs: at + 10 * MINUTE }),
        startAttempt: { atMs: at - 50 * MINUTE, count: 9, unreached: 0 },
        backoffs: [
          { process: 'ShepherdAgentStart', ...wait },
          { process: 'ShepherdRecovery', ...wait },
        ],
        hostKey: 'pinned',
        permit: true,
      });
    };

    it.each(QUARANTINE_KINDS)('ends a quarantine %s and the whole episode', async (kind) => {
      const id = await spoilt(kind);
      const state = await applyRequest({
        verb: 'release',
        target: await s.target(id),
        forgetHostKey: false,
      });
      expect(state).toMatchObject({ state: 'done' });
      expect(state!.outcome).toMatch(new RegExp(`^released; it was quarantined .${kind}: x.`));
      expect(await read(id)).toMatchObject({
        quarantine: null,
        recovery: null,
        startAttempt: null,
        backoffs: [],
        permit: false,
        hostKey: 'pinned',
      });
      expect(await log(id)).toEqual(['ann released no longer needed']);
      await (await s.session.claim('ShepherdAgentStart', id)).cancel();
    });

    it('A7: remembers a power-off request, so that the machine is switched on first', async () => {
      const at = await s.now();
      const startAttempt = { atMs: at - 50 * MINUTE, count: 9, unreached: 0 };
      const recovery = ladderOn('powerCycling', {
        attempts: 1,
        askedAtMs: at - MINUTE,
        askedRung: 'powerCycling',
        bootIdBefore: 'boot-1',
        powerOffAskedAtMs: at - MINUTE,
      });
      const id = await add({ ...quarantined('needsHuman'), recovery, startAttempt });
      await applyRequest({ verb: 'release', target: await s.target(id), forgetHostKey: false });
      expect(await read(id)).toMatchObject({
        quarantine: null,
        startAttempt,
        recovery: ladderOn('restartingAgent', {
          attempts: 0,
          powerOffAskedAtMs: recovery.powerOffAskedAtMs,
        }),
      });
      const work = await s.session.claim('ShepherdRecovery', id);
      await work.note({ kind: 'powerOnAccepted' });
      await work.cancel();
    });

    it('keeps a pinned host key unless told to forget it', async () => {
      const release = async (id: MachineId, forgetHostKey: boolean) => {
        const target = await s.target(id);
        return (await applyRequest({ verb: 'release', target, forgetHostKey }))!.outcome;
      };
      const id = await spoilt('conflict');
      expect(await release(id, false)).toMatch(/the quarantine will come back$/);
      expect((await read(id)).hostKey).toBe('pinned');
      expect(await release(id, true)).toBe(
        'released; it was not quarantined; its next SSH host key will be pinned',
      );
      expect((await read(id)).hostKey).toBeNull();
      expect(await release(await spoilt('needsHuman'), false)).not.toMatch(/come back/);
    });

    it('leaves the permit with the work that uses it', async () => {
      const id = await s.addLost();
      const work = await s.session.claim('ShepherdRecovery', id);
      const asked = ASKED;
      await work.note(asked);
      await applyRequest({ verb: 'release', target: await s.target(id), forgetHostKey: false });
      expect((await read(id)).permit).toBe(true);
      await work.note(asked);
      expect((await read(id)).recovery).toMatchObject({ rung: 'rebooting', attempts: 1 });
      await work.cancel();
    });

    it('starts waits anew', async () => {
      const id = await add();
      await (await s.session.claim('ShepherdAgentStart', id)).fail(STEADY, 'refused');
      await applyRequest({ verb: 'release', target: await s.target(id), forgetHostKey: false });
      await (await s.session.claim('ShepherdAgentStart', id)).fail(STEADY, 'refused');
      expect((await read(id)).startAttempt).toMatchObject({ count: 1 });
    });
  });

  describe('clearing backoffs', () => {
    it('ends all waits and nothing else', async () => {
      const at = await s.now();
      const wait = { cause: 'x', lastIntervalSeconds: 60 };
      const id = await s.addLost({
        recovery: ladderOn('powerCycling', { attempts: 2, nextAtMs: at + 10 * MINUTE }),
        backoffs: [
          { process: 'ShepherdRecovery', untilMs: at + 10 * MINUTE, ...wait },
          { process: 'ShepherdAgentStart', untilMs: at - 10 * MINUTE, ...wait },
        ],
      });
      expect(await refusedWith(s.session.claim('ShepherdRecovery', id))).toBe('nothing-to-do');
      const target = await s.target(id);
      expect((await applyRequest({ verb: 'clear-backoff', target }))!.outcome).toBe(
        'no longer waited for: ShepherdRecovery, cool-down',
      );
      expect(await read(id)).toMatchObject({
        backoffs: [],
        recovery: { rung: 'powerCycling', attempts: 2, nextAtMs: null },
      });
      await (await s.session.claim('ShepherdRecovery', id)).cancel();
      expect(await applyRequest({ verb: 'clear-backoff', target })).toMatchObject({
        state: 'done',
        outcome: 'nothing was waited for',
      });
      expect(await log(id)).toEqual([
        'ann backoffCleared no longer needed',
        'ann backoffCleared no longer needed',
      ]);
    });
  });
}
