import { describe, expect, it } from 'vitest';
import type { NewRoll, RollChange } from '../../src/adapters/bmdb/port.ts';
import { machineId, providerName } from '../../src/domain/ids.ts';
import { SIGNAL, type BmdbStage } from './bmdb-stage.ts';

const idOf = (at: number) => `00000000-0000-4000-8000-00000000000${at}`;
const rollOf = (at: number): NewRoll => ({
  ...{ id: idOf(at), action: 'reboot', drain: at === 1 ? null : 'skip', filter: 'provider:metal' },
  slots: [{ provider: providerName('metal'), slotId: 'a', machineId: machineId(idOf(9)) }],
  ...{ canary: 1, batch: 2, pauseMs: 1_500, stopOnFailure: true },
  ...{ by: 'ann', role: 'operator', proven: true, reason: 'new kernel' },
});
const DAY = 86_400_000;
const AT_FIRST = { state: 'running', note: null, position: 0, nextAtMs: null, failures: [] };

export function rollsContract(s: BmdbStage): void {
  const list = async (running: boolean) =>
    (await s.h.bmdb.rolls.list({ running, limit: 10 }, SIGNAL)).map(({ id }) => id);
  /** Complete when transactions of other tests on the server have ended. */
  const told = async () => {
    const { events } = await s.h.bmdb.events.latest({ limit: 20 }, SIGNAL);
    return events
      .filter(({ type }) => type.startsWith('roll.'))
      .map(({ type, actor, reason }) => `${type} by ${actor}: ${reason}`);
  };

  describe('a rolling action', () => {
    it('is stored once, and read by every daemon', async () => {
      const { rolls } = s.h.bmdb;
      const made = await rolls.create(rollOf(1));
      expect(made).toEqual({ ...rollOf(1), ...AT_FIRST, createdAtMs: expect.any(Number) });
      expect(await rolls.create({ ...rollOf(1), reason: 'another' })).toEqual(made);
      expect(await s.h.other.rolls.read(idOf(1))).toEqual(made);
      expect(await rolls.read(idOf(2))).toBeNull();
      await s.h.pass(1_000);
      await rolls.create(rollOf(2));
      expect(await list(true)).toEqual([idOf(2), idOf(1)]);
      await expect
        .poll(told)
        .toEqual(['roll.started by ann: new kernel', 'roll.started by ann: new kernel']);
    });

    it('is carried on from its place only, and only while it runs', async () => {
      const { rolls } = s.h.bmdb;
      await rolls.create(rollOf(1));
      const roll = { id: idOf(1), position: 0 };
      const nextAtMs = Math.round(await s.now()) + 5_000;
      const failures = [{ slot: 'metal/a', why: 'silent' }];
      const next: RollChange = { state: 'running', note: 'x', position: 1, nextAtMs, failures };
      expect(await rolls.step(roll, next)).toBe(true);
      expect(await s.h.other.rolls.step(roll, { ...next, position: 2 })).toBe(false);
      const { nextAtMs: readMs, ...rest } = (await rolls.read(idOf(1)))!;
      expect(rest).toMatchObject({ state: 'running', note: 'x', position: 1, failures });
      expect(Math.abs(readMs! - nextAtMs)).toBeLessThan(2);
      const stopped = { ...next, state: 'stopped', note: 'metal/a: silent' } as const;
      expect(await rolls.step({ ...roll, position: 1 }, stopped)).toBe(true);
      expect(await rolls.step({ ...roll, position: 1 }, next)).toBe(false);
      expect([await list(true), await list(false)]).toEqual([[], [idOf(1)]]);
      await expect
        .poll(async () => (await told()).slice(1))
        .toEqual(['roll.stopped by ann: metal/a: silent']);
    });

    it('pauses, goes on and is aborted for people', async () => {
      const { rolls } = s.h.bmdb;
      await rolls.create(rollOf(1));
      const asked = async (verb: 'pause' | 'resume' | 'abort') =>
        (await rolls.control(idOf(1), verb, 'bob'))?.state;
      expect(await asked('resume')).toBe('running');
      expect(await asked('pause')).toBe('paused');
      expect(await list(true)).toEqual([]);
      expect(await asked('resume')).toBe('running');
      expect(await asked('abort')).toBe('aborted');
      expect(await asked('resume')).toBe('aborted');
      expect(await rolls.control(idOf(2), 'abort', 'bob')).toBeNull();
      await expect
        .poll(async () => (await told()).slice(1))
        .toEqual(['roll.aborted by bob: bob asked to abort it']);
    });

    it('is deleted 400 days after its begin, once it ended', async () => {
      const { bmdb } = s.h;
      await bmdb.rolls.create(rollOf(1));
      await bmdb.rolls.create(rollOf(2));
      await bmdb.rolls.control(idOf(1), 'abort', 'bob');
      await bmdb.rolls.control(idOf(2), 'pause', 'bob');
      await s.h.pass(399 * DAY);
      await bmdb.sweep();
      expect(await list(false)).toHaveLength(2);
      await s.h.pass(DAY + 1_000);
      await bmdb.sweep();
      expect(await list(false)).toEqual([idOf(2)]);
    });
  });
}
