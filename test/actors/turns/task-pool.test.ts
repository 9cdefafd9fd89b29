import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  createOrphanWatch,
  createTaskPool,
  type TaskPool,
  type Kind,
} from '../../../src/actors/turns/turns.ts';
import type { SessionKeeper } from '../../../src/actors/session-keeper.ts';
import type { BmdbSession, Work } from '../../../src/adapters/bmdb/port.ts';
import type { ShellSession } from '../../../src/adapters/ssh/port.ts';
import { Unreachable } from '../../../src/domain/errors.ts';
import { sessionId, slot, type Slot } from '../../../src/domain/ids.ts';
import type { LiveWork } from '../../../src/domain/machine.ts';
import { MACHINE, machineRow, slotFacts } from '../../support/facts.ts';
import { recordingLog, type RecordingLog } from '../../doubles/recording-log.ts';
import { advance, createSimulatedClock, settled } from '../../doubles/simulated-clock.ts';
import type { VirtualClock } from '../../doubles/simulated-clock.ts';

const RACK = slot('stub', 'rack-1');
const OTHER = slot('stub', 'rack-2');
const forever = new AbortController().signal;

let clock: VirtualClock;
let taskPool: TaskPool;
let log: RecordingLog;
beforeEach(() => {
  clock = createSimulatedClock();
  log = recordingLog();
  taskPool = createTaskPool({
    places: { agentStart: 1, recovery: 1, deprovision: 1 },
    unusedMs: 5_000,
    clock,
    log,
  });
});
afterEach(async () => {
  for (const each of [RACK, OTHER]) taskPool.end(each);
  await settled();
  expect(taskPool.busy).toBe(0);
  expect(clock.pending).toBe(0);
});

const workOf = (cancel: () => Promise<void>) => ({ cancel }) as unknown as Work;
const begun = async (name: Slot, kind: Kind = 'agentStart') => {
  await taskPool.grant(name, kind, forever);
  return taskPool.begin(name);
};
const granted = (name: Slot, kind: Kind = 'agentStart', signal = forever) => {
  const state = { done: false, refused: false };
  taskPool.grant(name, kind, signal).then(
    () => (state.done = true),
    () => (state.refused = true),
  );
  return state;
};

describe('a turn in the task pool', () => {
  test('must be granted before it begins', async () => {
    expect(() => taskPool.begin(RACK)).toThrow('no turn is held');
    expect(() => taskPool.turn(RACK)).toThrow('no turn is held');
    const turn = await begun(RACK);
    expect(taskPool.turn(RACK)).toBe(turn);
    expect(turn.signal.aborted).toBe(false);
  });

  test('is taken back when it does not begin', async () => {
    await taskPool.grant(RACK, 'agentStart', forever);
    const other = granted(OTHER);
    await advance(clock, 4_999);
    expect(other.done).toBe(false);
    await advance(clock, 1);
    expect(other.done).toBe(true);
    expect(() => taskPool.begin(RACK)).toThrow('no turn is held');
    const { signal } = taskPool.begin(OTHER);
    await advance(clock, 60_000);
    expect(signal.aborted, 'what was begun is not').toBe(false);
  });

  test('ends with its I/O, connection, work and place', async () => {
    const turn = await begun(RACK);
    const ended: string[] = [];
    turn.held.shell = { close: () => ended.push('shell') } as unknown as ShellSession;
    turn.held.work = workOf(async () => void ended.push('work'));
    turn.signal.addEventListener('abort', () => ended.push('signal'));
    const other = granted(OTHER);
    taskPool.end(RACK);
    await settled();
    expect(ended).toEqual(['signal', 'shell', 'work']);
    expect(turn.signal.reason).toMatchObject({ code: 'cancelled' });
    expect(other.done).toBe(true);
  });

  test('reports work that cannot be cancelled', async () => {
    (await begun(RACK)).held.work = workOf(() => Promise.reject(new Unreachable('no database')));
    taskPool.end(RACK);
    await settled();
    expect(log.count('work could not be cancelled')).toBe(1);
  });

  test('can leave its place early, once', async () => {
    await begun(RACK);
    taskPool.leavePlace(RACK);
    taskPool.leavePlace(RACK);
    const other = granted(OTHER);
    await settled();
    expect(other.done).toBe(true);
    const third = granted(slot('stub', 'rack-3'));
    taskPool.end(RACK);
    await settled();
    expect(third.done).toBe(false);
    taskPool.end(OTHER);
    await settled();
    expect(third.done).toBe(true);
    taskPool.end(slot('stub', 'rack-3'));
  });

  test('ends the earlier turn when it is granted again', async () => {
    const before = await begun(RACK, 'recovery');
    await taskPool.grant(RACK, 'agentStart', forever);
    expect(before.signal.aborted).toBe(true);
    expect(taskPool.begin(RACK).kind).toBe('agentStart');
    await begun(OTHER, 'recovery');
  });

  test.each(['a free place', 'a place that is taken'])(
    'is passed on when it is no longer wanted (%s)',
    async (of) => {
      const before = of === 'a free place' ? null : await begun(OTHER);
      const unwanted = new AbortController();
      const refused = granted(RACK, 'agentStart', unwanted.signal);
      const patient = before && granted(slot('stub', 'rack-3'));
      unwanted.abort();
      await settled();
      const late = granted(RACK, 'agentStart', unwanted.signal);
      await settled();
      expect([refused.refused, late.refused]).toEqual([true, true]);
      if (before) taskPool.end(OTHER);
      await settled();
      if (patient) expect(patient.done).toBe(true);
      taskPool.end(slot('stub', 'rack-3'));
      await begun(OTHER);
    },
  );

  test('goes to the oldest attempt first, then by machine id, then by order of asking', async () => {
    await begun(OTHER);
    const order: string[] = [];
    const asks = [
      ...[['b', 2_000] as const, ['c', 1_000] as const, ['a', 1_000] as const],
      ...[['e', null] as const, ['d', null] as const, ['a', 1_000] as const],
    ];
    const racks = asks.map(([machineId, lastAttemptMs], at) => {
      const rack = slot('stub', `rack-${at}`);
      const seniority = { machineId, lastAttemptMs };
      void taskPool.grant(rack, 'agentStart', forever, seniority).then(() => order.push(rack));
      return rack;
    });
    taskPool.end(OTHER);
    for (let given = 0; given < asks.length; given += 1) {
      await settled();
      taskPool.end(order.at(-1) as Slot);
    }
    expect(order).toEqual([4, 3, 2, 5, 1, 0].map((at) => racks[at]));
  });
});

describe('a drain of the task pool', () => {
  test('lets work end by itself and refuses waiting machines', async () => {
    await begun(RACK);
    const waiting = granted(OTHER);
    let drained = false;
    void taskPool.drain(10_000).then(() => (drained = true));
    await advance(clock, 5_000);
    expect({ drained, refused: waiting.refused }).toEqual({ drained: false, refused: true });
    taskPool.end(RACK);
    await settled();
    expect(drained).toBe(true);
  });

  test('cancels work that takes too long and waits until that is recorded', async () => {
    const turn = await begun(RACK);
    let written!: () => void;
    turn.held.work = workOf(() => new Promise((resolve) => (written = resolve)));
    let drained = false;
    void taskPool.drain(10_000).then(() => (drained = true));
    await advance(clock, 10_000);
    expect({ aborted: turn.signal.aborted, drained }).toEqual({ aborted: true, drained: false });
    written();
    await settled();
    expect(drained).toBe(true);
  });

  test('does not use a place that was granted at the moment of the stop', async () => {
    const late = taskPool.grant(RACK, 'agentStart', forever);
    const drained = taskPool.drain(1_000);
    await expect(late).rejects.toMatchObject({ code: 'cancelled' });
    await drained;
    expect(taskPool.busy).toBe(0);
  });
});

test('loses no place, in any order of events', async () => {
  const racks = ['a', 'b', 'c', 'd'].map((name) => slot('stub', name));
  const rack = fc.constantFrom(...racks);
  const kind = fc.constantFrom<Kind>('agentStart', 'recovery');
  const step = fc.oneof(
    fc.record({ do: fc.constant('grant' as const), rack, kind }),
    fc.record({ do: fc.constantFrom('begin', 'leave', 'end', 'abort'), rack }),
    fc.record({ do: fc.constant('wait' as const), rack }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const aborts = new Map<Slot, AbortController>();
      const own = createTaskPool({
        places: { agentStart: 2, recovery: 1, deprovision: 1 },
        unusedMs: 5_000,
        clock,
        log,
      });
      for (const each of steps) {
        const controller = aborts.get(each.rack) ?? new AbortController();
        aborts.set(each.rack, controller);
        if (each.do === 'grant' && 'kind' in each) {
          own.grant(each.rack, each.kind, controller.signal).catch(() => undefined);
        } else if (each.do === 'begin') {
          try {
            own.begin(each.rack);
          } catch (error) {
            expect(error).toMatchObject({ code: 'cancelled' });
          }
        } else if (each.do === 'leave') own.leavePlace(each.rack);
        else if (each.do === 'end') own.end(each.rack);
        else if (each.do === 'wait') await advance(clock, 2_000);
        else {
          controller.abort();
          aborts.delete(each.rack);
        }
        await settled();
      }
      for (const controller of aborts.values()) controller.abort();
      await settled();
      for (const each of racks) own.end(each);
      await settled();
      for (const each of racks) own.end(each);
      for (const each of racks.slice(0, 2)) await own.grant(each, 'agentStart', forever);
      await own.grant(racks[2]!, 'recovery', forever);
      expect(own.busy).toBe(3);
      const drained = own.drain(0);
      await advance(clock, 1);
      await drained;
      expect(own.busy).toBe(0);
    }),
    { numRuns: 40 },
  );
});

describe('work that no turn holds', () => {
  const [SELF, STRANGER] = [1, 2].map((at) =>
    sessionId(`00000000-0000-4000-8000-00000000000${at}`),
  );
  let released: unknown[];
  let look: (...work: readonly Partial<LiveWork>[]) => Promise<void>;
  beforeEach(() => {
    released = [];
    const session = {
      sessionId: SELF,
      releaseWork: async (...named: unknown[]) => void released.push(named),
    } as Partial<BmdbSession> as BmdbSession;
    const keeper = { current: () => session } as Partial<SessionKeeper> as SessionKeeper;
    const watch = createOrphanWatch({ keeper, taskPool, log });
    const ours = { process: 'ShepherdAgentStart', sessionId: SELF!, startedAtMs: 0 } as const;
    look = (...work) => {
      const row = machineRow({ work: work.map((each) => ({ ...ours, epoch: '1', ...each })) });
      return watch(new Map([[RACK, slotFacts({ slot: RACK, row })]]));
    };
  });

  test('is released by its epoch when found twice; a later claim is different', async () => {
    await look({ epoch: '6' });
    await look({ epoch: '7' });
    expect(released).toEqual([]);
    await look({ epoch: '7' });
    expect(released).toEqual([[MACHINE, '7']]);
  });

  test('excludes work of turns, of other daemons and of tests', async () => {
    await begun(RACK);
    for (let looks = 0; looks < 2; looks += 1) await look({});
    taskPool.end(RACK);
    const foreign = [{ sessionId: STRANGER! }, { process: 'UnitTest1' }] as const;
    for (let looks = 0; looks < 2; looks += 1) await look(...foreign);
    expect(released).toEqual([]);
  });
});
