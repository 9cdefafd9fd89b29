import { describe, expect, it, vi } from 'vitest';
import { PROVIDER } from './bmdb-rows.ts';
import { UNKNOWN, SIGNAL, refusedWith } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';
import { PATIENCE } from '../support/patience.ts';

export function readingContract(s: BmdbStage): void {
  const { add } = s;
  describe('reading', () => {
    it('returns nothing for an empty database', async () => {
      expect((await s.h.bmdb.readMachine(UNKNOWN, SIGNAL)).row).toBeNull();
      expect(await s.h.bmdb.scan(SIGNAL)).toMatchObject({
        machines: [],
        intents: [],
        holds: [],
        penalties: [],
      });
    });

    it('stops when it is aborted', async () => {
      const stopped = AbortSignal.abort(new Error('enough'));
      const { inspection, events, access, records, ...bmdb } = s.h.bmdb;
      for (const call of [
        () => bmdb.scan(stopped),
        () => bmdb.readMachine(UNKNOWN, stopped),
        () => inspection.statistics(stopped),
        () => inspection.history(UNKNOWN, stopped),
        () => inspection.events({ machineId: UNKNOWN, limit: 1 }, stopped),
        () => events.read({ after: '0', limit: 1 }, stopped),
        () => access.tokens.find('a', new Uint8Array(32), stopped),
        () => access.tokens.list(stopped),
        () => records.all(PROVIDER, stopped),
        () => records.counts(stopped),
      ]) {
        expect(await refusedWith(call())).toBe('cancelled');
      }
    });

    it('finds something new after a wake', async () => {
      let wakes = 0;
      const subscription = s.h.other.wakes$.subscribe(() => (wakes += 1));
      const work = await s.session.claim('UnitTest1', await add());
      await vi.waitUntil(() => wakes > 0, PATIENCE);
      const before = wakes;
      await work.finish({ kind: 'nothing' });
      await vi.waitUntil(() => wakes > before, PATIENCE);
      subscription.unsubscribe();
    });
  });
}
