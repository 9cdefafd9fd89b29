import { describe, expect, it, vi } from 'vitest';
import { MEMBER_STATES, SUCCESSORS } from '../../src/domain/balancing/members.ts';
import type { MemberState } from '../../src/domain/balancing/members.ts';
import { MINUTE, requestedAt, startedAt } from './bmdb-rows.ts';
import { DOUBLING, refusedWith, SIGNAL, UNKNOWN } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';
import { memberScene, POOL, TO } from './member-scene.ts';
import { requestFor } from './requests-of.ts';
import { PATIENCE } from '../support/patience.ts';

export function membersContract(s: BmdbStage): void {
  const { lease, write, resultOf, memberOf, addMember } = memberScene(s);

  describe('members of pools', () => {
    it('are part of their machine’s row in every daemon', async () => {
      const id = await addMember('joining');
      expect(await s.h.other.readMachine(id, SIGNAL)).toMatchObject({
        row: {
          members: [
            {
              ...{ ...POOL, machineId: id, state: 'joining', deadlineMs: null, how: null },
              ...{ waived: false, refused: false, note: null, sessions: null },
            },
          ],
        },
      });
      const { machines } = await s.scan();
      const found = machines.find((row) => row.machineId === id)!.members[0]!;
      expect(Math.abs(found.sinceMs - (await s.now()))).toBeLessThan(MINUTE);
      expect((await s.read(await s.add())).members).toEqual([]);
    });

    it.each([null, ...MEMBER_STATES].map((from) => [from] as const))(
      'change from %s only to a permitted state',
      async (from) => {
        for (const to of MEMBER_STATES) {
          const id = await addMember(from);
          const before = (await s.read(id)).members[0] ?? null;
          const [verdict] = await write({ machineId: id, ...TO[to] });
          const may =
            from === null ? to === 'joining' : from === to || SUCCESSORS[from].includes(to);
          expect([to, verdict!.result]).toEqual([to, may ? 'written' : 'stale']);
          expect(verdict!.row).toEqual((await s.read(id)).members[0] ?? null);
          if (may) expect(verdict!.row!.state).toBe(to);
          else expect(verdict!.row).toEqual(before);
        }
      },
    );

    it.each<readonly [MemberState | null, 'written' | 'stale']>([
      [null, 'written'],
      ['joining', 'stale'],
      ['warming', 'stale'],
      ['active', 'stale'],
      ['draining', 'stale'],
      ['drained', 'written'],
    ])('from %s are gone: %s', async (from, result) => {
      const id = await addMember(from);
      expect(await resultOf({ machineId: id, to: 'gone' })).toBe(result);
      expect((await s.read(id)).members).toHaveLength(result === 'written' ? 0 : 1);
    });

    it('that skip the drain may be gone from any state', async () => {
      const id = await addMember('active');
      expect(await resultOf({ machineId: id, waived: true })).toBe('written');
      expect(await resultOf({ machineId: id, to: 'gone' })).toBe('written');
      expect((await s.read(id)).members).toEqual([]);
    });

    it('are distinguished by pool and balancer, and read in one order', async () => {
      const id = await s.add();
      const held = await lease();
      const names = [
        { pool: 'web', balancer: 'a' },
        { pool: 'api', balancer: 'b' },
        { pool: 'api', balancer: 'a' },
      ];
      for (const name of names) {
        await s.session.balancing.write(held, name, [{ machineId: id, to: 'joining' }]);
      }
      const found = (await s.read(id)).members.map(({ pool, balancer }) => `${pool} ${balancer}`);
      expect(found).toEqual(['api a', 'api b', 'web a']);
    });

    it('are judged one by one, in the requested order', async () => {
      const [one, two] = [await s.add(), await addMember('active')];
      const verdicts = await write(
        { machineId: two, to: 'joining' },
        { machineId: UNKNOWN, to: 'joining' },
        { machineId: one, to: 'joining' },
      );
      expect(verdicts.map(({ machineId, result }) => [machineId, result])).toEqual([
        [two, 'stale'],
        [UNKNOWN, 'lost'],
        [one, 'written'],
      ]);
      expect(await write()).toEqual([]);
    });

    it('drain until the earliest deadline, unless another one is requested', async () => {
      const id = await addMember('draining');
      const first = (await memberOf(id))!.deadlineMs!;
      expect(Math.abs(first - (await s.now()) - MINUTE)).toBeLessThan(MINUTE / 2);
      await write({ machineId: id, to: 'draining', graceMs: 60 * MINUTE });
      expect((await memberOf(id))!.deadlineMs).toBe(first);
      await write({ machineId: id, to: 'draining', graceMs: 0 });
      const sooner = (await memberOf(id))!.deadlineMs!;
      expect(sooner).toBeLessThan(first);
      await write({ machineId: id, sessions: 4, note: 'slow' });
      expect(await memberOf(id)).toMatchObject({ deadlineMs: sooner, sessions: 4, note: 'slow' });
      await write({ machineId: id, to: 'draining', graceMs: 60 * MINUTE, newDeadline: true });
      expect((await memberOf(id))!.deadlineMs).toBeGreaterThan(first);
      await write({ machineId: id, to: 'active' });
      expect((await memberOf(id))!.deadlineMs).toBeNull();
    });

    it('keep their time and outcome while their state stays', async () => {
      const id = await addMember('drained');
      const before = (await memberOf(id))!;
      await s.h.pass(MINUTE);
      await write({ machineId: id, to: 'drained', how: 'forced', note: 'again' });
      const after = (await memberOf(id))!;
      expect(after).toMatchObject({ how: 'no-sessions', note: 'again' });
      expect(Math.abs(after.sinceMs - before.sinceMs)).toBeLessThan(2 * MINUTE);
    });

    it('lose their waiver and refusal in another state, unless the write repeats them', async () => {
      const id = await addMember('active');
      await write({ machineId: id, waived: true, refused: true, note: 'why' });
      await write({ machineId: id, sessions: 1 });
      expect(await memberOf(id)).toMatchObject({ waived: true, refused: true, note: 'why' });
      await write({ machineId: id, ...TO.draining });
      expect(await memberOf(id)).toMatchObject({ waived: false, refused: false, note: 'why' });
      await write({ machineId: id, ...TO.drained, waived: true, note: null });
      expect(await memberOf(id)).toMatchObject({ waived: true, note: null });
    });

    it('notify readers only when something changed', async () => {
      const id = await addMember('active');
      // Reads repeat earlier changes while another transaction is writing.
      const { cursor } = await vi.waitUntil(async () => {
        const read = await s.scan();
        const since = await s.h.other.changesSince(read.cursor!, SIGNAL);
        return since?.machines.length === 0 ? read : null;
      }, PATIENCE);
      await write({ machineId: id, to: 'active', note: null });
      const still = await s.h.other.changesSince(cursor!, SIGNAL);
      expect(still!.machines).toEqual([]);
      await write({ machineId: id, sessions: 2 });
      const moved = await s.h.other.changesSince(cursor!, SIGNAL);
      expect(moved!.machines.map((row) => row.members[0]!.sessions)).toEqual([2]);
    });

    it('must be written completely, each once', async () => {
      const id = await s.add();
      for (const change of [
        { machineId: id, to: 'drained' },
        { machineId: id, to: 'draining' },
        { machineId: id, to: 'draining', graceMs: -1 },
        { machineId: id, sessions: -1 },
      ] as const) {
        await expect(write(change)).rejects.toThrow(RangeError);
      }
      await expect(write({ machineId: id }, { machineId: id })).rejects.toThrow(RangeError);
    });

    it('disappear with their machine', async () => {
      const id = await addMember('active');
      await s.h.remove(id);
      expect(await resultOf({ machineId: id, to: 'gone' })).toBe('lost');
    });
  });

  describe('members and work', () => {
    it('bar work on a serving machine until it is drained', async () => {
      const id = await addMember('joining', startedAt((await s.now()) - 31 * MINUTE));
      const claim = () => s.rival.claim('ShepherdRecovery', id);
      for (const state of ['joining', 'warming', 'active', 'draining'] as const) {
        await write({ machineId: id, ...TO[state] });
        expect(await refusedWith(claim())).toBe('nothing-to-do');
      }
      await write({ machineId: id, ...TO.drained });
      await (await claim()).cancel();
    });

    it('bar recovery for ten minutes', async () => {
      const id = await addMember('active', startedAt((await s.now()) - 39 * MINUTE));
      expect(await refusedWith(s.rival.claim('ShepherdRecovery', id))).toBe('nothing-to-do');
      await s.h.pass(2 * MINUTE);
      await (await s.rival.claim('ShepherdRecovery', id)).cancel();
    });

    it('do not bar an order that skips the drain', async () => {
      const id = await addMember('active', { deprovision: requestedAt(await s.now()) });
      expect(await refusedWith(s.rival.claim('ShepherdDeprovision', id))).toBe('nothing-to-do');
      const skipping = { ...requestedAt(await s.now()), drain: 'skip' } as const;
      const other = await addMember('active', { deprovision: skipping });
      await (await s.rival.claim('ShepherdDeprovision', other)).cancel();
      const ordered = await addMember('active');
      const target = await s.target(ordered);
      await s.submit({ verb: 'reboot', target, force: false, drain: 'skip' });
      expect((await s.read(ordered)).order).toMatchObject({ drain: 'skip' });
      await (await s.rival.claim('ShepherdRecovery', ordered)).cancel();
    });

    it('bar a machine from serving while work runs on it', async () => {
      const id = await addMember('drained');
      const waived = await addMember('active');
      await write({ machineId: waived, waived: true });
      const works = [
        await s.rival.claim('ShepherdAgentStart', id),
        await s.rival.claim('ShepherdAgentStart', waived),
      ];
      const joins = [
        { machineId: id, to: 'joining' },
        { machineId: waived, waived: false },
      ] as const;
      expect((await write(...joins)).map(({ result, row }) => [result, row!.state])).toEqual([
        ['busy', 'drained'],
        ['busy', 'active'],
      ]);
      // A change after which the machine still does not serve is always allowed.
      expect(await resultOf({ machineId: id, to: 'drained', how: 'gone', note: 'x' })).toBe(
        'written',
      );
      for (const work of works) await work.fail(DOUBLING, 'test');
      expect((await write(...joins)).map(({ result }) => result)).toEqual(['written', 'written']);
    });

    it('bar a machine from serving while an installation is due', async () => {
      const due = { requestGeneration: 2n, reportGeneration: null, reportResult: null } as const;
      const id = await s.add({ installation: { ...due, handedOutAtMs: null } });
      expect(await resultOf({ machineId: id, to: 'joining' })).toBe('busy');
      const failed = { ...due, reportGeneration: 2n, reportResult: 'Error' } as const;
      const other = await s.add({ installation: { ...failed, handedOutAtMs: null } });
      expect(await resultOf({ machineId: other, to: 'joining' })).toBe('written');
    });

    it('do not bar serving when the work’s session is dead', async () => {
      const id = await addMember('drained', startedAt((await s.now()) - 41 * MINUTE));
      const short = await s.openOn(s.h.other, 60_000);
      await short.claim('ShepherdRecovery', id);
      expect(await resultOf({ machineId: id, to: 'joining' })).toBe('busy');
      await s.h.expireSession(short.sessionId);
      expect(await resultOf({ machineId: id, to: 'joining' })).toBe('written');
      expect((await s.h.history(id)).at(-1)).toBe('ShepherdRecovery Canceled session expired');
      await short.close();
    });

    it('refuse an order that a pool refuses, with the reason', async () => {
      const id = await addMember('active');
      const target = await s.target(id);
      const request = requestFor({ verb: 'reboot', target, force: false });
      await s.h.bmdb.requests.submit(request);
      expect(await s.session.applyRequest(request.key)).toBeNull();
      await write({ machineId: id, refused: true, note: 'refused: balancer front is away' });
      expect(await s.session.applyRequest(request.key)).toMatchObject({
        state: 'refused',
        outcome: 'refused: balancer front is away',
      });
    });
  });
}
