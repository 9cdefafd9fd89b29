import { describe, expect, it } from 'vitest';
import type { EventQuery, HistoryCut, SlotHistory } from '../../src/adapters/bmdb/port.ts';
import type { SlotLine } from '../../src/domain/history/fold.ts';
import { providerName } from '../../src/domain/ids.ts';
import type { MachineId } from '../../src/domain/ids.ts';
import type { MachineRow } from '../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { ASKED, MINUTE, PROVIDER, requestedAt, startedAt } from './bmdb-rows.ts';
import { SIGNAL, STEADY, UNKNOWN } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';

export function eventsContract(s: BmdbStage): void {
  const { add } = s;
  const events = (query: EventQuery) => s.h.other.inspection.events(query, SIGNAL);

  describe('the log of a slot', () => {
    it('contains what happened there, oldest first, by slot and by machine', async () => {
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

    it('is read together with the work on its machines, newest first, without gaps or repeats between pages', async () => {
      const [id, other] = [await add(), await add()];
      const slotId = (await s.read(id)).provided!.reservationId!;
      for (const cause of ['first', 'second']) {
        const work = await s.session.claim('UnitTest1', id);
        await work.fail({ ...STEADY, initialMs: 0 }, cause);
        await s.h.pass(1_000);
      }
      await s.session.claim('UnitTest2', id);
      await (await s.session.claim('UnitTest1', other)).fail(STEADY, 'elsewhere');
      const read = (before: HistoryCut | null, limit: number, present = [id]) =>
        s.h.other.inspection.slotHistory(
          { provider: PROVIDER, slotId, present, before, limit },
          SIGNAL,
        );
      const whole = await read(null, 100);
      expect(whole.next).toBeNull();
      expect(whole.lines.map(({ of, kind, process }) => `${of} ${process} ${kind}`)).toEqual([
        'work UnitTest2 Started',
        ...Array.from({ length: 2 }, () => [
          ...['slot null workFailed', 'work UnitTest1 Failed', 'work UnitTest1 Started'],
        ]).flat(),
      ]);
      expect(whole.lines[2]).toMatchObject({
        ...{ machineId: id, reason: 'second', actor: 'shepherd', from: null, to: null },
        sessionId: s.session.sessionId,
      });
      expect(whole.tenants).toEqual([
        { machineId: id, firstAtMs: whole.lines.at(-3)!.atMs, lastAtMs: whole.lines[1]!.atMs },
      ]);
      const paged: SlotLine[] = [];
      let before: HistoryCut | null = null;
      do {
        const page: SlotHistory = await read(before, 2, []);
        paged.push(...page.lines);
        before = page.next;
      } while (before !== null);
      expect(paged).toEqual(whole.lines);
      expect((await read(null, 7)).next).toBeNull();
      expect((await read(null, 6)).next).not.toBeNull();
    });

    it('is empty for an unknown slot', async () => {
      expect(await events({ machineId: UNKNOWN, limit: 10 })).toEqual([]);
      const slotId = (await s.read(await add())).provided!.reservationId!;
      const query = { provider: providerName('other'), slotId, limit: 10 };
      expect(await events(query)).toEqual([]);
    });
  });

  describe('A10: silence in the log of a slot', () => {
    const { heartbeatMs } = DEFAULT_LOSS;
    const running = async (change: Partial<MachineRow> = {}) => {
      const at = await s.now();
      return add({
        ...startedAt(at - 40 * MINUTE),
        heartbeat: { atMs: at, bootId: null },
        ...change,
      });
    };
    const silences = async (id: MachineId) =>
      (await events({ machineId: id, limit: 100 })).map(
        ({ kind, from, to }) => `${kind}: ${from} → ${to}`,
      );
    const sweep = async () => {
      await s.h.bmdb.sweep();
      await s.h.other.sweep();
    };
    const beat = async (id: MachineId, times: number) => {
      for (let beats = 0; beats < times; beats++) await s.beat(id);
      await sweep();
    };
    const FELL = 'fellSilent: Running · healthy → Running · silent';
    const BACK = 'heardAgain: Running · silent → Running · healthy';

    it('is recorded once at its begin and once at its end, whichever daemon sweeps', async () => {
      const [id, fine] = [await running(), await running()];
      await sweep();
      await s.h.pass(heartbeatMs - MINUTE);
      await beat(fine, 1);
      expect(await silences(id)).toEqual([]);
      await s.h.pass(2 * MINUTE);
      await Promise.all([s.h.bmdb.sweep(), s.h.other.sweep()]);
      await sweep();
      expect(await silences(id)).toEqual([FELL]);
      await beat(id, 2);
      expect(await silences(id)).toEqual([FELL]);
      await beat(id, 1);
      await Promise.all([s.h.bmdb.sweep(), s.h.other.sweep()]);
      expect(await silences(id)).toEqual([FELL, BACK]);
      expect(await silences(fine)).toEqual([]);
      const [fell, back] = await events({ machineId: id, limit: 2 });
      expect(fell).toMatchObject({
        provider: PROVIDER,
        actor: 'shepherd',
        reason: 'no heartbeat within the deadline',
        slotId: (await s.read(id)).provided!.reservationId,
      });
      expect(back).toMatchObject({ actor: 'shepherd', reason: '3 heartbeats without a break' });
      await s.h.pass(heartbeatMs + MINUTE);
      await sweep();
      expect(await silences(id)).toEqual([FELL, BACK, FELL]);
    });

    it('is recorded with the machine’s state, if heartbeats ever came', async () => {
      const at = await s.now();
      const installing = (handedOutAtMs: number) => ({
        requestGeneration: 1n,
        reportGeneration: null,
        reportResult: null,
        handedOutAtMs,
      });
      const never = await s.addLost();
      const during = await running({ installation: installing(at) });
      await s.h.pass(heartbeatMs + MINUTE);
      await sweep();
      expect(await silences(during)).toEqual([]);
      expect(await silences(never)).toEqual([
        'fellSilent: Running · awaitingHeartbeat → Running · silent',
      ]);
      await s.h.pass(DEFAULT_LOSS.handOutMs);
      await sweep();
      expect(await silences(during)).toEqual([
        'fellSilent: Running · installingOs → Running · silent',
      ]);
    });

    it('is not recorded when no heartbeat is expected or no daemon could hear one', async () => {
      const at = await s.now();
      const quarantine = { kind: 'byOperator', reason: 'x', untilMs: null, cause: null } as const;
      const done = { requestGeneration: 1n, reportGeneration: 1n, handedOutAtMs: null };
      const quiet = [
        await running({ quarantine }),
        await running({ deprovision: requestedAt(at) }),
        await running({ installation: { ...done, reportResult: 'Success' } }),
        await add(),
      ];
      const id = await running();
      await s.h.pass(heartbeatMs + MINUTE);
      await s.h.takeIn(false);
      await sweep();
      expect(await silences(id)).toEqual([]);
      await s.h.takeIn(true);
      await sweep();
      expect(await silences(id)).toEqual([FELL]);
      for (const each of quiet) expect(await silences(each)).toEqual([]);
    });

    it('ends with the state that the machine came back to', async () => {
      const [permitted, gone] = [await s.addLost(), await s.addLost()];
      await sweep();
      const work = await s.session.claim('ShepherdRecovery', permitted);
      await work.note(ASKED);
      const slotId = (await s.read(gone)).provided!.reservationId!;
      await s.h.remove(gone);
      await beat(permitted, 3);
      expect((await silences(permitted)).slice(1)).toEqual([
        'recoveryAsked: null → null',
        'heardAgain: Running · silent → Recovering',
      ]);
      await work.cancel();
      expect(await events({ provider: PROVIDER, slotId, limit: 9 })).toHaveLength(1);
    });
  });
}
