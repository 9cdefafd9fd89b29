import { expect, test } from 'vitest';
import { createIntake } from '../../../src/adapters/agents/heartbeat-service.ts';
import { defaultLimits } from '../../../src/adapters/agents/limits.ts';
import type { HeartbeatRecord } from '../../../src/domain/heartbeat.ts';
import { machineId } from '../../../src/domain/ids.ts';
import { createSimulatedClock } from '../../doubles/simulated-clock.ts';

const GAP_MS = 10;

/** Started batches. The test decides when each is answered. */
function createStand({ enough = 100, max = 100 } = {}) {
  const clock = createSimulatedClock();
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const intake = createIntake({
    clock,
    batch: { gapMs: GAP_MS, enough, max },
    limits: defaultLimits,
    record: (batch) => {
      begun.push(batch.map((record) => record.machineId).join(' '));
      return new Promise((resolve) => {
        const outcome = { kind: 'accepted', atMs: 1, installationRequest: null } as const;
        ends.push(() => resolve(batch.map(() => outcome)));
      });
    },
  });
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return {
    begun,
    say: async (...machines: readonly string[]) => {
      for (const machine of machines) void intake.record(recordOf(machine));
      await settle();
    },
    pass: async (ms: number) => {
      clock.increment(ms);
      await settle();
    },
    answer: async () => {
      for (const end of ends.splice(0)) end();
      await settle();
    },
  };
}

const recordOf = (machine: string): HeartbeatRecord => ({
  machineId: machineId(machine),
  publicKey: new Uint8Array(32),
  bootId: null,
});

test('records a single heartbeat at once, however often one comes', async () => {
  const { begun, say, pass, answer } = createStand();
  for (const machine of ['a', 'b', 'c']) {
    await say(machine);
    await answer();
    await pass(GAP_MS);
  }
  expect(begun).toEqual(['a', 'b', 'c']);
});

test('groups heartbeats that come soon after, answered or not', async () => {
  const { begun, say, pass, answer } = createStand();
  await say('a');
  await say('b');
  await pass(GAP_MS - 1);
  await say('c');
  expect(begun).toEqual(['a']);
  await pass(1);
  expect(begun).toEqual(['a', 'b c']);
  await answer();
  await say('d');
  await pass(GAP_MS - 1);
  expect(begun).toEqual(['a', 'b c']);
  await pass(1);
  expect(begun).toEqual(['a', 'b c', 'd']);
});

test('sends a full group at once unless two are in flight', async () => {
  const { begun, say, pass, answer } = createStand({ enough: 2, max: 2 });
  await say('a', 'b', 'c', 'd', 'e', 'f');
  expect(begun).toEqual(['a b', 'c d']);
  await pass(10 * GAP_MS);
  expect(begun).toEqual(['a b', 'c d']);
  await answer();
  expect(begun).toEqual(['a b', 'c d', 'e f']);
});

test('sends more than a full group together when its turn comes', async () => {
  const { begun, say, answer } = createStand({ enough: 2, max: 3 });
  await say('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h');
  expect(begun).toEqual(['a b', 'c d']);
  await answer();
  expect(begun).toEqual(['a b', 'c d', 'e f g']);
});
