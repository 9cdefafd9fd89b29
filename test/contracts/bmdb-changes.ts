import { describe, expect, it, vi } from 'vitest';
import type { BmdbChanges } from '../../src/adapters/bmdb/port.ts';
import type { Cursor, MachineId } from '../../src/domain/ids.ts';
import { ASKED, KEY, MINUTE, PROVIDER, providedOf } from './bmdb-rows.ts';
import { agentStarted, holdOn, refusedWith, SIGNAL, STEADY } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';
import { installing } from './bmdb-vectors.ts';
import { PATIENCE } from '../support/patience.ts';

export function changesContract(s: BmdbStage): void {
  const { add, addLost, beat, read, openOn } = s;

  const scanned = async (): Promise<Cursor> => {
    const { cursor } = await s.scan();
    return cursor ?? expect.fail('the database cannot tell what changes');
  };
  const since = async (cursor: Cursor): Promise<BmdbChanges> =>
    (await s.h.other.changesSince(cursor, SIGNAL)) ?? expect.fail('scan instead');
  /** What a reader learns about the machine from this act; null: nothing. */
  const toldOf = async (id: MachineId, act: () => Promise<unknown>) => {
    const cursor = await quiet(id);
    await act();
    const { machines, gone } = await since(cursor);
    if (gone.includes(id)) return 'gone';
    return machines.find((row) => row.machineId === id) ?? null;
  };
  /**
   * A cursor after which readers get no further change of the machine. Readers may get a change
   * twice.
   */
  const quiet = async (id: MachineId): Promise<Cursor> =>
    vi.waitUntil(async () => {
      const cursor = await scanned();
      const { machines } = await since(cursor);
      return machines.every((row) => row.machineId !== id) && cursor;
    }, PATIENCE);

  describe('changes', () => {
    it('are empty after a scan when nothing was done', async () => {
      const id = await add();
      const cursor = await quiet(id);
      expect(await since(cursor)).toMatchObject({ machines: [], gone: [] });
    });

    it('contain exactly the machines that were written to, in their present form', async () => {
      const [id, bystander] = [await add(), await add()];
      const work = await s.session.claim('ShepherdAgentStart', id);
      const cursor = await quiet(id);
      await work.note({ kind: 'agentStartAttempt' });
      const { machines, cursor: next } = await since(cursor);
      expect(machines).toEqual([await read(id)]);
      expect(machines.map((row) => row.machineId)).not.toContain(bystander);
      await work.finish(agentStarted());
      const row = (await since(next!)).machines.find((each) => each.machineId === id);
      expect(row).toEqual(await read(id));
    });

    it('include every kind of write to a machine', async () => {
      const id = await add();
      const told = (act: () => Promise<unknown>) => toldOf(id, act);
      const start = await s.session.claim('UnitTest1', id);
      expect(await told(() => start.fail(STEADY, 'x'))).toMatchObject({
        backoffs: [{ process: 'UnitTest1' }],
      });
      expect(await told(() => s.session.claim('UnitTest2', id))).toMatchObject({
        work: [{ process: 'UnitTest2' }],
      });
      expect(await told(() => s.session.releaseWork(id))).toMatchObject({ work: [] });
      const agent = await s.session.claim('ShepherdAgentStart', id);
      expect(await told(() => agent.note({ kind: 'agentStartAttempt' }))).toMatchObject({
        startAttempt: { count: 0 },
      });
      expect(await told(() => agent.finish(agentStarted()))).toMatchObject({ hostKey: 'host-key' });
      expect(await told(() => s.session.updateProvided(id, { location: 'la' }))).toMatchObject({
        provided: { location: 'la' },
      });
      expect(await told(() => s.h.request(id, 3n))).toMatchObject(installing([3, null]));
      const raw = new Uint8Array([9]);
      const installationReport = { generation: 3n, result: 'Success' as const, raw };
      const record = { machineId: id, publicKey: KEY, bootId: null, installationReport };
      const report = () => s.h.bmdb.heartbeats.recordHeartbeats([record]);
      expect(await told(report)).toMatchObject({ installation: { reportResult: 'Success' } });
      expect(await told(() => s.h.remove(id))).toBe('gone');
    });

    it('include every step of the ladder', async () => {
      const id = await addLost();
      const told = (act: () => Promise<unknown>) => toldOf(id, act);
      let work = await s.session.claim('ShepherdRecovery', id);
      expect(await told(() => work.cancel())).toMatchObject({ permit: false, work: [] });
      expect(
        await told(async () => {
          work = await s.session.claim('ShepherdRecovery', id);
        }),
      ).toMatchObject({ permit: false, work: [{ epoch: work.epoch }] });
      const asked = ASKED;
      expect(await told(() => work.note(asked))).toMatchObject({
        permit: true,
        recovery: { attempts: 1 },
      });
      const accepted = { kind: 'recoveryAccepted', operationRef: 'op' } as const;
      expect(await told(() => work.note(accepted))).toMatchObject({
        recovery: { operationRef: 'op' },
      });
      const quarantine = { kind: 'needsHuman', reason: 'dead' } as const;
      expect(await told(() => work.fail(STEADY, 'x', { quarantine }))).toMatchObject({
        quarantine,
        permit: false,
      });
    });

    it('include machines that appear and disappear', async () => {
      const before = await scanned();
      const intent = await s.session.intents.open({
        provider: PROVIDER,
        slotId: 'reservation-1',
        hostname: 'm-1',
      });
      await s.session.intents.adopt(intent.witness, providedOf('1'));
      const { machines } = await since(before);
      expect(machines.map((row) => row.machineId)).toEqual([intent.machineId]);
      expect(await toldOf(intent.machineId, () => s.h.remove(intent.machineId))).toBe('gone');
    });

    it('exclude heartbeats, renewals of sessions and refused writes', async () => {
      const id = await addLost();
      expect(await toldOf(id, () => beat(id))).toBeNull();
      expect((await read(id)).heartbeat).not.toBeNull();
      expect(await toldOf(id, () => s.session.poke())).toBeNull();
      const refused = () => refusedWith(s.session.claim('ShepherdAgentStart', id));
      expect(await toldOf(id, refused)).toBeNull();
      const same = () => s.session.updateProvided(id, { location: 'ny' });
      expect(await toldOf(id, same)).toBeNull();
    });

    it('carry sessions, holds and the other small tables', async () => {
      const id = await add();
      const row = await read(id);
      const cursor = await scanned();
      await s.h.hold(holdOn(row, 'preserve'));
      const short = await openOn(s.h.bmdb, 60_000);
      const slot = { provider: PROVIDER, slotId: 'reservation-1', hostname: 'm-1' };
      const intent = await short.intents.open(slot);
      const changes = await since(cursor);
      expect(changes).toMatchObject({ holds: [holdOn(row, 'preserve')], intents: [intent] });
      expect(changes.nowMs).toBeGreaterThanOrEqual(row.createdAtMs);
      const { intents, holds, penalties, sessions } = await s.h.bmdb.scan(SIGNAL);
      expect(changes).toMatchObject({ intents, holds, penalties, sessions });
      await short.intents.end(intent.witness, { state: 'failed', cause: 'x', penaltyMs: MINUTE });
      expect(await since(cursor)).toMatchObject({ intents: [], penalties: [{ cause: 'x' }] });
      await short.close();
    });

    it('B2: are kept for a while, whichever daemon sweeps', async () => {
      const id = await add();
      const cursor = await quiet(id);
      await s.session.updateProvided(id, { location: 'la' });
      await s.h.pass(4 * MINUTE);
      await s.h.bmdb.sweep();
      expect((await since(cursor)).machines).toMatchObject([{ provided: { location: 'la' } }]);
    });

    it('are reported as lost after they were trimmed', async () => {
      const id = await add();
      const old = await quiet(id);
      await s.session.updateProvided(id, { location: 'la' });
      await s.h.pass(6 * MINUTE);
      const young = await scanned();
      await s.h.bmdb.sweep();
      expect(await s.h.other.changesSince(old, SIGNAL)).toBeNull();
      await s.session.updateProvided(id, { location: 'sf' });
      const { machines } = await since(young);
      expect(machines).toMatchObject([{ provided: { location: 'sf' } }]);
    });

    it('wake their readers, unlike writes that change nothing', async () => {
      const id = await addLost();
      let wakes = 0;
      const subscription = s.h.other.wakes$.subscribe(() => (wakes += 1));
      const after = async (act: () => Promise<unknown>) => {
        const before = wakes;
        await act();
        return before;
      };
      // The reader may need a moment before it listens.
      await vi.waitUntil(async () => {
        const before = await after(async () => (await s.session.claim('UnitTest1', id)).cancel());
        return wakes > before;
      }, PATIENCE);
      const slot = { provider: PROVIDER, slotId: 'reservation-1', hostname: 'm-1' };
      for (const act of [
        () => s.session.updateProvided(id, { location: 'la' }),
        () => s.session.intents.open(slot),
        async () => (await openOn(s.h.bmdb)).close(),
        async () => s.h.hold(holdOn(await read(id), 'preserve')),
      ]) {
        const before = await after(act);
        await vi.waitUntil(() => wakes > before, PATIENCE);
      }
      subscription.unsubscribe();
    });
  });
}
