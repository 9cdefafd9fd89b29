import { createMemBmdb } from '../../../../src/adapters/bmdb/mem/mem-bmdb.ts';
import { newMachine } from '../../../../src/adapters/bmdb/mem/tables.ts';
import {
  createSeededRandom,
  createSimulatedClock,
} from '../../../../src/adapters/clock/simulated-clock.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../../../src/domain/policy.ts';
import type { BmdbHarness } from '../../../contracts/bmdb.ts';

/** A fresh BMDB in memory, in virtual time. */
export async function memHarness(loss = DEFAULT_LOSS): Promise<BmdbHarness> {
  const clock = createSimulatedClock();
  const random = createSeededRandom(1);
  const bmdb = createMemBmdb({
    ...{ clock, random, loss, budget: DEFAULT_BUDGET, jitter: 0 },
  });
  const { tables } = bmdb;
  return {
    bmdb,
    other: bmdb,
    insert: async (row, request = new Uint8Array([1])) => {
      const permitGrantedAtMs = row.permit ? clock.now() : null;
      tables.machines.set(row.machineId, { ...newMachine(row), permitGrantedAtMs, request });
    },
    hold: async (hold) => {
      tables.holds = [...tables.holds, hold];
    },
    freeze: async (scope, reason) => {
      tables.frozen.set(scope, reason);
    },
    pass: async (ms) => clock.increment(ms),
    expireSession: async (id) => {
      tables.sessions.get(id)!.deadlineMs = clock.now() - 1;
    },
    history: async (id) =>
      tables.history
        .filter((line) => line.machineId === id)
        .map((line) => [line.process, line.event, line.cause ?? ''].join(' ').trim()),
    events: async (id) =>
      tables.events
        .filter((event) => event.machineId === id)
        .map((event) => `${event.kind} ${event.reason}`.trim()),
    close: async () => bmdb.close(),
  };
}
