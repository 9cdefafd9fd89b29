import { describe, expect, it } from 'vitest';
import { ASKED, KEY_HEX, MINUTE } from './bmdb-rows.ts';
import { STEADY, refusedWith, agentStarted } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';

export function agentStartContract(s: BmdbStage): void {
  const { now, read, add, openOn } = s;
  describe('agent start', () => {
    it('records the agent and forgets the previous one', async () => {
      const at = await now();
      const id = await add({
        heartbeat: { atMs: at - MINUTE, bootId: 'old' },
        startAttempt: { atMs: at - MINUTE, count: 2, unreached: 0 },
      });
      const work = await s.session.claim('ShepherdAgentStart', id);
      await work.note({ kind: 'agentStartAttempt' });
      await work.finish(agentStarted(['no time source']));
      const row = await read(id);
      expect(row).toMatchObject({
        agentStarted: { publicKey: KEY_HEX, bootId: 'boot-2' },
        heartbeat: null,
        startAttempt: null,
        hostKey: 'host-key',
        work: [],
      });
      expect(row.agentStarted!.atMs).toBeGreaterThanOrEqual(at);
      expect(await s.h.events(id)).toEqual(['agentStarted no time source']);
      expect(await refusedWith(s.session.claim('ShepherdAgentStart', id))).toBe('nothing-to-do');
    });

    it('counts failures and lets recovery take the machine after six', async () => {
      const id = await add();
      for (let count = 1; count <= 6; count++) {
        expect(await refusedWith(s.session.claim('ShepherdRecovery', id))).toBe('nothing-to-do');
        await (await s.session.claim('ShepherdAgentStart', id)).fail(STEADY, 'refused');
        expect((await read(id)).startAttempt?.count).toBe(count);
        await s.h.pass(MINUTE + 1);
      }
      const work = await s.session.claim('ShepherdRecovery', id);
      await work.note(ASKED);
      await work.finish({ kind: 'recovered', coolDown: STEADY, bootSeconds: null });
      expect((await read(id)).startAttempt).toBeNull();
      expect((await s.h.events(id))[0]).toBe('workFailed ShepherdAgentStart: refused');
      await (await s.session.claim('ShepherdAgentStart', id)).cancel();
    });

    it('C4: counts failures that never reached the machine separately', async () => {
      const id = await add();
      const fail = async (unreached: boolean) => {
        const work = await s.session.claim('ShepherdAgentStart', id);
        await work.fail(STEADY, 'no route', unreached ? { unreachable: true, unreached } : {});
        await s.h.pass(MINUTE + 1);
        return (await read(id)).startAttempt;
      };
      expect(await fail(true)).toEqual({ atMs: null, count: 1, unreached: 1 });
      expect(await fail(false)).toEqual({ atMs: null, count: 2, unreached: 1 });
      expect(await fail(true)).toEqual({ atMs: null, count: 3, unreached: 2 });
      const work = await s.session.claim('ShepherdAgentStart', id);
      await work.note({ kind: 'agentStartAttempt' });
      expect((await read(id)).startAttempt).toMatchObject({ count: 3, unreached: 2 });
      await work.cancel();
    });

    it('does not lead to recovery by age if the agent was never executed', async () => {
      const id = await add();
      await (await s.session.claim('ShepherdAgentStart', id)).fail(STEADY, 'denied');
      expect((await read(id)).startAttempt).toEqual({ atMs: null, count: 1, unreached: 0 });
      await s.h.pass(60 * MINUTE);
      expect(await refusedWith(s.session.claim('ShepherdRecovery', id))).toBe('nothing-to-do');
      const work = await s.session.claim('ShepherdAgentStart', id);
      await work.note({ kind: 'agentStartAttempt' });
      await work.fail(STEADY, 'it crashed');
      const executed = await read(id);
      expect(executed.startAttempt).toEqual({
        atMs: expect.any(Number) as number,
        count: 2,
        unreached: 0,
      });
      await s.h.pass(31 * MINUTE);
      await (await s.session.claim('ShepherdRecovery', id)).cancel();
    });

    it('leads to recovery if the agent was executed but never recorded', async () => {
      const id = await add();
      const short = await openOn(s.h.bmdb, 60_000);
      await (await short.claim('ShepherdAgentStart', id)).note({ kind: 'agentStartAttempt' });
      expect((await read(id)).startAttempt).toMatchObject({ count: 0 });
      await s.h.expireSession(short.sessionId);
      await s.h.pass(29 * MINUTE);
      expect(await refusedWith(s.rival.claim('ShepherdRecovery', id))).toBe('nothing-to-do');
      await s.h.pass(2 * MINUTE);
      await (await s.rival.claim('ShepherdRecovery', id)).cancel();
      await short.close();
    });

    it('can quarantine the machine', async () => {
      const id = await add();
      const work = await s.session.claim('ShepherdAgentStart', id);
      await work.fail(STEADY, 'host key', {
        quarantine: { kind: 'conflict', reason: 'key changed' },
      });
      expect((await read(id)).quarantine).toEqual({
        kind: 'conflict',
        reason: 'key changed',
        untilMs: null,
        cause: null,
      });
      expect((await s.h.events(id)).at(-1)).toBe('quarantined conflict: key changed');
      await s.h.pass(2 * MINUTE);
      expect(await refusedWith(s.session.claim('ShepherdAgentStart', id))).toBe('nothing-to-do');
    });

    it('keeps what an operator decided meanwhile', async () => {
      const id = await add();
      const work = await s.session.claim('ShepherdAgentStart', id);
      const byOperator = { kind: 'byOperator', reason: 'being moved' } as const;
      await (await s.rival.claim('UnitTest1', id)).fail(STEADY, 'x', { quarantine: byOperator });
      await work.fail(STEADY, 'host key', {
        quarantine: { kind: 'conflict', reason: 'key changed' },
      });
      const row = await read(id);
      expect(row.quarantine).toEqual({ ...byOperator, untilMs: null, cause: null });
      expect(row.backoffs).toContainEqual(expect.objectContaining({ cause: 'host key' }));
    });

    it('replaces an operator’s temporary quarantine by a permanent one', async () => {
      const untilMs = (await now()) - MINUTE;
      const id = await add({
        quarantine: { kind: 'byOperator', reason: 'moved', untilMs, cause: null },
      });
      const work = await s.session.claim('ShepherdAgentStart', id);
      const quarantine = { kind: 'conflict', reason: 'key changed' } as const;
      await work.fail(STEADY, 'host key', { quarantine });
      expect((await read(id)).quarantine).toEqual({ ...quarantine, untilMs: null, cause: null });
    });
  });
}
