import { describe, expect, it } from 'vitest';
import type { BmdbSession } from '../../src/adapters/bmdb/port.ts';
import { providerName, witness } from '../../src/domain/ids.ts';
import type { Witness } from '../../src/domain/ids.ts';
import type { HoldRow } from '../../src/domain/machine.ts';
import { MINUTE, PROVIDER, providedOf } from './bmdb-rows.ts';
import { SIGNAL, refusedWith } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';

const OTHER = providerName('other');

export function intentsContract(s: BmdbStage): void {
  const { read, openOn } = s;
  describe('intents', () => {
    const slot = { provider: PROVIDER, slotId: 'reservation-1', hostname: 'm-1' };
    const unsettled = async () => (await s.scan()).intents;

    it('exist once per slot', async () => {
      const intent = await s.session.intents.open(slot);
      expect(intent).toMatchObject({
        ...slot,
        state: 'open',
        ambiguous: false,
        attempts: 0,
        lastError: null,
        emptySinceMs: null,
        sessionId: s.session.sessionId,
        sessionAlive: true,
      });
      expect(await refusedWith(s.session.intents.open(slot))).toBe('work-conflict');
      expect(await refusedWith(s.rival.intents.open(slot))).toBe('work-conflict');
      expect(await unsettled()).toEqual([intent]);
      const races = await Promise.allSettled(
        [s.session, s.rival].map(({ intents }) => intents.open({ ...slot, slotId: 'raced' })),
      );
      expect(races.filter((each) => each.status === 'fulfilled')).toHaveLength(1);
    });

    it('show their progress', async () => {
      const { witness: tag } = await s.session.intents.open(slot);
      await s.session.intents.progress(tag, { attempts: 1 });
      const change = { attempts: 2, ambiguous: true, unresolved: true, lastError: 'timeout' };
      await s.session.intents.progress(tag, change);
      expect(await unsettled()).toMatchObject([
        { attempts: 2, ambiguous: true, state: 'unresolved', lastError: 'timeout' },
      ]);
      await s.session.intents.progress(tag, { unresolved: false });
      expect(await unsettled()).toMatchObject([{ attempts: 2, ambiguous: true, state: 'open' }]);
      expect(await refusedWith(s.rival.intents.progress(tag, { attempts: 3 }))).toBe(
        'work-conflict',
      );
    });

    it('keep the time since which no device was found, until one is found', async () => {
      const { witness: tag } = await s.session.intents.open(slot);
      const since = async () => (await unsettled())[0]!.emptySinceMs;
      await s.session.intents.progress(tag, { empty: true });
      const first = (await since())!;
      expect(Math.abs(first - (await s.now()))).toBeLessThan(MINUTE);
      await s.h.pass(10 * MINUTE);
      await s.session.intents.progress(tag, { empty: true });
      await s.session.intents.progress(tag, { attempts: 2 });
      const again = await since();
      expect((await s.now()) - again!).toBeGreaterThanOrEqual(10 * MINUTE);
      await s.session.intents.progress(tag, { empty: false });
      expect(await since()).toBeNull();
      await s.session.intents.progress(tag, { empty: true });
      expect(Math.abs((await since())! - (await s.now()))).toBeLessThan(MINUTE);
    });

    it('become a machine once', async () => {
      const intent = await s.session.intents.open(slot);
      const provided = providedOf('1');
      const id = await s.session.intents.adopt(intent.witness, provided);
      expect(id).toBe(intent.machineId);
      expect(await s.session.intents.adopt(intent.witness, provided)).toBe(id);
      expect(await s.rival.intents.adopt(intent.witness, provided)).toBe(id);
      expect(await read(id)).toMatchObject({ machineId: id, provided });
      expect(await s.h.events(id)).toEqual([`adopted device device-1, intent ${intent.witness}`]);
      expect(await unsettled()).toEqual([]);
      expect((await s.h.bmdb.scan(SIGNAL)).machines).toHaveLength(1);
      expect(await refusedWith(s.session.intents.open(slot))).toBe('work-conflict');
    });

    it('cannot adopt a device that another machine has', async () => {
      const first = await s.session.intents.open(slot);
      await s.session.intents.adopt(first.witness, providedOf('1'));
      const second = await s.session.intents.open({ ...slot, slotId: 'reservation-2' });
      const stolen = providedOf('1', { reservationId: 'reservation-2' });
      expect(await refusedWith(s.session.intents.adopt(second.witness, stolen))).toBe(
        'work-conflict',
      );
      expect(await unsettled()).toHaveLength(1);
    });

    it('of a dead session are resumed by another session', async () => {
      const short = await openOn(s.h.bmdb, 60_000);
      const opened = await short.intents.open(slot);
      await short.intents.progress(opened.witness, { empty: true });
      const [intent] = await unsettled();
      expect(intent?.emptySinceMs).toEqual(expect.any(Number));
      expect(await refusedWith(s.rival.intents.resume(opened.witness))).toBe('work-conflict');
      await s.h.expireSession(short.sessionId);
      expect(await unsettled()).toMatchObject([{ sessionAlive: false }]);
      const resumed = await s.rival.intents.resume(opened.witness);
      expect(resumed).toEqual({ ...intent!, sessionId: s.rival.sessionId, sessionAlive: true });
      expect(await s.rival.intents.resume(opened.witness)).toEqual(resumed);
      expect(await unsettled()).toEqual([resumed]);
      await s.rival.intents.adopt(opened.witness, providedOf('1'));
      expect(await refusedWith(s.rival.intents.resume(opened.witness))).toBe('work-conflict');
      await short.close();
    });

    it('are not worked on by a session that died in the database', async () => {
      const steps = [
        ({ intents }: BmdbSession) => intents.open({ ...slot, slotId: 'reservation-2' }),
        ({ intents }: BmdbSession, tag: Witness) => intents.progress(tag, { attempts: 1 }),
        ({ intents }: BmdbSession, tag: Witness) => intents.adopt(tag, providedOf('1')),
        ({ intents }: BmdbSession, tag: Witness) =>
          intents.end(tag, { state: 'failed', cause: 'no luck' }),
      ];
      for (const step of steps) {
        const short = await openOn(s.h.bmdb, 60_000);
        const { witness: tag } = await short.intents.open(slot);
        await s.h.expireSession(short.sessionId);
        expect(await refusedWith(step(short, tag))).toBe('session-expired');
        expect(await unsettled()).toMatchObject([{ attempts: 0, sessionAlive: false }]);
        await s.rival.intents.resume(tag);
        await s.rival.intents.end(tag, { state: 'abandoned', cause: 'never seen' });
        await short.close();
      }
    });

    it('that led to nothing put the slot on a cooldown that grows each time', async () => {
      for (const hours of [1, 2, 4]) {
        const { witness: tag } = await s.session.intents.open(slot);
        const end = { state: 'failed', cause: 'no luck', penaltyMs: 60 * MINUTE } as const;
        await s.session.intents.end(tag, end);
        await s.session.intents.end(tag, end);
        const snapshot = await s.h.bmdb.scan(SIGNAL);
        expect(snapshot.intents).toEqual([]);
        expect(snapshot.penalties).toEqual([
          {
            provider: PROVIDER,
            slotId: slot.slotId,
            cause: 'no luck',
            untilMs: expect.closeTo(snapshot.nowMs + hours * 60 * MINUTE, -4) as number,
          },
        ]);
        expect(await refusedWith(s.session.intents.open(slot))).toBe('nothing-to-do');
        expect(await refusedWith(s.session.intents.adopt(tag, providedOf('1')))).toBe(
          'work-conflict',
        );
        await s.h.pass(hours * 60 * MINUTE + 1);
        expect((await s.h.bmdb.scan(SIGNAL)).penalties).toEqual([]);
      }
      const { witness: tag } = await s.session.intents.open(slot);
      await s.session.intents.end(tag, { state: 'abandoned', cause: 'never seen' });
      expect((await s.h.bmdb.scan(SIGNAL)).penalties).toEqual([]);
    });

    it('are not attempted under a later hold, and can still be ended', async () => {
      const ours = await s.session.intents.open(slot);
      await s.session.intents.progress(ours.witness, { attempts: 1 });
      await s.h.hold({
        provider: PROVIDER,
        slotId: slot.slotId,
        kind: 'no-allocate',
        setBy: 'ann',
        reason: 'being moved',
        untilMs: null,
      });
      const again = s.session.intents.progress(ours.witness, { attempts: 2, empty: false });
      expect(await refusedWith(again)).toBe('nothing-to-do');
      expect(await unsettled()).toMatchObject([{ attempts: 1 }]);
      await s.session.intents.progress(ours.witness, { unresolved: true, empty: true });
      expect(await s.session.intents.resume(ours.witness)).toMatchObject({ attempts: 1 });
      await s.session.intents.end(ours.witness, { state: 'abandoned', cause: 'never seen' });
      expect(await unsettled()).toEqual([]);
    });

    it('are not attempted when their slot has a machine, by reservation or own id', async () => {
      const ours = await s.session.intents.open(slot);
      const attempt = () => s.session.intents.progress(ours.witness, { attempts: 1 });
      const own = { providerId: slot.slotId };
      for (const elsewhere of [
        { provider: OTHER },
        { reservationId: 'reservation-2' },
        { ...own, reservationId: 'reservation-2' },
      ]) {
        const id = await s.add({ provided: providedOf('1', elsewhere) });
        await attempt();
        await s.h.remove(id);
      }
      for (const there of [{}, { ...own, reservationId: null }]) {
        const id = await s.add({ provided: providedOf('1', there) });
        expect(await refusedWith(attempt())).toBe('nothing-to-do');
        await s.session.intents.progress(ours.witness, { unresolved: true });
        await s.h.remove(id);
      }
      await attempt();
    });

    it('B2: are barred by no-allocate on their own slot while it lasts', async () => {
      const hold: HoldRow = {
        provider: PROVIDER,
        slotId: slot.slotId,
        kind: 'no-allocate',
        setBy: 'ann',
        reason: 'being moved',
        untilMs: null,
      };
      await s.h.hold({ ...hold, provider: OTHER });
      await s.h.hold({ ...hold, slotId: 'reservation-2' });
      await s.h.hold({ ...hold, kind: 'preserve' });
      const ours = await s.session.intents.open(slot);
      const attempt = (attempts: number) => s.session.intents.progress(ours.witness, { attempts });
      await attempt(1);
      await s.h.hold({ ...hold, untilMs: (await s.now()) + 10 * MINUTE });
      expect(await refusedWith(attempt(2))).toBe('nothing-to-do');
      await s.session.intents.end(ours.witness, { state: 'abandoned', cause: 'never seen' });
      expect(await refusedWith(s.session.intents.open(slot))).toBe('nothing-to-do');
      await s.h.pass(11 * MINUTE);
      const again = await s.session.intents.open(slot);
      await s.session.intents.progress(again.witness, { attempts: 1 });
    });

    it('B2: ignore machines and cooldowns of an equally named slot of another provider', async () => {
      const elsewhere = { ...slot, provider: OTHER };
      const failed = { state: 'failed', cause: 'no luck', penaltyMs: MINUTE } as const;
      const abandoned = { state: 'abandoned', cause: 'never seen' } as const;
      const theirs = await s.session.intents.open(elsewhere);
      await s.session.intents.end(theirs.witness, failed);
      const ours = await s.session.intents.open(slot);
      await s.session.intents.end(ours.witness, abandoned);
      await s.h.pass(2 * MINUTE);
      const { witness: tag } = await s.session.intents.open(elsewhere);
      await s.session.intents.adopt(tag, providedOf('1', { provider: OTHER }));
      await s.session.intents.end((await s.session.intents.open(slot)).witness, abandoned);
    });

    it('B2: that lead to a machine end the cooldown of their slot only', async () => {
      const failed = { state: 'failed', cause: 'no luck', penaltyMs: 60 * MINUTE } as const;
      const fail = async (slotId: string) => {
        const { witness: tag } = await s.session.intents.open({ ...slot, slotId });
        await s.session.intents.end(tag, failed);
      };
      await fail(slot.slotId);
      await s.h.pass(61 * MINUTE);
      await fail('reservation-2');
      const { witness: tag } = await s.session.intents.open(slot);
      const id = await s.session.intents.adopt(tag, providedOf('1'));
      await s.h.remove(id);
      await fail(slot.slotId);
      const { penalties, nowMs } = await s.h.bmdb.scan(SIGNAL);
      expect(penalties.map(({ slotId }) => slotId).toSorted()).toEqual([
        ...['reservation-1', 'reservation-2'],
      ]);
      for (const { untilMs } of penalties) {
        expect(untilMs).toBeLessThan(nowMs + 61 * MINUTE);
      }
    });

    it('are not found under another name', async () => {
      const unknown = witness('00000000-0000-4000-8000-00000000beef');
      expect(await refusedWith(s.session.intents.adopt(unknown, providedOf('1')))).toBe(
        'not-found',
      );
      expect(await refusedWith(s.session.intents.resume(unknown))).toBe('work-conflict');
    });
  });
}
