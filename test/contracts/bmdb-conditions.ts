import { describe, expect, it } from 'vitest';
import type { ConditionReport } from '../../src/adapters/bmdb/port.ts';
import { statusOf } from '../../src/domain/conditions.ts';
import type { MachineId } from '../../src/domain/ids.ts';
import { MINUTE, PROVIDER } from './bmdb-rows.ts';
import { SIGNAL, type BmdbStage } from './bmdb-stage.ts';

/** What is known to be wrong with machines. */
export function conditionsContract(s: BmdbStage): void {
  const placeOf = async (machineId: MachineId) => {
    const { provided } = await s.read(machineId);
    const slotId = provided!.reservationId ?? provided!.providerId;
    return { provider: provided!.provider, slotId, machineId };
  };
  const report = async (machineId: MachineId, change: Partial<ConditionReport> = {}) => {
    const told = { type: 'disk-failing', source: 'token:smart', status: 'True' } as const;
    const texts = { reason: 'sda', detail: '', validForMs: null };
    const place = await placeOf(machineId);
    await s.h.bmdb.conditions.report([{ ...place, ...told, ...texts, ...change }]);
  };
  const rowsOf = async (machineId: MachineId) =>
    s.h.bmdb.conditions.ofSlot(await placeOf(machineId), SIGNAL);
  const linesOf = async (id: MachineId) =>
    (await s.h.events(id)).filter((line) => line.startsWith('condition'));

  describe('conditions', () => {
    it('are kept by type and source, and read with all rows while they are open', async () => {
      const id = await s.addWell();
      await report(id);
      await report(id, { source: 'agent', status: 'Unknown', reason: 'no smartctl' });
      await report(id, { type: 'fan-broken', status: 'False', reason: 'checked' });
      const rows = await rowsOf(id);
      expect(rows.map(({ type, source, status }) => `${type} ${source} ${status}`)).toEqual([
        ...['disk-failing agent Unknown', 'disk-failing token:smart True'],
        'fan-broken token:smart False',
      ]);
      expect(rows[1]).toMatchObject({ reason: 'sda', detail: '', expiresAtMs: null });
      const { conditions } = await s.scan();
      expect(conditions).toEqual(rows.slice(0, 2));
    });

    it('keep their start while the status is the same, and log only changes of it', async () => {
      const id = await s.addWell();
      await report(id);
      const [first] = await rowsOf(id);
      await s.h.pass(MINUTE);
      await report(id, { reason: 'sda and sdb', detail: 'all' });
      const [again] = await rowsOf(id);
      expect(again).toEqual({ ...first, reason: 'sda and sdb', detail: 'all' });
      await report(id, { status: 'Unknown', reason: 'gone' });
      await report(id, { status: 'False', reason: 'new disk' });
      const [last] = await rowsOf(id);
      expect(last!.sinceMs).toBeGreaterThan(first!.sinceMs);
      expect(await linesOf(id)).toEqual([
        'conditionSet disk-failing: sda',
        'conditionUnknown disk-failing: gone',
        'conditionCleared disk-failing: new disk',
      ]);
      expect(new Set(await s.h.actors(id))).toContain('token:smart');
    });

    it('of one source leave those of another unchanged', async () => {
      const id = await s.addWell();
      await report(id);
      await report(id, { source: 'token:other', status: 'False' });
      const rows = await rowsOf(id);
      expect(rows.map(({ source, status }) => `${source} ${status}`)).toEqual([
        ...['token:other False', 'token:smart True'],
      ]);
      expect(await linesOf(id)).toEqual(['conditionSet disk-failing: sda']);
    });

    it('that were never wrong are stored for people only', async () => {
      const id = await s.addWell();
      for (const source of ['agent', 'provider']) await report(id, { source, status: 'False' });
      expect(await rowsOf(id)).toEqual([]);
      await report(id, { status: 'False' });
      expect(await rowsOf(id)).toHaveLength(1);
      expect(await linesOf(id)).toEqual([]);
    });

    it('that were OK are unknown after their end, and a new report extends it', async () => {
      const id = await s.addWell();
      const ok = { status: 'False', validForMs: 2 * MINUTE } as const;
      await report(id, ok);
      const now = async () => statusOf((await rowsOf(id))[0]!, await s.now());
      expect(await now()).toBe('False');
      expect((await s.scan()).conditions).toHaveLength(1);
      await s.h.pass(3 * MINUTE);
      expect(await now()).toBe('Unknown');
      await report(id, ok);
      expect(await now()).toBe('False');
      await report(id, { validForMs: MINUTE });
      await s.h.pass(2 * MINUTE);
      expect(await now()).toBe('True');
    });

    it('keep a beginning until a report without one, and a new beginning wakes readers', async () => {
      const id = await s.addWell();
      const fromMs = Math.round(await s.now()) + MINUTE;
      const announced = { type: 'maintenance-announced', source: 'provider' } as const;
      await report(id, { ...announced, fromMs });
      expect(await rowsOf(id)).toMatchObject([{ fromMs }]);
      const { cursor } = await s.scan();
      await report(id, { ...announced, fromMs: fromMs + 1 });
      const changes = await s.h.other.changesSince(cursor!, SIGNAL);
      expect(changes?.conditions).toMatchObject([{ status: 'True', fromMs: fromMs + 1 }]);
      await report(id, announced);
      expect(await rowsOf(id)).toMatchObject([{ fromMs: null }]);
      expect(await linesOf(id)).toEqual(['conditionSet maintenance-announced: sda']);
    });

    it('become events with their type, source and status', async () => {
      const id = await s.addWell();
      const before = await s.h.bmdb.events.newest(SIGNAL);
      await report(id);
      await report(id, { status: 'False', reason: 'new disk' });
      const { provider, slotId } = await placeOf(id);
      const query = { after: before, limit: 10, provider: PROVIDER, slotId };
      // Events are complete when transactions of other tests on the server have ended.
      const events = async () => (await s.h.bmdb.events.read(query, SIGNAL)).events;
      const details = { condition: 'disk-failing', source: 'token:smart' };
      await expect.poll(events).toMatchObject([
        { type: 'condition.set', provider, reason: 'sda', details: { ...details, status: 'True' } },
        {
          ...{ type: 'condition.cleared', machineId: id, reason: 'new disk', from: 'True' },
          details: { ...details, status: 'False' },
        },
      ]);
    });

    it('wake readers, who see them in the next changes', async () => {
      const id = await s.addWell();
      const { cursor } = await s.scan();
      await report(id);
      const changes = await s.h.other.changesSince(cursor!, SIGNAL);
      expect(changes?.conditions).toMatchObject([{ slotId: (await placeOf(id)).slotId }]);
    });
  });
}
