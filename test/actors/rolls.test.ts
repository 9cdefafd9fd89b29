import { expect, onTestFinished, test } from 'vitest';
import { carryOnRolls } from '../../src/actors/rolls.ts';
import type { Lease, NewRoll, RequestRepository } from '../../src/adapters/bmdb/port.ts';
import { sleep } from '../../src/adapters/clock/port.ts';
import { UsageError } from '../../src/domain/errors.ts';
import { machineId, slot } from '../../src/domain/ids.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { createMemBmdb } from '../doubles/mem-bmdb/mem-bmdb.ts';
import { recordingLog } from '../doubles/recording-log.ts';
import { advance, createSeededRandom, createSimulatedClock } from '../doubles/simulated-clock.ts';
import { machineRow, PROVIDER, slotFacts } from '../support/facts.ts';

const SECOND = 1_000;
const [A, B] = ['aa', 'bb'].map((end) => `00000000-0000-4000-8000-0000000000${end}`) as [
  string,
  string,
];

/** Carries on rolls of machines that are always ready. Each order takes 100 ms. */
function begin(submit: (key: string) => void = () => undefined) {
  const clock = createSimulatedClock();
  const random = createSeededRandom(1);
  const bmdb = createMemBmdb({ clock, random, loss: DEFAULT_LOSS, budget: DEFAULT_BUDGET });
  const ordered: string[] = [];
  const stopping = new AbortController();
  const whole = { now: true };
  const requests: Pick<RequestRepository, 'read' | 'submit'> = {
    read: async () => [],
    submit: async ({ key }) => {
      await sleep(clock, 100, new AbortController().signal);
      submit(key);
      ordered.push(key);
      return {} as never;
    },
  };
  const running = carryOnRolls(
    {
      bmdb: { rolls: bmdb.rolls, requests: requests as RequestRepository },
      isWhole: () => whole.now,
      scene: () => ({
        facts: ({ provider, slotId, machineId: id }) =>
          slotFacts({ slot: slot(provider, slotId), row: machineRow({ machineId: id }) }),
        ...{ isHealthy: () => true, windowRefusal: () => null, guard: [], loss: DEFAULT_LOSS },
        ...{ patienceMs: () => 0, nowMs: clock.now() },
      }),
      ...{ periodMs: 5 * SECOND, idleMs: 60 * SECOND, clock, log: recordingLog() },
      leases: { take: async () => ({}) as Lease },
      loop: { succeeded: () => undefined, failed: () => undefined },
    },
    stopping.signal,
  );
  onTestFinished(async () => {
    stopping.abort();
    await advance(clock, 1_000 * SECOND);
    await running;
  });
  const roll = (id: string, machines: number) => {
    const made: NewRoll = {
      ...{ id, action: 'reboot', drain: null, filter: 'x', canary: 0, batch: machines, pauseMs: 0 },
      slots: Array.from({ length: machines }, (_, at) => ({
        ...{ provider: PROVIDER, slotId: `${id}-${at}` },
        machineId: machineId(`aaaaaaaa-0000-4000-8000-${String(at).padStart(12, '0')}`),
      })),
      ...{ stopOnFailure: true, by: 'ann', role: 'operator', proven: true, reason: 'kernel' },
    };
    return bmdb.rolls.create(made);
  };
  return { clock, bmdb, ordered, whole, roll };
}

test('nothing more is ordered once a roll is aborted, in the middle of a batch', async () => {
  const { clock, bmdb, ordered, roll } = begin();
  await roll(A, 600);
  await advance(clock, 70 * SECOND);
  await bmdb.rolls.control(A, 'abort', 'ann');
  const before = ordered.length;
  expect(before).toBeGreaterThan(10);
  await advance(clock, 120 * SECOND);
  expect(ordered.length - before).toBeLessThanOrEqual(1);
});

test('a roll whose order fails does not stop the others', async () => {
  const { clock, ordered, whole, roll } = begin((key) => {
    if (key.startsWith(B)) throw new UsageError('the key is too long');
  });
  whole.now = false;
  await roll(A, 1);
  await roll(B, 1);
  whole.now = true;
  await advance(clock, 600 * SECOND);
  expect(ordered.some((key) => key.startsWith(A))).toBe(true);
});
