import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Bmdb, BmdbSession, Work } from '../../src/adapters/bmdb/port.ts';
import type { BackoffDescriptor } from '../../src/domain/backoff.ts';
import { codeOf } from '../../src/domain/errors.ts';
import { machineId, witness } from '../../src/domain/ids.ts';
import type { MachineId, SessionId } from '../../src/domain/ids.ts';
import type { HoldKind, HoldRow, MachineRow } from '../../src/domain/machine.ts';
import { DEFAULT_LOSS, LADDER_RESET_MS, type LossPolicy } from '../../src/domain/policy.ts';
import { KEY, KEY_HEX, MINUTE, machineRow, PROVIDER, providedOf, startedAt } from './bmdb-rows.ts';

/** What the contract needs beside the port, to set up rows and to look at what was written. */
export interface BmdbHarness {
  readonly bmdb: Bmdb;
  /** The same database, as another daemon sees it. */
  readonly other: Bmdb;
  /** Work is left out: it needs a session. `request` is the raw installation request. */
  insert(row: MachineRow, request?: Uint8Array): Promise<void>;
  hold(hold: HoldRow): Promise<void>;
  freeze(scope: string, reason: string): Promise<void>;
  /** Lets time pass, for the database and for the local clock. */
  pass(ms: number): Promise<void>;
  /** Puts a session's deadline into the past, in the database only. */
  expireSession(id: SessionId): Promise<void>;
  /** Lines `process event cause`, oldest first. */
  history(id: MachineId): Promise<string[]>;
  /** Lines `kind reason`, oldest first. */
  events(id: MachineId): Promise<string[]>;
  close(): Promise<void>;
}

const DAY = 86_400_000;
const SIGNAL = new AbortController().signal;
const UNKNOWN = machineId('00000000-0000-4000-8000-00000000dead');
const STEADY: BackoffDescriptor = { initialMs: 60_000, exponent: 1, maximumMs: 0 };
const DOUBLING: BackoffDescriptor = { initialMs: 1_000, exponent: 2, maximumMs: 5_000 };

/** Code of the error that a call ends with; fails when it succeeds. */
async function refusedWith(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    return codeOf(error);
  }
  return expect.fail('the call succeeded');
}

export function bmdbContract(
  name: string,
  make: (loss?: LossPolicy) => Promise<BmdbHarness>,
): void {
  describe(`BMDB ${name}`, () => {
    let h: BmdbHarness;
    let session: BmdbSession;
    let rival: BmdbSession;
    const openOn = (bmdb: Bmdb, intervalMs = DAY) =>
      bmdb.openSession({ component: 'shepherd', runtimeInfo: 'host test', intervalMs });
    beforeEach(async () => {
      h = await make();
      session = await openOn(h.bmdb);
      rival = await openOn(h.other);
    });
    afterEach(async () => {
      await session.close();
      await rival.close();
      await h.close();
    });

    const now = async () => (await h.bmdb.scan(SIGNAL)).nowMs;
    const read = async (id: MachineId) => (await h.bmdb.readMachine(id, SIGNAL)).row!;
    const add = async (change: Partial<MachineRow> = {}, request?: Uint8Array) => {
      const row = machineRow(await now(), change);
      await h.insert(row, request);
      return row.machineId;
    };
    const addLost = async (change: Partial<MachineRow> = {}) =>
      add({ ...startedAt((await now()) - 40 * MINUTE), ...change });
    const beat = (id: MachineId, publicKey = KEY, bootId: string | null = null) =>
      h.other.heartbeats.recordHeartbeats([{ machineId: id, publicKey, bootId }]);

    describe('sessions', () => {
      it('live as long as they are poked', async () => {
        const short = await openOn(h.bmdb, 5_000);
        expect(short.remainingMs()).toBeGreaterThan(4_000);
        await h.pass(3_000);
        expect(short.remainingMs()).toBeLessThan(2_100);
        await short.poke();
        await h.pass(3_000);
        const work = await short.claim('UnitTest1', await add());
        await work.finish({ kind: 'nothing' });
        expect(short.signal.aborted).toBe(false);
        await short.close();
      });

      it('end by themselves: the signal aborts and every write is refused', async () => {
        const short = await openOn(h.bmdb, 5_000);
        const id = await add();
        const work = await short.claim('UnitTest1', id);
        await h.pass(5_001);
        await vi.waitUntil(() => short.signal.aborted);
        expect(codeOf(short.signal.reason)).toBe('session-expired');
        expect(short.remainingMs()).toBe(0);
        expect(await refusedWith(short.poke())).toBe('session-expired');
        expect(await refusedWith(short.claim('UnitTest2', id))).toBe('session-expired');
        expect(await refusedWith(work.finish({ kind: 'nothing' }))).toBe('session-expired');
        expect(await refusedWith(short.releaseWork(id))).toBe('session-expired');
        expect(
          await refusedWith(
            short.intents.open({ provider: PROVIDER, slotId: 'r1', hostname: 'h1' }),
          ),
        ).toBe('session-expired');
        await short.close();
      });

      it('that died in the database are noticed at the next write', async () => {
        const short = await openOn(h.bmdb, 60_000);
        await h.expireSession(short.sessionId);
        expect(await refusedWith(short.claim('UnitTest1', await add()))).toBe('session-expired');
        expect(short.signal.aborted).toBe(true);
        const poked = await openOn(h.bmdb, 60_000);
        await h.expireSession(poked.sessionId);
        expect(await refusedWith(poked.poke())).toBe('session-expired');
        expect(poked.signal.aborted).toBe(true);
        await short.close();
        await poked.close();
      });

      it('are listed while they live', async () => {
        const seen = async () => (await h.other.scan(SIGNAL)).sessions;
        expect(await seen()).toContainEqual({
          sessionId: session.sessionId,
          component: 'shepherd',
        });
        await h.expireSession(session.sessionId);
        const left = (await seen()).map((each) => each.sessionId);
        expect(left).toEqual([rival.sessionId]);
      });

      it('give back their work when they are closed, and may be closed twice', async () => {
        const id = await add();
        await rival.claim('ShepherdAgentStart', id);
        await rival.close();
        await rival.close();
        expect(rival.signal.aborted).toBe(true);
        expect(await h.history(id)).toEqual([
          'ShepherdAgentStart Started',
          'ShepherdAgentStart Canceled session closed',
        ]);
        await (await session.claim('ShepherdAgentStart', id)).cancel();
      });

      it('that are long dead are swept away, with their work', async () => {
        const id = await add();
        const short = await openOn(h.bmdb, 5_000);
        await short.claim('UnitTest1', id);
        await h.pass(14_000);
        expect((await h.other.sweep()).sessions).toBe(0);
        await h.pass(2_000);
        expect(await h.other.sweep()).toEqual({ sessions: 1, work: 1, permits: 0 });
        expect((await h.history(id)).at(-1)).toBe('UnitTest1 Canceled session expired');
        expect((await h.other.sweep()).sessions).toBe(0);
      });
    });

    describe('work', () => {
      it('excludes the same process, and processes of the same group', async () => {
        const id = await add();
        const work = await session.claim('UnitTest1', id);
        expect(await refusedWith(session.claim('UnitTest1', id))).toBe('work-conflict');
        expect(await refusedWith(rival.claim('UnitTest1', id))).toBe('work-conflict');
        const beside = await rival.claim('UnitTest2', id);
        const start = await session.claim('ShepherdAgentStart', id);
        expect(await refusedWith(rival.claim('ShepherdAccess', id))).toBe('work-conflict');
        expect(await refusedWith(rival.claim('ShepherdRecovery', id))).toBe('work-conflict');
        for (const each of [work, beside, start]) await each.cancel();
        await (await rival.claim('UnitTest1', id)).cancel();
      });

      it('shows the machine as it was at the claim', async () => {
        const id = await add();
        const work = await session.claim('ShepherdAgentStart', id);
        expect(work).toMatchObject({ process: 'ShepherdAgentStart', machineId: id });
        const row = await read(id);
        expect(work.row).toEqual(row);
        expect(row.work).toEqual([
          {
            process: 'ShepherdAgentStart',
            sessionId: session.sessionId,
            epoch: work.epoch,
            startedAtMs: expect.any(Number) as number,
          },
        ]);
      });

      it('is refused where there is nothing to do', async () => {
        expect(await refusedWith(session.claim('UnitTest1', UNKNOWN))).toBe('nothing-to-do');
        const bare = await add({ provided: null });
        expect(await refusedWith(session.claim('ShepherdAgentStart', bare))).toBe('nothing-to-do');
        const healthy = await add(startedAt(await now()));
        expect(await refusedWith(session.claim('ShepherdRecovery', healthy))).toBe('nothing-to-do');
      });

      it('of six machines is done once each by three workers', async () => {
        const third = await openOn(h.bmdb);
        const ids = await Promise.all(Array.from({ length: 6 }, () => add()));
        const turn = async (worker: BmdbSession, id: MachineId) => {
          try {
            const work = await worker.claim('ShepherdAgentStart', id);
            await work.finish(agentStarted());
          } catch (error) {
            expect(['work-conflict', 'nothing-to-do']).toContain(codeOf(error));
          }
        };
        await Promise.all(
          [session, rival, third].flatMap((worker) => ids.map((id) => turn(worker, id))),
        );
        for (const id of ids) {
          expect(await h.history(id)).toEqual([
            'ShepherdAgentStart Started',
            'ShepherdAgentStart Finished',
          ]);
        }
        await third.close();
      });

      it('ends once', async () => {
        const work = await session.claim('UnitTest1', await add());
        await work.finish({ kind: 'nothing' });
        expect(await refusedWith(work.finish({ kind: 'nothing' }))).toBe('already-finished');
        expect(await refusedWith(work.fail(STEADY, 'x'))).toBe('already-finished');
        await work.cancel();
        expect(await h.history(work.machineId)).toEqual([
          'UnitTest1 Started',
          'UnitTest1 Finished',
        ]);
      });

      it('may be cancelled twice, with a cause', async () => {
        const work = await session.claim('UnitTest1', await add());
        await work.cancel('no longer wanted');
        await work.cancel();
        expect((await h.history(work.machineId)).slice(1)).toEqual([
          'UnitTest1 Canceled no longer wanted',
        ]);
      });

      it('that was taken away writes nothing', async () => {
        const id = await add();
        const work = await session.claim('ShepherdAgentStart', id);
        await session.releaseWork(id);
        expect(await refusedWith(work.note({ kind: 'agentStartAttempt' }))).toBe('work-lost');
        expect(await refusedWith(work.finish(agentStarted()))).toBe('work-lost');
        expect(await refusedWith(work.fail(STEADY, 'x'))).toBe('work-lost');
        await work.cancel();
        const row = await read(id);
        expect([row.agentStarted, row.startAttempt, row.backoffs]).toEqual([null, null, []]);
        expect((await h.history(id)).at(-1)).toBe('ShepherdAgentStart Canceled released');
      });

      it('of a dead session is ignored, and taken over by the next claim', async () => {
        const id = await add();
        const short = await openOn(h.bmdb, 60_000);
        const old = await short.claim('ShepherdAgentStart', id);
        await h.expireSession(short.sessionId);
        expect((await read(id)).work).toEqual([]);
        const work = await rival.claim('ShepherdAgentStart', id);
        expect(BigInt(work.epoch)).toBeGreaterThan(BigInt(old.epoch));
        expect(await refusedWith(old.finish(agentStarted()))).toBe('session-expired');
        expect((await read(id)).agentStarted).toBeNull();
        await work.finish(agentStarted());
        expect(await h.history(id)).toEqual([
          'ShepherdAgentStart Started',
          'ShepherdAgentStart Canceled session expired',
          'ShepherdAgentStart Started',
          'ShepherdAgentStart Finished',
        ]);
        await short.close();
      });

      it('that failed waits longer each time, until it succeeds', async () => {
        const id = await add();
        for (const seconds of [1, 2, 4, 5, 5]) {
          await (await session.claim('UnitTest1', id)).fail(DOUBLING, `after ${seconds}`);
          const [backoff] = (await read(id)).backoffs;
          expect(backoff).toMatchObject({
            process: 'UnitTest1',
            lastIntervalSeconds: seconds,
            cause: `after ${seconds}`,
          });
          expect(await refusedWith(rival.claim('UnitTest1', id))).toBe('nothing-to-do');
          await h.pass(seconds * 1000 + 1);
        }
        await (await session.claim('UnitTest1', id)).finish({ kind: 'nothing' });
        expect((await read(id)).backoffs).toEqual([]);
        const work = await session.claim('UnitTest1', id);
        await work.fail(DOUBLING, 'again');
        expect((await read(id)).backoffs[0]?.lastIntervalSeconds).toBe(1);
        expect((await h.history(id)).at(-1)).toBe('UnitTest1 Failed again');
      });
    });

    describe('agent start', () => {
      it('records the agent and forgets the one before', async () => {
        const at = await now();
        const id = await add({
          heartbeat: { atMs: at - MINUTE, bootId: 'old' },
          startAttempt: { atMs: at - MINUTE, count: 2 },
        });
        const work = await session.claim('ShepherdAgentStart', id);
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
        expect(await h.events(id)).toEqual(['agentStarted no time source']);
        expect(await refusedWith(session.claim('ShepherdAgentStart', id))).toBe('nothing-to-do');
      });

      it('counts failures, and after six the ladder may take the machine', async () => {
        const id = await add();
        for (let count = 1; count <= 6; count++) {
          expect(await refusedWith(session.claim('ShepherdRecovery', id))).toBe('nothing-to-do');
          await (await session.claim('ShepherdAgentStart', id)).fail(STEADY, 'refused');
          expect((await read(id)).startAttempt?.count).toBe(count);
          await h.pass(MINUTE + 1);
        }
        const work = await session.claim('ShepherdRecovery', id);
        await work.note({ kind: 'recoveryAsked', rung: 'rebooting' });
        await work.finish({ kind: 'recovered', coolDown: STEADY });
        expect((await read(id)).startAttempt).toBeNull();
        expect((await h.events(id))[0]).toBe('workFailed ShepherdAgentStart: refused');
        await (await session.claim('ShepherdAgentStart', id)).cancel();
      });

      it('that was executed but never recorded leads to the ladder', async () => {
        const id = await add();
        const short = await openOn(h.bmdb, 60_000);
        await (await short.claim('ShepherdAgentStart', id)).note({ kind: 'agentStartAttempt' });
        expect((await read(id)).startAttempt).toMatchObject({ count: 0 });
        await h.expireSession(short.sessionId);
        await h.pass(29 * MINUTE);
        expect(await refusedWith(rival.claim('ShepherdRecovery', id))).toBe('nothing-to-do');
        await h.pass(2 * MINUTE);
        await (await rival.claim('ShepherdRecovery', id)).cancel();
        await short.close();
      });

      it('may park the machine', async () => {
        const id = await add();
        const work = await session.claim('ShepherdAgentStart', id);
        await work.fail(STEADY, 'host key', { kind: 'conflict', reason: 'key changed' });
        expect((await read(id)).quarantine).toEqual({
          kind: 'conflict',
          reason: 'key changed',
          untilMs: null,
        });
        expect((await h.events(id)).at(-1)).toBe('quarantined conflict: key changed');
        await h.pass(2 * MINUTE);
        expect(await refusedWith(session.claim('ShepherdAgentStart', id))).toBe('nothing-to-do');
      });

      it('is barred by a hold', async () => {
        const row = machineRow(await now());
        await h.insert(row);
        await h.hold(holdOn(row, 'no-start'));
        expect(await refusedWith(session.claim('ShepherdAgentStart', row.machineId))).toBe(
          'nothing-to-do',
        );
        expect((await h.bmdb.scan(SIGNAL)).holds).toEqual([holdOn(row, 'no-start')]);
      });
    });

    describe('recovery', () => {
      const asked = async (id: MachineId, worker = session): Promise<Work> => {
        const work = await worker.claim('ShepherdRecovery', id);
        await work.note({ kind: 'recoveryAsked', rung: 'rebooting' });
        return work;
      };

      it('remembers its steps, and makes the machine startable', async () => {
        const id = await addLost({ heartbeat: { atMs: (await now()) - 20 * MINUTE, bootId: 'b' } });
        const work = await asked(id);
        await work.note({ kind: 'recoveryAccepted', operationRef: 'op-1' });
        expect(await read(id)).toMatchObject({
          permit: true,
          recovery: { rung: 'rebooting', attempts: 1, operationRef: 'op-1', nextAtMs: null },
        });
        await work.finish({ kind: 'recovered', coolDown: STEADY });
        const row = await read(id);
        expect(row).toMatchObject({ agentStarted: null, heartbeat: null, permit: false, work: [] });
        expect(row.recovery?.nextAtMs).toBeGreaterThan(await now());
        expect((await h.events(id)).map((line) => line.split(' ')[0])).toEqual([
          'recoveryAsked',
          'recovered',
        ]);
        await (await rival.claim('ShepherdAgentStart', id)).cancel();
      });

      it('counts attempts on a rung, and begins anew on the next', async () => {
        const id = await addLost();
        const work = await asked(id);
        await work.note({ kind: 'recoveryAsked', rung: 'rebooting' });
        expect((await read(id)).recovery).toMatchObject({ rung: 'rebooting', attempts: 2 });
        await work.note({ kind: 'recoveryAsked', rung: 'powerCycling' });
        expect((await read(id)).recovery).toMatchObject({ rung: 'powerCycling', attempts: 1 });
      });

      it('stays within the budget, over all daemons', async () => {
        const ids = await Promise.all(Array.from({ length: 4 }, () => addLost()));
        const claims = await Promise.allSettled(
          ids.map((id, at) => (at % 2 ? rival : session).claim('ShepherdRecovery', id)),
        );
        const granted = claims.filter((each) => each.status === 'fulfilled');
        expect(granted).toHaveLength(1);
        for (const each of claims) {
          if (each.status === 'rejected') expect(codeOf(each.reason)).toBe('no-permit');
        }
        const { machines } = await h.bmdb.scan(SIGNAL);
        expect(machines.filter((row) => row.permit)).toHaveLength(1);
        const first = granted[0]!.value;
        await first.note({ kind: 'recoveryAsked', rung: 'rebooting' });
        await first.finish({ kind: 'recovered', coolDown: STEADY });
        const next = ids.find((id) => id !== first.machineId)!;
        await (await session.claim('ShepherdRecovery', next)).cancel();
      });

      it('may take a share of each location and provider at once', async () => {
        const at = await now();
        const group = async (location: string, count: number) => {
          for (let each = 0; each < count; each++) {
            const name = `${location}-${each}`;
            await add({ ...startedAt(at), provided: providedOf(name, { location }) });
          }
          const provided = providedOf(`${location}-lost`, { location });
          return addLost({ provided });
        };
        const a = await group('a', 20);
        const b = await group('b', 19);
        const more = await addLost({ provided: providedOf('a-more', { location: 'a' }) });
        const works = [await session.claim('ShepherdRecovery', a)];
        expect(await refusedWith(session.claim('ShepherdRecovery', more))).toBe('no-permit');
        works.push(await session.claim('ShepherdRecovery', b));
        for (const work of works) await work.cancel();
      });

      it('that failed keeps its permit while it cools down, longer each time', async () => {
        const id = await addLost();
        for (const seconds of [1, 2, 4]) {
          await (await asked(id)).fail(DOUBLING, 'no evidence');
          const row = await read(id);
          expect(row.permit).toBe(true);
          expect(row.recovery!.nextAtMs! - (await now())).toBeGreaterThan((seconds - 1) * 1000);
          expect(await refusedWith(session.claim('ShepherdRecovery', id))).toBe('nothing-to-do');
          await h.pass(seconds * 1000 + 1);
        }
        const work = await asked(id);
        await work.finish({ kind: 'recovered', coolDown: DOUBLING });
        const left = (await read(id)).recovery!.nextAtMs! - (await now());
        expect(left).toBeGreaterThan(4_000);
        expect(left).toBeLessThanOrEqual(5_000);
      });

      it('gives the permit back when the machine is parked', async () => {
        const id = await addLost();
        const work = await asked(id);
        await work.fail(STEADY, 'end of the ladder', { kind: 'needsHuman', reason: 'dead' });
        expect((await read(id)).permit).toBe(false);
      });

      it('gives the permit back when nothing was asked', async () => {
        const id = await addLost();
        await (await session.claim('ShepherdRecovery', id)).cancel();
        expect((await read(id)).permit).toBe(false);
        await (await asked(id)).cancel();
        expect((await read(id)).permit).toBe(true);
      });

      it('is not asked for when the machine came back', async () => {
        const id = await addLost();
        const work = await session.claim('ShepherdRecovery', id);
        await beat(id);
        expect(await refusedWith(work.note({ kind: 'recoveryAsked', rung: 'rebooting' }))).toBe(
          'nothing-to-do',
        );
        expect((await read(id)).recovery).toBeNull();
        await work.cancel();
      });

      it('is barred by a hold, and by a freeze', async () => {
        const row = machineRow(await now(), startedAt((await now()) - 40 * MINUTE));
        await h.insert(row);
        await h.freeze('fleet', 'too many at once');
        expect(await refusedWith(session.claim('ShepherdRecovery', row.machineId))).toBe(
          'no-permit',
        );
        await h.hold(holdOn(row, 'no-recover'));
        expect(await refusedWith(session.claim('ShepherdRecovery', row.machineId))).toBe(
          'nothing-to-do',
        );
      });

      it('ends its episode with heartbeats', async () => {
        const id = await addLost();
        await (await asked(id)).fail(STEADY, 'no evidence');
        await beat(id);
        await beat(id);
        expect((await read(id)).permit).toBe(true);
        await beat(id);
        expect(await read(id)).toMatchObject({ permit: false, recovery: { rung: 'rebooting' } });
        for (let passedMs = 0; passedMs <= 30 * MINUTE; passedMs += 50_000) {
          await h.pass(50_000);
          await beat(id);
        }
        expect((await read(id)).recovery).toBeNull();
      });

      it('forgets it after heartbeats for as long as the policy says', async () => {
        await session.close();
        await rival.close();
        await h.close();
        const resetMs = 5 * MINUTE;
        expect(resetMs).toBeLessThan(LADDER_RESET_MS);
        h = await make({ ...DEFAULT_LOSS, ladderResetMs: resetMs });
        session = await openOn(h.bmdb);
        rival = await openOn(h.other);
        const id = await addLost();
        await (await asked(id)).fail(STEADY, 'no evidence');
        await beat(id);
        for (let passedMs = 50_000; passedMs < resetMs; passedMs += 50_000) {
          await h.pass(50_000);
          await beat(id);
          expect((await read(id)).recovery, `after ${passedMs} ms`).not.toBeNull();
        }
        await h.pass(50_000);
        await beat(id);
        expect((await read(id)).recovery).toBeNull();
      });

      it('that was refused for certain is not under way, and counts if it says so', async () => {
        const id = await addLost();
        const work = await asked(id);
        await work.note({ kind: 'recoveryAccepted', operationRef: 'op-1' });
        await work.note({ kind: 'recoveryRefused', counts: true });
        const refused = { rung: 'rebooting', askedAtMs: null, operationRef: null };
        expect((await read(id)).recovery).toMatchObject({ ...refused, attempts: 1 });
        await work.note({ kind: 'recoveryAsked', rung: 'rebooting' });
        expect((await read(id)).recovery).toMatchObject({ attempts: 2 });
        await work.note({ kind: 'recoveryRefused', counts: false });
        expect((await read(id)).recovery).toMatchObject({ ...refused, attempts: 1 });
        await work.note({ kind: 'recoveryRefused', counts: false });
        await work.note({ kind: 'recoveryRefused', counts: false });
        expect((await read(id)).recovery).toMatchObject({ attempts: 0 });
        await work.cancel();
        expect((await read(id)).permit, 'nothing is under way').toBe(false);
      });

      it('of which nobody knows what became stays noted, and does not count', async () => {
        const id = await addLost();
        const work = await asked(id);
        const { askedAtMs } = (await read(id)).recovery!;
        await work.note({ kind: 'recoveryUnclear' });
        expect((await read(id)).recovery).toMatchObject({ attempts: 0, askedAtMs });
        await work.note({ kind: 'recoveryUnclear' });
        expect((await read(id)).recovery).toMatchObject({ attempts: 0, askedAtMs });
        await work.cancel();
      });

      it('that was never asked for cannot be refused', async () => {
        const id = await addLost();
        const work = await session.claim('ShepherdRecovery', id);
        await work.note({ kind: 'recoveryRefused', counts: true });
        expect((await read(id)).recovery).toBeNull();
        await work.cancel();
        expect(await refusedWith(work.note({ kind: 'recoveryRefused', counts: true }))).toBe(
          'work-lost',
        );
      });

      it('that succeeded leaves no request behind, and keeps the count', async () => {
        const id = await addLost();
        const work = await asked(id);
        await work.note({ kind: 'recoveryAccepted', operationRef: 'op-1' });
        await work.finish({ kind: 'recovered', coolDown: STEADY });
        expect((await read(id)).recovery).toMatchObject({
          ...{ rung: 'rebooting', attempts: 1, askedAtMs: null, operationRef: null },
        });
      });

      it('takes back permits of machines that no longer need one', async () => {
        const row = machineRow(await now(), startedAt((await now()) - 40 * MINUTE));
        await h.insert(row);
        await (await asked(row.machineId)).fail(STEADY, 'no evidence');
        await h.pass(2 * MINUTE);
        expect((await h.bmdb.sweep()).permits).toBe(0);
        await h.hold(holdOn(row, 'no-recover'));
        expect((await h.bmdb.sweep()).permits).toBe(1);
        expect((await read(row.machineId)).permit).toBe(false);
      });
    });

    describe('intents', () => {
      const slot = { provider: PROVIDER, slotId: 'reservation-1', hostname: 'm-1' };
      const unsettled = async () => (await h.other.scan(SIGNAL)).intents;

      it('are one per slot', async () => {
        const intent = await session.intents.open(slot);
        expect(intent).toMatchObject({
          ...slot,
          ...{ state: 'open', ambiguous: false, attempts: 0, lastError: null },
          ...{ sessionId: session.sessionId, sessionAlive: true },
        });
        expect(await refusedWith(session.intents.open(slot))).toBe('work-conflict');
        expect(await refusedWith(rival.intents.open(slot))).toBe('work-conflict');
        expect(await unsettled()).toEqual([intent]);
        const races = await Promise.allSettled(
          [session, rival].map(({ intents }) => intents.open({ ...slot, slotId: 'raced' })),
        );
        expect(races.filter((each) => each.status === 'fulfilled')).toHaveLength(1);
      });

      it('show their progress', async () => {
        const { witness: tag } = await session.intents.open(slot);
        await session.intents.progress(tag, { attempts: 1 });
        const change = { attempts: 2, ambiguous: true, unresolved: true, lastError: 'timeout' };
        await session.intents.progress(tag, change);
        expect(await unsettled()).toMatchObject([
          { attempts: 2, ambiguous: true, state: 'unresolved', lastError: 'timeout' },
        ]);
        await session.intents.progress(tag, { unresolved: false });
        expect(await unsettled()).toMatchObject([{ attempts: 2, ambiguous: true, state: 'open' }]);
        expect(await refusedWith(rival.intents.progress(tag, { attempts: 3 }))).toBe(
          'work-conflict',
        );
      });

      it('become machines, once', async () => {
        const intent = await session.intents.open(slot);
        const provided = providedOf('1');
        const id = await session.intents.adopt(intent.witness, provided);
        expect(id).toBe(intent.machineId);
        expect(await session.intents.adopt(intent.witness, provided)).toBe(id);
        expect(await rival.intents.adopt(intent.witness, provided)).toBe(id);
        expect(await read(id)).toMatchObject({ machineId: id, provided });
        expect(await h.events(id)).toEqual([`adopted device device-1, intent ${intent.witness}`]);
        expect(await unsettled()).toEqual([]);
        expect((await h.bmdb.scan(SIGNAL)).machines).toHaveLength(1);
        expect(await refusedWith(session.intents.open(slot))).toBe('work-conflict');
      });

      it('cannot adopt a device that is taken', async () => {
        const first = await session.intents.open(slot);
        await session.intents.adopt(first.witness, providedOf('1'));
        const second = await session.intents.open({ ...slot, slotId: 'reservation-2' });
        const stolen = providedOf('1', { reservationId: 'reservation-2' });
        expect(await refusedWith(session.intents.adopt(second.witness, stolen))).toBe(
          'work-conflict',
        );
        expect(await unsettled()).toHaveLength(1);
      });

      it('of a dead session are resumed by another', async () => {
        const short = await openOn(h.bmdb, 60_000);
        const intent = await short.intents.open(slot);
        expect(await refusedWith(rival.intents.resume(intent.witness))).toBe('work-conflict');
        await h.expireSession(short.sessionId);
        expect(await unsettled()).toMatchObject([{ sessionAlive: false }]);
        const resumed = await rival.intents.resume(intent.witness);
        expect(resumed).toEqual({ ...intent, sessionId: rival.sessionId, sessionAlive: true });
        expect(await rival.intents.resume(intent.witness)).toEqual(resumed);
        expect(await unsettled()).toEqual([resumed]);
        await rival.intents.adopt(intent.witness, providedOf('1'));
        expect(await refusedWith(rival.intents.resume(intent.witness))).toBe('work-conflict');
        await short.close();
      });

      it('that led to nothing put the slot on the shelf, longer each time', async () => {
        for (const hours of [1, 2, 4]) {
          const { witness: tag } = await session.intents.open(slot);
          const end = { state: 'failed', cause: 'no luck', penaltyMs: 60 * MINUTE } as const;
          await session.intents.end(tag, end);
          await session.intents.end(tag, end);
          const snapshot = await h.bmdb.scan(SIGNAL);
          expect(snapshot.intents).toEqual([]);
          expect(snapshot.penalties).toEqual([
            {
              ...{ provider: PROVIDER, slotId: slot.slotId, cause: 'no luck' },
              untilMs: expect.closeTo(snapshot.nowMs + hours * 60 * MINUTE, -4) as number,
            },
          ]);
          expect(await refusedWith(session.intents.open(slot))).toBe('nothing-to-do');
          expect(await refusedWith(session.intents.adopt(tag, providedOf('1')))).toBe(
            'work-conflict',
          );
          await h.pass(hours * 60 * MINUTE + 1);
          expect((await h.bmdb.scan(SIGNAL)).penalties).toEqual([]);
        }
        const { witness: tag } = await session.intents.open(slot);
        await session.intents.end(tag, { state: 'abandoned', cause: 'never seen' });
        expect((await h.bmdb.scan(SIGNAL)).penalties).toEqual([]);
      });

      it('are not opened under a hold, and not known by another name', async () => {
        await h.hold({
          ...{ provider: PROVIDER, slotId: slot.slotId, kind: 'no-allocate' },
          ...{ setBy: 'ann', reason: 'being moved', untilMs: null },
        });
        expect(await refusedWith(session.intents.open(slot))).toBe('nothing-to-do');
        const unknown = witness('00000000-0000-4000-8000-00000000beef');
        expect(await refusedWith(session.intents.adopt(unknown, providedOf('1')))).toBe(
          'not-found',
        );
        expect(await refusedWith(session.intents.resume(unknown))).toBe('work-conflict');
      });
    });

    describe('heartbeats', () => {
      const report = (generation: number, result: 'Success' | 'Error' = 'Success') => ({
        ...{ generation: BigInt(generation), result },
        raw: new Uint8Array([9]),
      });
      const asking = (generation: number): Pick<MachineRow, 'installation'> => ({
        installation: {
          requestGeneration: BigInt(generation),
          handedOutAtMs: null,
          reportGeneration: null,
          reportResult: null,
        },
      });
      const send = async (id: MachineId, installationReport: ReturnType<typeof report>) => {
        const record = { machineId: id, publicKey: KEY, bootId: null, installationReport };
        return (await h.bmdb.heartbeats.recordHeartbeats([record]))[0]!;
      };

      it('are taken from the agent that was started, and from nobody else', async () => {
        const at = await now();
        const id = await add(startedAt(at - MINUTE));
        const idle = await add();
        const other = new Uint8Array(32).fill(8);
        const outcomes = await h.bmdb.heartbeats.recordHeartbeats([
          { machineId: id, publicKey: other, bootId: null },
          { machineId: UNKNOWN, publicKey: KEY, bootId: null },
          { machineId: id, publicKey: KEY, bootId: 'boot-1' },
          { machineId: idle, publicKey: KEY, bootId: null },
        ]);
        expect(outcomes.map((each) => each.kind)).toEqual([
          'unauthenticated',
          'unauthenticated',
          'accepted',
          'unauthenticated',
        ]);
        expect(outcomes[2]).toMatchObject({ installationRequest: null });
        const { heartbeat } = await read(id);
        expect(heartbeat).toMatchObject({ bootId: 'boot-1' });
        expect(heartbeat!.atMs).toBeGreaterThanOrEqual(at);
        expect((await read(idle)).heartbeat).toBeNull();
        expect(await h.bmdb.heartbeats.recordHeartbeats([])).toEqual([]);
      });

      it('of a forged key leave no trace', async () => {
        const id = await add(startedAt(await now()));
        expect(await beat(id, new Uint8Array(32))).toEqual([{ kind: 'unauthenticated' }]);
        expect((await read(id)).heartbeat).toBeNull();
      });

      it('may come twice in one batch', async () => {
        const id = await add(startedAt(await now()));
        const record = { machineId: id, publicKey: KEY, bootId: null };
        const twice = await h.bmdb.heartbeats.recordHeartbeats([
          record,
          { ...record, bootId: 'boot-2' },
        ]);
        expect(twice.map((each) => each.kind)).toEqual(['accepted', 'accepted']);
        expect((await read(id)).heartbeat?.bootId).toBe('boot-2');
      });

      it('count no longer once the agent was forgotten', async () => {
        const id = await addLost();
        const work = await session.claim('ShepherdRecovery', id);
        await work.note({ kind: 'recoveryAsked', rung: 'rebooting' });
        await work.finish({ kind: 'recovered', coolDown: STEADY });
        expect(await beat(id)).toEqual([{ kind: 'unauthenticated' }]);
      });

      it('hand out what is to be installed, until it is reported', async () => {
        const raw = new Uint8Array([4, 5, 6]);
        const id = await add({ ...startedAt(await now()), ...asking(3) }, raw);
        const ask = async () => {
          const [outcome] = await beat(id);
          if (outcome?.kind !== 'accepted') return expect.fail('the heartbeat was refused');
          return outcome.installationRequest && [...outcome.installationRequest];
        };
        expect(await ask()).toEqual([4, 5, 6]);
        const first = (await read(id)).installation.handedOutAtMs;
        expect(first).not.toBeNull();
        await h.pass(MINUTE);
        expect(await ask()).toEqual([4, 5, 6]);
        const again = (await read(id)).installation.handedOutAtMs;
        expect((await now()) - again!).toBeGreaterThanOrEqual(MINUTE);
        expect(await send(id, report(3))).toMatchObject({ installationRequest: null });
        expect(await ask()).toBeNull();
        expect((await read(id)).installation).toMatchObject({
          reportGeneration: 3n,
          reportResult: 'Success',
        });
      });

      it('tell how an installation went only for the one that was asked for', async () => {
        const id = await add({ ...startedAt(await now()), ...asking(3) });
        const stored = async () => (await read(id)).installation.reportResult;
        expect((await send(id, report(2))).kind).toBe('accepted');
        expect(await stored()).toBeNull();
        expect((await send(id, report(4))).kind).toBe('invalid');
        expect(await stored()).toBeNull();
        expect((await read(id)).heartbeat).not.toBeNull();
        expect((await send(id, report(3, 'Error'))).kind).toBe('accepted');
        expect(await stored()).toBe('Error');
        await send(id, report(3, 'Success'));
        await send(id, report(3, 'Error'));
        expect(await stored()).toBe('Success');
        const idle = await add(startedAt(await now()));
        expect((await send(idle, report(1))).kind).toBe('accepted');
        expect((await read(idle)).installation.reportGeneration).toBeNull();
      });

      it('take a hardware report', async () => {
        const id = await add(startedAt(await now()));
        const record = { machineId: id, publicKey: KEY, bootId: null };
        for (const hardwareReport of [new Uint8Array([1]), new Uint8Array([2, 3])]) {
          const [outcome] = await h.bmdb.heartbeats.recordHeartbeats([
            { ...record, hardwareReport },
          ]);
          expect(outcome?.kind).toBe('accepted');
        }
      });
    });

    describe('what is provided', () => {
      it('changes only where something is given', async () => {
        const id = await add();
        const before = (await read(id)).provided!;
        await session.updateProvided(id, { status: 'Stopped' });
        expect((await read(id)).provided).toEqual({ ...before, status: 'Stopped' });
        await session.updateProvided(id, { address: null, location: 'la' });
        expect((await read(id)).provided).toEqual({
          ...{ ...before, status: 'Stopped', address: null, location: 'la' },
        });
        await session.updateProvided(id, {});
        expect(await refusedWith(session.updateProvided(UNKNOWN, { status: 'Running' }))).toBe(
          'not-found',
        );
      });

      it('gives a permit back when the provider misses the machine', async () => {
        const id = await addLost({ permit: true });
        await session.updateProvided(id, { status: 'Missing' });
        expect((await read(id)).permit).toBe(false);
        expect(await refusedWith(session.claim('ShepherdRecovery', id))).toBe('nothing-to-do');
      });
    });

    describe('reading', () => {
      it('finds nothing where there is nothing', async () => {
        expect((await h.bmdb.readMachine(UNKNOWN, SIGNAL)).row).toBeNull();
        expect(await h.bmdb.scan(SIGNAL)).toMatchObject({
          ...{ machines: [], intents: [], holds: [], penalties: [] },
        });
      });

      it('stops when it is told to', async () => {
        const stopped = AbortSignal.abort(new Error('enough'));
        expect(await refusedWith(h.bmdb.scan(stopped))).toBe('cancelled');
        expect(await refusedWith(h.bmdb.readMachine(UNKNOWN, stopped))).toBe('cancelled');
      });

      it('is worth repeating after a wake', async () => {
        let wakes = 0;
        const subscription = h.other.wakes$.subscribe(() => (wakes += 1));
        const work = await session.claim('UnitTest1', await add());
        await vi.waitUntil(() => wakes > 0);
        const before = wakes;
        await work.finish({ kind: 'nothing' });
        await vi.waitUntil(() => wakes > before);
        subscription.unsubscribe();
      });
    });
  });
}

const agentStarted = (warnings: readonly string[] = []) => ({
  kind: 'agentStarted' as const,
  publicKey: KEY,
  bootId: 'boot-2',
  hostKey: 'host-key',
  warnings,
});

const holdOn = (row: MachineRow, kind: HoldKind): HoldRow => ({
  provider: PROVIDER,
  slotId: row.provided!.reservationId!,
  ...{ kind, setBy: 'ann', reason: 'being looked at', untilMs: null },
});
