import { describe, expect, it } from 'vitest';
import type { Quarantine } from '../../src/adapters/bmdb/port.ts';
import type { MachineId } from '../../src/domain/ids.ts';
import { ASKED, PROVIDER } from './bmdb-rows.ts';
import { DAY, holdOn, refusedWith, STEADY, type BmdbStage } from './bmdb-stage.ts';

export function retireContract(s: BmdbStage): void {
  const { add, addLost, applyRequest, read } = s;
  const slotOf = async (id: MachineId) => ({ ...(await s.target(id)), machineId: null });
  const why = { reason: 'third disk' };
  const kinds = async (id: MachineId) =>
    (await s.h.events(id))
      .map((line) => line.split(' ')[0])
      .filter((kind) => kind !== 'workFailed');

  describe('retiring', () => {
    it('bars the slot without end, quarantines its machine and returns the permit', async () => {
      const id = await addLost();
      const work = await s.session.claim('ShepherdRecovery', id);
      await work.note(ASKED);
      await work.cancel();
      const target = await s.target(id);
      expect(await applyRequest({ verb: 'retire', target }, why)).toMatchObject({ state: 'done' });
      expect(await s.holds()).toMatchObject([
        { slotId: target.slotId, kind: 'retired', setBy: 'ann', untilMs: null },
      ]);
      expect(await read(id)).toMatchObject({
        permit: false,
        deprovision: null,
        quarantine: { kind: 'byOperator', cause: 'retired', reason: 'third disk', untilMs: null },
      });
      expect(await refusedWith(s.session.claim('ShepherdRecovery', id))).toBe('nothing-to-do');
      expect(await kinds(id)).toEqual(['recoveryAsked', 'retired']);
      expect(await applyRequest({ verb: 'retire', target }, why)).toMatchObject({
        outcome: 'ann had retired it already: third disk',
      });
    });

    it('bars starts and the ladder without any quarantine', async () => {
      const [lost, fresh] = [await addLost(), await add()];
      for (const id of [lost, fresh]) await s.h.hold(holdOn(await read(id), 'retired'));
      for (const process of ['ShepherdRecovery', 'ShepherdReinstall'] as const) {
        expect(await refusedWith(s.session.claim(process, lost))).toBe('nothing-to-do');
      }
      const start = s.session.claim('ShepherdAgentStart', fresh);
      expect(await refusedWith(start)).toBe('nothing-to-do');
    });

    it('keeps a free slot from every creation', async () => {
      const free = { provider: PROVIDER, slotId: 'free', machineId: null };
      await applyRequest({ verb: 'retire', target: free }, why);
      const opening = s.session.intents.open({ ...free, hostname: 'h' });
      expect(await refusedWith(opening)).toBe('nothing-to-do');
      await applyRequest({ verb: 'unretire', target: free }, why);
      await s.session.intents.open({ ...free, hostname: 'h' });
    });

    it('counts the replacements of a day, without failed ones', async () => {
      const opened = await Promise.all(
        ['a', 'b', 'c'].map((slotId) => {
          const replaces = slotId !== 'c';
          return s.session.intents.open({ provider: PROVIDER, slotId, hostname: 'h', replaces });
        }),
      );
      const told = async () => (await s.scan()).replacements.map(({ provider }) => provider);
      expect(await told()).toEqual([PROVIDER, PROVIDER]);
      await s.session.intents.end(opened[1]!.witness, { state: 'failed', cause: 'x' });
      expect(await told()).toEqual([PROVIDER]);
      await s.h.pass(DAY + 1_000);
      expect(await told()).toEqual([]);
    });

    it('is ended by unretire only, which also forgets the recoveries', async () => {
      const id = await addLost();
      const work = await s.session.claim('ShepherdRecovery', id);
      await work.note(ASKED);
      await work.fail(STEADY, 'no boot');
      expect((await read(id)).slot.episodes).toHaveLength(1);
      const target = await slotOf(id);
      await applyRequest({ verb: 'retire', target }, why);
      const named = await s.target(id);
      const release = { verb: 'release', target: named, forgetHostKey: false } as const;
      expect(await applyRequest(release)).toMatchObject({
        state: 'refused',
        outcome: 'it is retired: unretire it',
      });
      expect(await applyRequest({ verb: 'unretire', target })).toMatchObject({
        outcome: 'no longer retired; ann had retired it (third disk)',
      });
      expect(await read(id)).toMatchObject({
        ...{ quarantine: null, recovery: null, backoffs: [] },
        slot: { episodes: [] },
      });
      expect(await s.holds()).toEqual([]);
      expect(await applyRequest({ verb: 'unretire', target })).toMatchObject({
        outcome: 'it was not retired',
      });
    });

    it('does not end a quarantine of another kind', async () => {
      const quarantine = { kind: 'conflict', reason: 'x', untilMs: null, cause: null } as const;
      const id = await add({ quarantine });
      const target = await slotOf(id);
      await applyRequest({ verb: 'retire', target, giveBack: true }, why);
      expect(await read(id)).toMatchObject({ quarantine, deprovision: null });
      await applyRequest({ verb: 'unretire', target });
      expect(await read(id)).toMatchObject({ quarantine });
    });

    it('gives the machine back where asked, unless a hold preserves it', async () => {
      const [given, kept] = [await add(), await add()];
      for (const id of [given, kept]) {
        const target = await slotOf(id);
        if (id === kept) await s.h.hold(holdOn(await read(id), 'preserve'));
        await applyRequest({ verb: 'retire', target, giveBack: true }, why);
      }
      expect(await read(given)).toMatchObject({
        quarantine: null,
        deprovision: { requestedBy: 'ann', reason: 'retired: third disk', returnToPool: true },
      });
      expect(await read(kept)).toMatchObject({
        ...{ quarantine: { cause: 'retired' }, deprovision: null },
      });
      const work = await s.session.claim('ShepherdDeprovision', given);
      await work.finish({ kind: 'deprovisioned' });
      expect((await s.holds()).map(({ kind }) => kind).toSorted()).toEqual([
        ...['preserve', 'retired', 'retired'],
      ]);
    });

    describe('by the ladder', () => {
      const end = async (retires: Quarantine['retires'], preserved = false) => {
        const id = await addLost();
        if (preserved) await s.h.hold(holdOn(await read(id), 'preserve'));
        const work = await s.session.claim('ShepherdRecovery', id);
        const cause = retires === undefined ? {} : ({ cause: 'retired', retires } as const);
        const quarantine = { kind: 'needsHuman', reason: 'all was tried', ...cause } as const;
        await work.fail(STEADY, 'all was tried', { quarantine });
        const holds = (await s.holds()).filter(({ kind }) => kind === 'retired');
        return { id, row: await read(id), holds };
      };

      it('retires the slot with the quarantine', async () => {
        const { id, row, holds } = await end('keep');
        expect(row.quarantine).toMatchObject({ kind: 'needsHuman', cause: 'retired' });
        expect(holds).toMatchObject([{ setBy: 'shepherd', reason: 'all was tried' }]);
        expect(await kinds(id)).toEqual(['quarantined', 'retired']);
        const plain = await end(undefined);
        expect(plain.holds).toHaveLength(1);
        expect(plain.row.quarantine).toMatchObject({ kind: 'needsHuman', cause: null });
      });

      it('gives the machine back where configured, unless a hold preserves it', async () => {
        const { row } = await end('giveBack');
        expect(row).toMatchObject({
          quarantine: null,
          deprovision: { requestedBy: 'shepherd', reason: 'retired: all was tried' },
        });
        const kept = await end('giveBack', true);
        expect(kept.row).toMatchObject({ quarantine: { cause: 'retired' }, deprovision: null });
        expect(kept.holds).toHaveLength(2);
      });
    });
  });
}
