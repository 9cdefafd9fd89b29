import { afterEach, beforeEach, expect, test } from 'vitest';
import { awaitTurn } from '../../../src/actors/turns/await-turn.ts';
import { createTaskPool, type TaskPool } from '../../../src/actors/turns/task-pool.ts';
import { createPermitQueue, type PermitQueue } from '../../../src/actors/turns/permit-queue.ts';
import type { SessionKeeper } from '../../../src/actors/session-keeper.ts';
import type { BmdbSession } from '../../../src/adapters/bmdb/port.ts';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { Cancelled } from '../../../src/domain/errors.ts';
import { machineId, sessionId, slot, type SessionId, type Slot } from '../../../src/domain/ids.ts';
import type { SlotFacts } from '../../../src/domain/machine.ts';
import { DEFAULT_BUDGET } from '../../../src/domain/policy.ts';
import { rankOf } from '../../../src/domain/preference.ts';
import type { Work } from '../../../src/machines/lifecycle.ts';
import { agentStarted, machineRow, NOW_MS, SESSION, SLOT, slotFacts } from '../../support/facts.ts';
import { runService } from '../../support/run-service.ts';
import { advance, createSimulatedClock, settled } from '../../doubles/simulated-clock.ts';
import type { VirtualClock } from '../../doubles/simulated-clock.ts';

let clock: VirtualClock;
let taskPool: TaskPool;
let permits: PermitQueue;
let sessions: SessionId[];
let facts: Map<Slot, SlotFacts>;
let alive: { resolve(): void };
let whenAlive: SessionKeeper['whenAlive'];

beforeEach(() => {
  clock = createSimulatedClock();
  const places = { agentStart: 1, recovery: 1, deprovision: 1 };
  taskPool = createTaskPool({ places, unusedMs: 5_000, clock, log: silentLog });
  permits = createPermitQueue({
    budget: DEFAULT_BUDGET,
    barOf: () => null,
    interrupts: () => true,
  });
  sessions = [SESSION];
  facts = new Map();
  const session = { sessionId: SESSION } as BmdbSession;
  whenAlive = async () => session;
  alive = { resolve: () => undefined };
});
afterEach(() => {
  taskPool.end(SLOT);
  expect(clock.pending).toBe(0);
});

const openLater = () => {
  whenAlive = (signal) =>
    new Promise((resolve, reject) => {
      alive.resolve = () => resolve({ sessionId: SESSION } as BmdbSession);
      signal.addEventListener('abort', () => reject(new Cancelled('not waiting')));
    });
};
function wait(next: Work, setbacks = 0, at: Slot = SLOT) {
  const logic = awaitTurn({
    taskPool,
    permits,
    keeper: { whenAlive } as SessionKeeper,
    sessions: () => sessions,
    facts: () => facts,
    headStartMs: 1_000,
    clock,
    random: { next: () => 0.5, uuid: () => '' },
  });
  const state = { granted: false };
  const run = runService(logic, { slot: at, next, setbacks }, clock);
  run.result.then(
    () => (state.granted = true),
    () => undefined,
  );
  return Object.assign(state, { stop: run.stop });
}

test('a machine that is due gets its turn at once, with a session and a place', async () => {
  const turn = wait('agentStart');
  await settled();
  expect(turn.granted).toBe(true);
  expect(taskPool.begin(SLOT).kind).toBe('agentStart');
});

test.each([
  [1, 500],
  [2, 1_000],
  [5, 8_000],
  [10, 30_000],
])('%i setbacks are a pause of about %i ms', async (setbacks, pauseMs) => {
  const turn = wait('agentStart', setbacks);
  await advance(clock, pauseMs - 1);
  expect(turn.granted).toBe(false);
  await advance(clock, 1);
  expect(turn.granted).toBe(true);
});

test('without a session it waits until there is one', async () => {
  openLater();
  const turn = wait('agentStart');
  await advance(clock, 60_000);
  expect(turn.granted).toBe(false);
  alive.resolve();
  await settled();
  expect(turn.granted).toBe(true);
});

test('a better ranked daemon has a head start, for each rank', async () => {
  sessions = [SESSION];
  for (let at = 0; rankOf(SESSION, sessions, SLOT) < 2; at += 1) {
    sessions.push(sessionId(`dddddddd-0000-4000-8000-${String(at).padStart(12, '0')}`));
  }
  const turn = wait('agentStart');
  await advance(clock, 1_999);
  expect(turn.granted).toBe(false);
  await advance(clock, 1);
  expect(turn.granted).toBe(true);
});

test('a place is waited for', async () => {
  const other = slot('stub', 'rack-2');
  await taskPool.grant(other, 'agentStart', new AbortController().signal);
  taskPool.begin(other);
  const turn = wait('agentStart');
  await advance(clock, 60_000);
  expect(turn.granted).toBe(false);
  taskPool.end(other);
  await settled();
  expect(turn.granted).toBe(true);
});

test('a place goes to the machine whose last attempt is the oldest, then by machine id', async () => {
  const busy = slot('stub', 'busy');
  await taskPool.grant(busy, 'agentStart', new AbortController().signal);
  taskPool.begin(busy);
  const waiting = ['d', 'c', 'b', 'a'].map((name, at) => {
    const rack = slot('stub', name);
    const id = machineId(`aaaaaaaa-0000-4000-8000-00000000000${name}`);
    const startAttempt = at < 2 ? { atMs: NOW_MS + at, count: 1, unreached: 0 } : null;
    facts.set(rack, slotFacts({ slot: rack, row: machineRow({ machineId: id, startAttempt }) }));
    return { rack, turn: wait('agentStart', 0, rack) };
  });
  await settled();
  const order: Slot[] = [];
  taskPool.end(busy);
  for (let round = 0; round < waiting.length; round += 1) {
    await settled();
    const { rack } = waiting.find((each) => each.turn.granted && !order.includes(each.rack))!;
    order.push(rack);
    taskPool.end(rack);
  }
  expect(order).toEqual(['a', 'b', 'd', 'c'].map((name) => slot('stub', name)));
});

test('a recovery waits for room in the budget', async () => {
  const turn = wait('recovery');
  await advance(clock, 60_000);
  expect(turn.granted).toBe(false);
  const row = machineRow({ agentStarted: agentStarted(NOW_MS) });
  permits.offer(new Map([[SLOT, slotFacts({ row })]]));
  await settled();
  expect(turn.granted).toBe(true);
});

test.each<readonly [string, Work, number]>([
  ['the pause', 'agentStart', 3],
  ['the budget', 'recovery', 0],
])('news that come while it waits for %s leave nothing behind', async (_, next, setbacks) => {
  const turn = wait(next, setbacks);
  await settled();
  turn.stop();
  await advance(clock, 60_000);
  expect({ granted: turn.granted, busy: taskPool.busy }).toEqual({ granted: false, busy: 0 });
});
