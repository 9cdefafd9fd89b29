import { describe, expect, it } from 'vitest';
import type { MachineId } from '../../src/domain/ids.ts';
import type { OrderVerb } from '../../src/domain/verbs.ts';
import { MINUTE } from './bmdb-rows.ts';
import { refusedWith, STEADY } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';
import { requestFor } from './requests-of.ts';
import type { StandingRung } from '../../src/domain/recovery/rungs.ts';

const RUNG: Readonly<Record<OrderVerb, StandingRung>> = {
  'restart-agent': 'restartingAgent',
  reboot: 'rebooting',
  reinstall: 'reinstalling',
};

/** Orders that people withdraw, and orders that end half way. */
export function withdrawalsContract(s: BmdbStage): void {
  const { read } = s;
  const { addWell } = s;
  const order = async (id: MachineId, verb: 'restart-agent' | 'reinstall' = 'restart-agent') => {
    const request = requestFor({ verb, target: await s.target(id) }, { validForMs: MINUTE });
    return (await s.h.bmdb.requests.submit(request)).key;
  };
  const withdraw = async (id: MachineId) =>
    s.applyRequest(
      { verb: 'withdraw', target: await s.target(id) },
      { by: 'bob', reason: 'it is well' },
    );
  const { stateOf } = s;
  const begun = async (id: MachineId, verb: OrderVerb, key: string) => {
    const process = verb === 'reinstall' ? 'ShepherdReinstall' : 'ShepherdRecovery';
    const work = await s.session.claim(process, id);
    await work.note({ kind: 'recoveryAsked', rung: RUNG[verb], bootId: null, order: key });
    return work;
  };

  describe('A7: a withdrawal', () => {
    it('A7: takes back an order that waits, in the name of the requester', async () => {
      const id = await addWell();
      const key = await order(id, 'reinstall');
      expect(await withdraw(id)).toMatchObject({
        state: 'done',
        outcome: 'the reinstall that ann asked for is withdrawn',
      });
      expect(await stateOf(key)).toMatchObject({
        state: 'refused',
        outcome: 'bob withdrew it: it is well',
      });
      expect((await read(id)).order).toBeNull();
      expect(await refusedWith(s.session.claim('ShepherdReinstall', id))).toBe('nothing-to-do');
      const lines = await s.h.events(id);
      expect(lines).toContain('requestRefused reinstall: bob withdrew it: it is well');
      expect(lines).toContain(
        'requestDone withdraw: the reinstall that ann asked for is withdrawn',
      );
      await order(id);
    });

    it('A7: is applied at once when there is no order', async () => {
      const id = await addWell();
      const nothing = { state: 'done', outcome: 'no order was waiting' };
      expect(await withdraw(id)).toMatchObject(nothing);
      const key = await order(id);
      await s.h.pass(2 * MINUTE);
      expect(await withdraw(id)).toMatchObject(nothing);
      expect(await s.session.applyRequest(key)).toMatchObject({ state: 'refused' });
    });

    it('A7: wins over a claim that has requested nothing yet', async () => {
      const id = await addWell();
      const key = await order(id);
      const work = await s.session.claim('ShepherdRecovery', id);
      expect(await withdraw(id)).toMatchObject({ state: 'done' });
      const note = { kind: 'recoveryAsked', rung: 'restartingAgent', bootId: null } as const;
      expect(await refusedWith(work.note({ ...note, order: key }))).toBe('nothing-to-do');
      await work.cancel();
    });

    it('A7: is refused after the request was sent', async () => {
      const id = await addWell();
      const key = await order(id);
      const work = await begun(id, 'restart-agent', key);
      expect(await withdraw(id)).toMatchObject({
        state: 'refused',
        outcome: 'the restart-agent that ann asked for is under way',
      });
      expect(await stateOf(key)).toMatchObject({ state: 'open' });
      await work.finish({ kind: 'recovered', coolDown: STEADY, bootSeconds: null, order: key });
      expect(await stateOf(key)).toMatchObject({ state: 'done' });
    });
  });

  describe('A7: an order that failed half way', () => {
    it('A7: says that its request was sent', async () => {
      const id = await addWell();
      const key = await order(id);
      await (await begun(id, 'restart-agent', key)).fail(STEADY, 'no evidence', { order: key });
      expect(await stateOf(key)).toMatchObject({
        state: 'refused',
        outcome: 'it was requested, and not seen to succeed: no evidence',
      });
    });

    it('A7: does not say so after a definite refusal', async () => {
      const id = await addWell();
      const key = await order(id);
      const work = await begun(id, 'restart-agent', key);
      await work.note({ kind: 'recoveryRefused', counts: true });
      await work.fail(STEADY, 'it refused', { order: key });
      expect(await stateOf(key)).toMatchObject({ state: 'refused', outcome: 'it refused' });
    });

    it('A7: says so also after it expired and its daemon is gone', async () => {
      const id = await addWell();
      const key = await order(id);
      await (await begun(id, 'restart-agent', key)).cancel();
      await s.h.pass(2 * MINUTE);
      expect(await s.session.applyRequest(key)).toMatchObject({
        state: 'refused',
        outcome: 'it was requested, and not seen to succeed: it expired before that',
      });
    });
  });
}
