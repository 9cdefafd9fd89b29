import { describe, expect, it } from 'vitest';
import type { MachineId } from '../../src/domain/ids.ts';
import { MINUTE } from './bmdb-rows.ts';
import { DOUBLING, refusedWith, SIGNAL } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';
import { BACKOFF_TABLE } from './bmdb-vectors.ts';

export function backoffContract(s: BmdbStage): void {
  const { add, now, read } = s;

  describe('backoff', () => {
    // Each row of the table has its own machine, so time passes once per step.
    it('grows by the published table', async () => {
      const at = await now();
      const machines: { id: MachineId; waits: string[] }[] = [];
      for (const [, , previous] of BACKOFF_TABLE) {
        const ended = { untilMs: at - MINUTE, cause: 'before', lastIntervalSeconds: previous };
        const backoffs = previous === null ? [] : [{ process: 'UnitTest1' as const, ...ended }];
        machines.push({ id: await add({ backoffs }), waits: [] });
      }
      for (let step = 0; step < 25; step++) {
        const open = BACKOFF_TABLE.flatMap(([, descriptor, , expected], row) =>
          step < expected.split(' ').length ? [{ descriptor, ...machines[row]! }] : [],
        );
        const begunMs = (await s.h.bmdb.scan(SIGNAL)).nowMs;
        await Promise.all(
          open.map(async ({ id, descriptor }) =>
            (await s.session.claim('UnitTest1', id)).fail(descriptor, `failure ${step}`),
          ),
        );
        const { nowMs, machines: rows } = await s.h.bmdb.scan(SIGNAL);
        const waits = open.map(({ id, waits: past }) => {
          const backoff = rows.find((row) => row.machineId === id)!.backoffs[0]!;
          const { lastIntervalSeconds: seconds, untilMs, cause } = backoff;
          past.push(String(seconds));
          expect(cause).toBe(`failure ${step}`);
          // The failure happened between two reads of the clock, which have fractions.
          const failedMs = untilMs - seconds! * 1000;
          expect(failedMs).toBeGreaterThanOrEqual(begunMs - 1);
          expect(failedMs).toBeLessThanOrEqual(nowMs + 1);
          return seconds!;
        });
        await s.h.pass(Math.max(...waits) * 1000 + 1);
        await s.session.poke();
      }
      expect(machines.map(({ waits }) => waits.join(' '))).toEqual(
        BACKOFF_TABLE.map(([, , , expected]) => expected),
      );
    });

    it('starts anew after a success', async () => {
      const id = await add();
      const failures = async (expected: readonly number[]) => {
        for (const seconds of expected) {
          await (await s.session.claim('UnitTest1', id)).fail(DOUBLING, `after ${seconds}`);
          expect((await read(id)).backoffs).toMatchObject([
            { process: 'UnitTest1', lastIntervalSeconds: seconds, cause: `after ${seconds}` },
          ]);
          expect(await refusedWith(s.rival.claim('UnitTest1', id))).toBe('nothing-to-do');
          await s.h.pass(seconds * 1000 + 1);
        }
      };
      await failures([1, 2, 4, 5, 5]);
      await (await s.session.claim('UnitTest1', id)).finish({ kind: 'nothing' });
      expect((await read(id)).backoffs).toEqual([]);
      await failures([1, 2]);
      expect((await s.h.history(id)).at(-1)).toBe('UnitTest1 Failed after 2');
    });

    it('stays as it is when work is cancelled', async () => {
      const id = await add();
      await (await s.session.claim('UnitTest1', id)).fail(DOUBLING, 'x');
      await s.h.pass(1_001);
      const before = (await read(id)).backoffs;
      await (await s.session.claim('UnitTest1', id)).cancel();
      expect((await read(id)).backoffs).toEqual(before);
      await (await s.session.claim('UnitTest1', id)).fail(DOUBLING, 'y');
      expect((await read(id)).backoffs[0]?.lastIntervalSeconds).toBe(2);
    });

    it('B2: applies also to a machine that the process never worked on', async () => {
      const untilMs = (await s.now()) + MINUTE;
      const wait = { cause: 'x', lastIntervalSeconds: 60, untilMs };
      const id = await add({ backoffs: [{ process: 'UnitTest1', ...wait }] });
      expect(await refusedWith(s.session.claim('UnitTest1', id))).toBe('nothing-to-do');
      expect(await s.h.history(id)).toEqual([]);
    });

    it('applies to one process only', async () => {
      const id = await add();
      await (await s.session.claim('UnitTest1', id)).fail(DOUBLING, 'x');
      await (await s.session.claim('UnitTest2', id)).finish({ kind: 'nothing' });
      expect((await read(id)).backoffs).toMatchObject([{ process: 'UnitTest1' }]);
    });
  });
}
