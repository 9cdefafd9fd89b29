import { afterEach, beforeEach, expect, test } from 'vitest';
import { awaitTurn, createTaskPool, type TaskPool } from '../../../src/actors/turns/turns.ts';
import { createPermitQueue, type PermitQueue } from '../../../src/actors/turns/permit-queue.ts';
import type { SessionKeeper } from '../../../src/actors/session-keeper.ts';
import type { BmdbSession } from '../../../src/adapters/bmdb/port.ts';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { Cancelled } from '../../../src/domain/errors.ts';
import { sessionId, slot, type SessionId, type Slot } from '../../../src/domain/ids.ts';
import type { SlotFacts } from '../../../src/domain/machine.ts';
import { DEFAULT_BUDGET } from '../../../src/domain/policy.ts';
import { rankOf } from '../../../src/domain/daemons.ts';
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

test('gives a due machine its turn at once, with session and place, the oldest attempt first', async () => {
  const [first, second] = [slot('stub', 'first'), slot('stub', 'second')];
  const startAttempt = { atMs: NOW_MS, count: 1, unreached: 0 };
  facts.set(first, slotFacts({ slot: first, row: machineRow({ startAttempt }) }));
  facts.set(second, slotFacts({ slot: second, row: machineRow() }));
  const turn = wait('agentStart');
  await settled();
  expect(turn.granted).toBe(true);
  expect(taskPool.begin(SLOT).kind).toBe('agentStart');
  const [tried, fresh] = [wait('agentStart', 0, first), wait('agentStart', 0, second)];
  await advance(clock, 60_000);
  expect([tried.granted, fresh.granted]).toEqual([false, false]);
  taskPool.end(SLOT);
  await settled();
  expect([tried.granted, fresh.granted]).toEqual([false, true]);
  for (const rack of [second, first]) {
    taskPool.end(rack);
    await settled();
  }
});

test.each([
  [1, 500],
  [2, 1_000],
  [5, 8_000],
  [10, 30_000],
])('pauses after %i setbacks for about %i ms', async (setbacks, pauseMs) => {
  const turn = wait('agentStart', setbacks);
  await advance(clock, pauseMs - 1);
  expect(turn.granted).toBe(false);
  await advance(clock, 1);
  expect(turn.granted).toBe(true);
});

test('waits for a session', async () => {
  openLater();
  const turn = wait('agentStart');
  await advance(clock, 60_000);
  expect(turn.granted).toBe(false);
  alive.resolve();
  await settled();
  expect(turn.granted).toBe(true);
});

test('gives a better ranked daemon a head start per rank', async () => {
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

test('waits for room in the budget before a recovery', async () => {
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
])('leaves nothing behind when news come during the wait for %s', async (_, next, setbacks) => {
  const turn = wait(next, setbacks);
  await settled();
  turn.stop();
  await advance(clock, 60_000);
  expect({ granted: turn.granted, busy: taskPool.busy }).toEqual({ granted: false, busy: 0 });
});
