import { beforeEach, expect, test } from 'vitest';
import { createPermitQueue, type PermitQueue } from '../../../src/actors/turns/permit-queue.ts';
import { machineId, slot, type Slot } from '../../../src/domain/ids.ts';
import type { MachineRow, SlotFacts } from '../../../src/domain/machine.ts';
import { DEFAULT_BUDGET } from '../../../src/domain/policy.ts';
import { settled } from '../../doubles/simulated-clock.ts';
import {
  agentStarted,
  ladderRow,
  liveWork,
  machineRow,
  NOW_MS,
  slotFacts,
} from '../../support/facts.ts';

/** Machines that were let through and hold no permit yet, or got none. One of a group may hold one. */

const rack = (at: number) => slot('stub', `rack-${at}`);
const fleet = (changes: Record<number, Partial<MachineRow>> = {}): Map<Slot, SlotFacts> =>
  new Map(
    Array.from({ length: 20 }, (_, at) => {
      const id = machineId(`aaaaaaaa-0000-4000-8000-${String(at).padStart(12, '0')}`);
      const started = { machineId: id, agentStarted: agentStarted(NOW_MS) };
      return [
        rack(at),
        slotFacts({ slot: rack(at), row: machineRow({ ...started, ...changes[at] }) }),
      ];
    }),
  );

let queue: PermitQueue;
let gone: Slot[];
let bar: string | null;
beforeEach(() => {
  bar = null;
  gone = [];
  queue = createPermitQueue({
    budget: { ...DEFAULT_BUDGET, perGroupMax: 1 },
    barOf: () => bar,
    interrupts: ({ row }) => row?.recovery?.rung !== 'restartingAgent',
  });
});
const wait = (at: number) =>
  void queue.wait(rack(at), new AbortController().signal).then(() => gone.push(rack(at)));
const offer = async (facts: ReadonlyMap<Slot, SlotFacts>) => {
  queue.offer(facts);
  await settled();
  return gone.splice(0);
};

test('what one takes stays taken while it is worked on, until it holds a permit', async () => {
  wait(1);
  wait(2);
  expect(await offer(fleet())).toEqual([rack(1)]);
  const work = [liveWork('ShepherdRecovery')];
  expect(await offer(fleet({ 1: { work } })), 'its machine is looked at').toEqual([]);
  expect(await offer(fleet({ 1: { work } }))).toEqual([]);
  expect(await offer(fleet({ 1: { work, permit: true } }))).toEqual([]);
  expect(await offer(fleet({ 1: { work } })), 'it gave the permit back').toEqual([rack(2)]);
});

test('who got no permit waits for no room any more once it was heard in between', async () => {
  const recovery = ladderRow({ rung: 'restartingAgent' });
  queue.offer(fleet({ 1: { recovery }, 2: { permit: true } }));
  queue.missed(rack(1), true);
  wait(1);
  expect(await offer(fleet({ 1: { recovery }, 2: { permit: true } }))).toEqual([]);
  const heartbeat = { atMs: NOW_MS, bootId: 'boot-1' };
  expect(await offer(fleet({ 1: { recovery, heartbeat }, 2: { permit: true } }))).toEqual([
    rack(1),
  ]);
});

test('who could not be switched on and got no permit waits like any other', async () => {
  const facts = fleet({ 1: { recovery: ladderRow({ powerOffAskedAtMs: NOW_MS }) } });
  bar = 'it is frozen';
  wait(1);
  expect(await offer(facts)).toEqual([rack(1)]);
  queue.missed(rack(1), true);
  wait(1);
  expect(await offer(facts)).toEqual([]);
  bar = null;
  expect(await offer(facts)).toEqual([rack(1)]);
});
