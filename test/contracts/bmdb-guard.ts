import { ASKED } from './bmdb-rows.ts';
import { describe, expect, it } from 'vitest';
import type { Work } from '../../src/adapters/bmdb/port.ts';
import { providerName } from '../../src/domain/ids.ts';
import type { MachineId } from '../../src/domain/ids.ts';
import type { MachineRow } from '../../src/domain/machine.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { DEFAULT_GUARD } from '../../src/domain/recovery/guard-judgement.ts';
import { MINUTE, PROVIDER, providedOf, startedAt } from './bmdb-rows.ts';
import { refusedWith, SIGNAL, STEADY } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';
import { requestFor, targetOf } from './requests-of.ts';

const STATIC = providerName('static');

export function guardContract(s: BmdbStage): void {
  const { add, beat, now } = s;
  const assess = (ingestUp = true, bmdb = s.h.bmdb) => bmdb.guard.assess({ ingestUp });
  const claim = (id: MachineId, worker = s.session): Promise<Work> =>
    worker.claim('ShepherdRecovery', id);
  const guarded = () => s.begin(DEFAULT_LOSS, DEFAULT_BUDGET, DEFAULT_GUARD);
  /** A machine whose agent was started long ago and whose last heartbeat is this old. */
  const heard = async (agoMs: number, change: Partial<MachineRow> = {}) => {
    const at = await now();
    const heartbeat = { atMs: at - agoMs, bootId: null };
    return add({ ...startedAt(at - 300 * MINUTE), heartbeat, ...change });
  };
  const many = (count: number, of: () => Promise<MachineId>) =>
    Promise.all(Array.from({ length: count }, of));
  /** A machine that has been silent for so long that it is no news. */
  const dead = (change?: Partial<MachineRow>) => heard(60 * MINUTE, change);
  const on = (provider: typeof STATIC, name: string): Partial<MachineRow> => ({
    provided: providedOf(name, { provider, location: null }),
  });
  const countsOf = async (scope: string) =>
    (await assess()).counts.find((each) => each.scope === scope);
  /** Lets time pass in steps; after each step a daemon assesses the fleet. */
  const watch = async (forMs: number, meanwhile = async () => {}) => {
    for (let passedMs = 0; passedMs < forMs; passedMs += 50_000) {
      await s.h.pass(Math.min(50_000, forMs - passedMs));
      await meanwhile();
      await assess();
    }
  };
  const order = async (id: MachineId, verb: 'reboot' | 'restart-agent' = 'reboot') => {
    const target = targetOf((await s.h.bmdb.readMachine(id, SIGNAL)).row!);
    const request = requestFor(
      verb === 'reboot' ? { verb, target, force: false } : { verb, target },
    );
    return (await s.h.bmdb.requests.submit(request)).key;
  };

  describe('recovery that the guard stops', () => {
    it('stops after a gap in accepted heartbeats, however long heartbeats came before', async () => {
      await s.h.takeIn(false);
      const id = await dead();
      await assess();
      await watch(10 * MINUTE);
      await (await claim(id)).cancel();
      await s.h.pass(61_000);
      expect(await refusedWith(claim(id)), 'nobody takes any in now').toBe('no-permit');
      expect((await assess(false)).rows[0]!.ingestUpSinceMs).toBeNull();
      await assess();
      await watch(9 * MINUTE);
      expect(await refusedWith(claim(id))).toBe('no-permit');
      await watch(MINUTE);
      await (await claim(id)).cancel();
    });

    it('lets a request use its permit although the clock went back meanwhile', async () => {
      const id = await heard(290 * MINUTE);
      const work = await claim(id);
      await s.h.pass(-60 * MINUTE);
      await work.note(ASKED);
      await work.cancel();
      expect(await s.read(id)).toMatchObject({ permit: true, work: [] });
    });

    it('stops when a gap comes between the permit and the request', async () => {
      const id = await dead();
      const work = await claim(id);
      await s.h.takeIn(false);
      expect(await refusedWith(work.note(ASKED))).toBe('no-permit');
      await work.cancel();
      expect((await s.read(id)).recovery).toBeNull();
    });

    it('stops for every machine while more are late or silent than usual', async () => {
      await guarded();
      const id = await dead();
      await many(13, () => heard(0));
      const late = await many(6, () => heard(2 * MINUTE));
      await expect(claim(id)).rejects.toThrow(/6 of 20 .*late or silent/);
      // An assessment of the fleet does not change this.
      expect((await assess()).changes).toEqual([]);
      expect(await countsOf('fleet')).toMatchObject({ started: 20, quiet: 6, newlySilent: 0 });
      await expect(claim(id)).rejects.toThrow(/6 of 20 .*late or silent/);
      await beat(late[0]!);
      await (await claim(id)).cancel();
    });

    it('stops for the provider with too many silent machines only', async () => {
      await guarded();
      const mine = await dead(on(PROVIDER, 'mine'));
      const other = await dead(on(STATIC, 'other'));
      await many(40, () => heard(0));
      await Promise.all(
        [1, 2, 3, 4, 5, 6].map((at) => heard(2 * MINUTE, on(STATIC, `late-${at}`))),
      );
      await expect(claim(other)).rejects.toThrow(/6 of 7 .*provider static/);
      await (await claim(mine)).cancel();
    });

    it('allows an ordered restart of an agent', async () => {
      await s.h.takeIn(false);
      const id = await heard(0);
      const key = await order(id, 'restart-agent');
      const work = await claim(id);
      await work.note({ ...ASKED, rung: 'restartingAgent', order: key });
      await work.cancel();
      expect((await s.read(id)).recovery).toMatchObject({ askedRung: 'restartingAgent' });
    });

    it('allows an operator’s order, except while frozen', async () => {
      await guarded();
      await s.h.takeIn(false);
      await many(6, () => heard(2 * MINUTE));
      const id = await heard(0);
      const key = await order(id);
      const work = await claim(id);
      await work.note({ ...ASKED, order: key });
      await work.cancel();
      await s.h.freeze(PROVIDER, 'fire');
      const again = await refusedWith(work.note({ ...ASKED, order: key }));
      expect(again).toBe('work-lost');
      const held = await claim(id);
      expect(await refusedWith(held.note({ ...ASKED, order: key }))).toBe('no-permit');
      await held.cancel();
      const second = await heard(0);
      await order(second);
      expect(await refusedWith(claim(second))).toBe('no-permit');
    });
  });

  describe('an assessment of the fleet', () => {
    it('freezes a provider with too many newly silent machines, and nothing else', async () => {
      await guarded();
      const mine = await dead(on(PROVIDER, 'mine'));
      const other = await dead(on(STATIC, 'other'));
      await many(40, () => heard(0));
      for (const at of [1, 2, 3, 4, 5]) await heard(0, on(STATIC, `well-${at}`));
      const silent = await Promise.all(
        [1, 2, 3, 4, 5].map((at) => heard(11 * MINUTE, on(STATIC, `silent-${at}`))),
      );
      expect((await assess()).changes).toEqual([]);
      await s.h.pass(10_000);
      silent.push(await heard(11 * MINUTE, on(STATIC, 'silent-6')));
      const { changes, rows } = await assess(true, s.h.other);
      expect(changes).toEqual([{ scope: STATIC, now: 'frozen' }]);
      const row = rows.find(({ scope }) => scope === STATIC)!;
      expect(row.frozen).toMatchObject({ by: 'guard', kind: 'silence' });
      const { guard } = await s.h.bmdb.scan(SIGNAL);
      expect(guard.find(({ scope }) => scope === STATIC)).toEqual(row);
      await expect(claim(other)).rejects.toThrow(/static is frozen: 6 of 12/);
      await (await claim(mine)).cancel();
      expect(silent).toHaveLength(6);
    });

    it.each([
      ['does not count a machine that was heard until an order interrupted it', 0],
      ['counts a machine that fell silent before an order', 3],
    ])('%s', async (_, minutes) => {
      await guarded();
      const ordered = await heard(minutes * MINUTE);
      const [other] = [await heard(0), await heard(0)];
      const key = await order(ordered);
      const work = await claim(ordered);
      await work.note({ ...ASKED, order: key });
      await work.note({ kind: 'permitReturned' });
      await s.h.pass(11 * MINUTE);
      await beat(other);
      const { changes } = await assess();
      const newlySilent = minutes === 0 ? 1 : 2;
      expect(changes).toHaveLength(newlySilent === 1 ? 0 : 2);
      expect(await countsOf('fleet')).toMatchObject({
        ...{ silent: 2, newlySilent, quiet: newlySilent },
      });
    });

    it('freezes the fleet and thaws it when all machines have been back for a while', async () => {
      await guarded();
      const id = await dead();
      const well = await many(11, () => heard(0));
      const silent = await many(8, () => heard(11 * MINUTE));
      expect((await assess()).changes).toEqual([
        { scope: 'fleet', now: 'frozen' },
        { scope: PROVIDER, now: 'frozen' },
      ]);
      expect(await refusedWith(claim(id))).toBe('no-permit');
      const beatAll = async () => {
        for (const each of [...well, ...silent]) await beat(each);
      };
      await s.h.pass(1_000);
      await beatAll();
      await s.h.pass(10_000);
      // One heartbeat does not make a machine count as back.
      expect(await countsOf('fleet')).toMatchObject({ silent: 9, newlySilent: 0 });
      await watch(20_000, beatAll);
      await watch(20_000, beatAll);
      expect(await countsOf('fleet')).toMatchObject({ silent: 1, quiet: 0 });
      expect((await s.h.bmdb.scan(SIGNAL)).guard[0]!.calmSinceMs).not.toBeNull();
      await watch(9 * MINUTE, beatAll);
      expect(await refusedWith(claim(id)), 'calm, but not for long').toBe('no-permit');
      await watch(100_000, beatAll);
      expect((await s.h.bmdb.scan(SIGNAL)).guard.map(({ frozen }) => frozen)).toEqual([null, null]);
      await (await claim(id)).cancel();
    });

    it('leaves an operator’s freeze alone, and machines that the operator has seen', async () => {
      await guarded();
      await many(8, () => heard(11 * MINUTE));
      const submit = (verb: 'freeze' | 'thaw') =>
        s.h.bmdb.requests
          .submit(requestFor({ verb, scope: 'fleet' }))
          .then(({ key }) => s.session.applyRequest(key));
      await submit('freeze');
      expect((await assess()).changes).toEqual([{ scope: PROVIDER, now: 'frozen' }]);
      await watch(30 * MINUTE);
      const frozen = (await s.h.bmdb.scan(SIGNAL)).guard;
      expect(frozen.find(({ scope }) => scope === 'fleet')!.frozen?.kind).toBe('manual');
      await many(8, () => heard(11 * MINUTE));
      await submit('thaw');
      await s.h.pass(10_000);
      const after = await assess();
      expect(after.changes).toEqual([]);
      expect(after.rows.find(({ scope }) => scope === 'fleet')!.frozen).toBeNull();
      expect(await countsOf('fleet')).toMatchObject({ silent: 16, newlySilent: 0 });
    });

    it('is shared by all daemons', async () => {
      await guarded();
      await many(8, () => heard(11 * MINUTE));
      const first = await assess();
      expect(first.changes).toHaveLength(2);
      expect(await assess(true, s.h.other)).toEqual({ ...first, changes: [] });
    });

    it('counts nothing as newly silent before heartbeats are received', async () => {
      await guarded();
      await s.h.takeIn(false);
      await many(8, () => heard(11 * MINUTE));
      // The database was away: the first daemon that finds it again takes in nothing yet.
      const first = await assess(false);
      expect([first.changes, first.counts[0]]).toMatchObject([[], { silent: 8, newlySilent: 0 }]);
      // The daemon that holds the turn matters for the counting only.
      const second = await assess(true, s.h.other);
      expect(second.rows.find(({ scope }) => scope === 'fleet')!.ingestUpSinceMs).not.toBeNull();
      expect(second.counts).toEqual(first.counts);
      await watch(9 * MINUTE);
      expect((await countsOf('fleet'))!.newlySilent).toBe(0);
      await watch(MINUTE);
      expect((await countsOf('fleet'))!.newlySilent).toBe(8);
    });

    const fail = async (machine: MachineId, unreachable: boolean) => {
      const work = await s.session.claim('ShepherdAgentStart', machine);
      await work.fail(STEADY, 'no luck', { unreachable });
    };
    const fileThaw = () => s.h.bmdb.requests.submit(requestFor({ verb: 'thaw', scope: 'fleet' }));

    it('freezes when too many machines are unreachable, except those an operator has seen at a thaw', async () => {
      await guarded();
      const ids = await many(6, () => add());
      for (const id of ids) await fail(id, true);
      expect((await assess()).changes).toEqual([
        { scope: 'fleet', now: 'frozen' },
        { scope: PROVIDER, now: 'frozen' },
      ]);
      await s.session.applyRequest((await fileThaw()).key);
      await s.h.pass(2 * MINUTE);
      for (const id of ids) await fail(id, true);
      const after = await assess();
      expect(after.changes).toEqual([]);
      expect(after.rows.find(({ scope }) => scope === 'fleet')!.frozen).toBeNull();
      expect(await countsOf('fleet')).toMatchObject({ machines: 6, unreachable: 0 });
      // A machine that failed for another cause meanwhile counts as unseen.
      await s.h.pass(2 * MINUTE);
      await fail(ids[0]!, false);
      await s.h.pass(2 * MINUTE);
      await fail(ids[0]!, true);
      expect(await countsOf('fleet')).toMatchObject({ unreachable: 1 });
    });

    it('counts machines that agent start could not reach', async () => {
      const [id, other] = [await add(), await add()];
      await fail(id, true);
      await fail(other, false);
      expect(await countsOf(PROVIDER)).toMatchObject({ machines: 2, started: 0, unreachable: 1 });
      await s.h.pass(2 * MINUTE);
      await fail(id, false);
      await s.h.pass(10_000);
      expect(await countsOf(PROVIDER)).toMatchObject({ unreachable: 0 });
    });
  });
}
