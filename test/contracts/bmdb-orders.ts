import { describe, expect, it } from 'vitest';
import type { RequestedThing, Work } from '../../src/adapters/bmdb/port.ts';
import type { MachineId } from '../../src/domain/ids.ts';
import { EXPIRED } from '../../src/domain/requests.ts';
import type { Process } from '../../src/domain/machine.ts';
import type { OrderVerb } from '../../src/domain/verbs.ts';
import { ASKED, ladderOn, MINUTE } from './bmdb-rows.ts';
import { agentStarted, refusedWith, STEADY } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';
import { requestFor } from './requests-of.ts';

const PROCESS: Readonly<Record<OrderVerb, Process>> = {
  'restart-agent': 'ShepherdRecovery',
  reboot: 'ShepherdRecovery',
  reinstall: 'ShepherdReinstall',
};
const VERBS = Object.keys(PROCESS) as OrderVerb[];
const RUNG = {
  'restart-agent': 'restartingAgent',
  reboot: 'rebooting',
  reinstall: 'reinstalling',
} as const;

export function ordersContract(s: BmdbStage): void {
  const { add, read } = s;
  const { addWell } = s;
  const thing = async (verb: OrderVerb, id: MachineId): Promise<RequestedThing> => {
    const target = await s.target(id);
    return verb === 'reboot' ? { verb, target, force: false } : { verb, target };
  };
  const order = async (id: MachineId, verb: OrderVerb = 'reboot', validForMs = 60 * MINUTE) => {
    const request = requestFor(await thing(verb, id), { reason: 'it hangs', validForMs });
    return (await s.h.bmdb.requests.submit(request)).key;
  };
  const { stateOf } = s;
  const claim = (id: MachineId, verb: OrderVerb = 'reboot') => s.session.claim(PROCESS[verb], id);
  const asked = async (work: Work, verb: OrderVerb, key: string) =>
    work.note({ kind: 'recoveryAsked', rung: RUNG[verb], bootId: 'boot-1', order: key });

  describe('an order', () => {
    it.each([
      ['reinstall', 'reinstalling'],
      // The machine is owed its power in this case too.
      ['reboot', 'powerCycling'],
    ] as const)('F7: %s by %s survives a release', async (verb, rung) => {
      const id = await addWell();
      const key = await order(id, verb);
      const work = await claim(id, verb);
      await work.note({ kind: 'recoveryAsked', rung, bootId: 'boot-1', order: key });
      const { recovery } = await read(id);
      const target = await s.target(id);
      const release = requestFor({ verb: 'release', target, forgetHostKey: false });
      await s.h.bmdb.requests.submit(release);
      await s.session.applyRequest(release.key);
      expect(recovery).toMatchObject({ orderKey: key, askedRung: rung });
      expect((await read(id)).recovery).toEqual({
        ...recovery,
        ...{ rung: 'restartingAgent', attempts: 0, nextAtMs: null },
      });
    });

    it('is read with its machine until it is applied', async () => {
      const id = await addWell();
      const target = await s.target(id);
      const request = requestFor({ verb: 'reboot', target, force: true }, { by: 'bob' });
      const { key, expiresAtMs } = await s.h.bmdb.requests.submit(request);
      const { order: found } = await read(id);
      expect(found).toMatchObject({
        key,
        verb: 'reboot',
        by: 'bob',
        reason: 'no longer needed',
        force: true,
      });
      expect(Math.abs(found!.expiresAtMs - expiresAtMs)).toBeLessThan(MINUTE);
      const { machines } = await s.scan();
      expect(machines.map((row) => row.order?.key)).toEqual([key]);
    });

    it('is the only one of its machine', async () => {
      const [id, other] = [await addWell(), await addWell()];
      const key = await order(id, 'restart-agent');
      for (const verb of VERBS) expect(await refusedWith(order(id, verb))).toBe('nothing-to-do');
      const submission = s.h.other.requests.submit(requestFor(await thing('reinstall', id)));
      await expect(submission).rejects.toThrow(/restart-agent by ann: it hangs/);
      await order(other);
      const [one, two] = await Promise.allSettled([order(other), order(other, 'reinstall')]);
      expect([one.status, two.status]).toEqual(['rejected', 'rejected']);
      expect((await read(id)).order?.key).toBe(key);
    });

    it('is refused when it expires, and makes room for another', async () => {
      const id = await addWell();
      const key = await order(id, 'reboot', MINUTE);
      await s.h.pass(2 * MINUTE);
      expect((await read(id)).order).toBeNull();
      expect(await refusedWith(claim(id))).toBe('nothing-to-do');
      const next = await order(id, 'restart-agent');
      expect(await stateOf(key)).toMatchObject({
        state: 'refused',
        outcome: 'it expired before it was carried out',
      });
      expect(await read(id)).toMatchObject({ order: { key: next, verb: 'restart-agent' } });
      expect(await s.h.events(id)).toEqual([
        'requestRefused reboot: it expired before it was carried out',
      ]);
    });

    it.each(VERBS)('makes a healthy machine claimable: %s', async (verb) => {
      const id = await addWell();
      const bare = await add();
      for (const machine of [id, bare]) {
        expect(await refusedWith(claim(machine, verb))).toBe('nothing-to-do');
        const key = await order(machine, verb);
        const others = ['ShepherdRecovery', 'ShepherdReinstall'] as const;
        const other = others.find((each) => each !== PROCESS[verb])!;
        expect(await refusedWith(s.session.claim(other, machine))).toBe('nothing-to-do');
        const work = await claim(machine, verb);
        expect(work.row.order).toMatchObject({ key, verb });
        await work.cancel();
      }
    });

    it('takes the permit reserved for orders when the budget is spent', async () => {
      const lost = await s.addLost();
      const [one, two] = [await addWell(), await addWell()];
      await (await claim(lost)).note(ASKED);
      const keys = [await order(one), await order(two)];
      await asked(await claim(one), 'reboot', keys[0]!);
      const work = await claim(two);
      expect(await refusedWith(asked(work, 'reboot', keys[1]!))).toBe('no-permit');
      await work.cancel();
      expect(await stateOf(keys[1]!)).toMatchObject({ state: 'open' });
    });

    it('does not expire while others hold the permits it needs', async () => {
      const ids = [await addWell(), await addWell(), await addWell()];
      const keys = [
        await order(ids[0]!),
        await order(ids[1]!),
        await order(ids[2]!, 'reboot', MINUTE),
      ];
      const works = [await claim(ids[0]!), await claim(ids[1]!)];
      for (const [at, work] of works.entries()) await asked(work, 'reboot', keys[at]!);
      const restart = await order(await add(), 'restart-agent', MINUTE);
      await s.h.pass(2 * MINUTE);
      expect(await s.session.applyRequest(restart), 'it needs none').toMatchObject({
        outcome: EXPIRED,
      });
      expect(await s.session.applyRequest(keys[2]!)).toBeNull();
      const { state, expiresAtMs } = await stateOf(keys[2]!);
      expect(state).toBe('open');
      expect(expiresAtMs).toBeGreaterThan((await s.now()) + 5 * MINUTE);
      expect((await read(ids[2]!)).order, 'it is work again').not.toBeNull();
      await works[0]!.fail(STEADY, 'no evidence', { order: keys[0]! });
      await s.h.pass(20 * MINUTE);
      expect(await s.session.applyRequest(keys[2]!)).toMatchObject({
        state: 'refused',
        outcome: EXPIRED,
      });
    });

    it('does not expire while more orders wait than permits exist', async () => {
      const keys: string[] = [];
      for (let at = 0; at < 4; at += 1) keys.push(await order(await addWell(), 'reboot', MINUTE));
      await s.h.pass(2 * MINUTE);
      for (const key of keys) expect(await s.session.applyRequest(key)).toBeNull();
      await s.h.pass(20 * MINUTE);
      await s.h.freeze('fleet', 'fire');
      expect(await s.session.applyRequest(keys[0]!), 'it waits for the thaw').not.toBeNull();
    });

    it('is carried out once; its end applies it and leaves the ladder unchanged', async () => {
      for (const verb of VERBS) {
        const ladder = ladderOn('powerCycling', { attempts: 1 });
        const id = await addWell({ recovery: ladder });
        const key = await order(id, verb);
        const work = await claim(id, verb);
        await asked(work, verb, key);
        expect(await stateOf(key)).toMatchObject({ state: 'open' });
        expect(await s.session.applyRequest(key)).toBeNull();
        const recovered = { kind: 'recovered', coolDown: STEADY, bootSeconds: 80 } as const;
        await work.finish({ ...recovered, order: key });
        expect(await stateOf(key)).toMatchObject({ state: 'done', verb });
        expect((await stateOf(key)).settledAtMs).not.toBeNull();
        const row = await read(id);
        expect(row).toMatchObject({ order: null, agentStarted: null, permit: false });
        expect([...row.bootTimes.reboot, ...row.bootTimes.reinstall]).toEqual([80]);
        expect((await s.h.events(id)).at(-1)).toBe(
          `recovered ${RUNG[verb]}, ordered by ann: it hangs`,
        );
        expect(row.recovery).toMatchObject({
          rung: 'powerCycling',
          attempts: 1,
          nextAtMs: null,
          askedAtMs: null,
          orderKey: null,
        });
        const mine = (await s.h.events(id)).findIndex((line) => line.startsWith('requestDone'));
        expect((await s.h.actors(id))[mine]).toBe('ann');
        expect(await s.session.applyRequest(key)).toMatchObject({ state: 'done' });
        await (await s.session.claim('ShepherdAgentStart', id)).finish(agentStarted());
        expect(await refusedWith(claim(id, verb))).toBe('nothing-to-do');
      }
    });

    it('is refused with the cause when it fails, and the ladder stays', async () => {
      const nextAtMs = (await s.now()) + MINUTE;
      const id = await s.addLost({ recovery: ladderOn('rebooting', { attempts: 2, nextAtMs }) });
      const key = await order(id);
      const work = await claim(id);
      await asked(work, 'reboot', key);
      await work.fail(STEADY, 'no evidence within 15 min', { order: key });
      expect(await stateOf(key)).toMatchObject({
        state: 'refused',
        outcome: expect.stringContaining('no evidence within 15 min'),
      });
      const row = await read(id);
      expect(row).toMatchObject({ order: null, permit: false, backoffs: [] });
      expect(row.recovery).toMatchObject({ rung: 'rebooting', attempts: 2, nextAtMs });
      expect(await refusedWith(claim(id))).toBe('nothing-to-do');
      const line = (await s.h.events(id)).findIndex((each) => each.startsWith('requestRefused'));
      expect((await s.h.actors(id))[line]).toBe('ann');
    });

    it('stays open when its work is cancelled or dies', async () => {
      const id = await addWell();
      const key = await order(id);
      const work = await claim(id);
      await asked(work, 'reboot', key);
      await work.cancel();
      expect(await stateOf(key)).toMatchObject({ state: 'open', outcome: null });
      const short = await s.openOn(s.h.bmdb, 60_000);
      const second = await short.claim('ShepherdRecovery', id);
      expect(second.row.order?.key).toBe(key);
      await s.h.expireSession(short.sessionId);
      const third = await claim(id);
      expect(third.row.order?.key).toBe(key);
      await third.finish({ kind: 'recovered', coolDown: STEADY, bootSeconds: null, order: key });
      expect(await stateOf(key)).toMatchObject({ state: 'done' });
      await short.close();
    });

    it('is not ended by another daemon when it expires while being carried out', async () => {
      const id = await addWell();
      const key = await order(id, 'reboot', MINUTE);
      const work = await claim(id);
      await asked(work, 'reboot', key);
      await s.h.pass(2 * MINUTE);
      expect(await s.rival.applyRequest(key)).toBeNull();
      await work.finish({ kind: 'recovered', coolDown: STEADY, bootSeconds: 60, order: key });
      expect(await stateOf(key)).toMatchObject({ state: 'done' });
    });

    it('keeps its outcome when it was applied before its work ended', async () => {
      const id = await addWell();
      const key = await order(id, 'reboot', MINUTE);
      const work = await claim(id);
      await work.cancel();
      await s.h.pass(2 * MINUTE);
      const settled = await s.session.applyRequest(key);
      expect(settled).toMatchObject({ state: 'refused' });
      const lost = await s.addLost();
      const late = await claim(lost);
      await late.finish({ kind: 'recovered', coolDown: STEADY, bootSeconds: null, order: key });
      expect(await stateOf(key)).toMatchObject({ state: 'refused', outcome: settled!.outcome });
    });
  });
}
