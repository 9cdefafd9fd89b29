import { describe, expect, it } from 'vitest';
import type { EventQuery } from '../../src/adapters/bmdb/port.ts';
import { providerName } from '../../src/domain/ids.ts';
import { PROVIDER } from './bmdb-rows.ts';
import { refusedWith, SIGNAL, STEADY, UNKNOWN } from './bmdb-stage.ts';
import type { Stage } from './bmdb-stage.ts';

export function eventsContract(s: Stage): void {
  const { add } = s;
  const events = (query: EventQuery) => s.h.other.inspection.events(query, SIGNAL);

  describe('the log of a slot', () => {
    it('has what happened there, oldest first, by slot and by machine', async () => {
      const [id, other] = [await add(), await add()];
      const slotId = (await s.read(id)).provided!.reservationId!;
      for (const cause of ['first', 'second']) {
        const work = await s.session.claim('UnitTest1', id);
        await work.fail({ ...STEADY, initialMs: 0 }, cause);
        await s.h.pass(1_000);
      }
      await (await s.session.claim('UnitTest1', other)).fail(STEADY, 'elsewhere');
      const found = await events({ provider: PROVIDER, slotId, limit: 10 });
      expect(found.map(({ kind, actor }) => [kind, actor])).toEqual([
        ['workFailed', 'shepherd'],
        ['workFailed', 'shepherd'],
      ]);
      const [first, second] = found;
      expect(first).toMatchObject({ provider: PROVIDER, slotId, machineId: id });
      expect(first!.reason).toContain('first');
      expect(second!.reason).toContain('second');
      expect(second!.atMs).toBeGreaterThan(first!.atMs);
      expect(BigInt(second!.seq)).toBeGreaterThan(BigInt(first!.seq));
      expect(await events({ machineId: id, limit: 10 })).toEqual(found);
      expect(await events({ provider: PROVIDER, slotId, limit: 1 })).toEqual([second]);
    });

    it('is not read when nobody wants it any more', async () => {
      const stopped = AbortSignal.abort(new Error('enough'));
      const query = { machineId: UNKNOWN, limit: 1 };
      expect(await refusedWith(s.h.bmdb.inspection.events(query, stopped))).toBe('cancelled');
    });

    it('is empty where nothing is known', async () => {
      expect(await events({ machineId: UNKNOWN, limit: 10 })).toEqual([]);
      const slotId = (await s.read(await add())).provided!.reservationId!;
      const query = { provider: providerName('other'), slotId, limit: 10 };
      expect(await events(query)).toEqual([]);
    });
  });
}
