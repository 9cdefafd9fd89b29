import { describe, expect, it } from 'vitest';
import type { MachineId } from '../../src/domain/ids.ts';
import { DAY, refusedWith, SIGNAL, STEADY, UNKNOWN } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';

export function historyContract(s: BmdbStage): void {
  const { add, now, openOn } = s;
  const historyOf = (id: MachineId) => s.h.other.inspection.history(id, SIGNAL);

  describe('history', () => {
    it('contains who did what and when, oldest first', async () => {
      const id = await add();
      const at = await now();
      const short = await openOn(s.h.bmdb, 60_000);
      await (await s.session.claim('UnitTest1', id)).finish({ kind: 'nothing' });
      await (await s.rival.claim('UnitTest1', id)).fail(STEADY, 'no luck');
      await (await s.rival.claim('UnitTest2', id)).cancel();
      await short.claim('ShepherdAgentStart', id);
      await s.h.expireSession(short.sessionId);
      await (await s.rival.claim('ShepherdAgentStart', id)).cancel('stopped');
      const lines = await historyOf(id);
      const by = (sessionId: string, process: string, event: string, cause: string | null) => ({
        sessionId,
        process,
        event,
        cause,
        component: 'shepherd',
        atMs: expect.any(Number) as number,
        seq: expect.any(String) as string,
      });
      const { sessionId: first } = s.session;
      const { sessionId: second } = s.rival;
      expect(lines).toEqual([
        by(first, 'UnitTest1', 'Started', null),
        by(first, 'UnitTest1', 'Finished', null),
        by(second, 'UnitTest1', 'Started', null),
        by(second, 'UnitTest1', 'Failed', 'no luck'),
        by(second, 'UnitTest2', 'Started', null),
        by(second, 'UnitTest2', 'Canceled', 'canceled'),
        by(short.sessionId, 'ShepherdAgentStart', 'Started', null),
        by(short.sessionId, 'ShepherdAgentStart', 'Canceled', 'session expired'),
        by(second, 'ShepherdAgentStart', 'Started', null),
        by(second, 'ShepherdAgentStart', 'Canceled', 'stopped'),
      ]);
      const seqs = lines.map((line) => BigInt(line.seq));
      expect(seqs).toEqual([...new Set(seqs)].toSorted((a, b) => (a < b ? -1 : 1)));
      for (const { atMs } of lines) expect(atMs).toBeGreaterThanOrEqual(at);
      expect(await refusedWith(s.session.claim('UnitTest1', id))).toBe('nothing-to-do');
      await short.close();
    });

    it('outlives the machine and is empty for an unknown one', async () => {
      const id = await add();
      await (await s.session.claim('UnitTest1', id)).cancel();
      await s.h.remove(id);
      expect(await historyOf(id)).toHaveLength(2);
      expect(await historyOf(UNKNOWN)).toEqual([]);
    });

    it('is kept for 90 days or 1000 lines, whichever is more', async () => {
      const [busy, idle, fresh] = [await add(), await add(), await add()];
      await s.h.addHistory(busy, 1_020);
      await s.h.addHistory(idle, 5);
      expect((await s.h.bmdb.sweep()).history).toBe(0);
      await s.h.pass(91 * DAY);
      await s.h.addHistory(busy, 10);
      await s.h.addHistory(fresh, 1_010);
      let removed = 0;
      // A sweep may remove only a part.
      for (let sweeps = 0; sweeps < 100; sweeps++) {
        const { history } = await s.h.bmdb.sweep();
        if (history === 0) break;
        removed += history;
      }
      expect(removed).toBe(30);
      expect(await historyOf(idle)).toHaveLength(5);
      expect(await historyOf(fresh)).toHaveLength(1_010);
      const left = await historyOf(busy);
      expect(left).toHaveLength(1_000);
      expect([left[0]!.cause, left.at(-1)!.cause]).toEqual(['line 31', 'line 10']);
    });
  });
}
