import { beforeEach, expect, test } from 'vitest';
import { createPermitQueue, type PermitQueue } from '../../src/actors/permit-queue.ts';
import { machineId, slot, type Slot } from '../../src/domain/ids.ts';
import type { SlotFacts } from '../../src/domain/machine.ts';
import { DEFAULT_BUDGET } from '../../src/domain/policy.ts';
import { agentStarted, machineRow, NOW_MS, slotFacts } from '../support/facts.ts';
import { settled } from '../support/watched-clock.ts';

const rack = (at: number) => slot('stub', `rack-${at}`);
/** Started machines, so few that one may recover at a time, and those that do. */
const fleet = (count: number, ...recovering: Slot[]): Map<Slot, SlotFacts> =>
  new Map(
    Array.from({ length: count }, (_, at) => {
      const permit = recovering.includes(rack(at));
      const id = machineId(`aaaaaaaa-0000-4000-8000-${String(at).padStart(12, '0')}`);
      const row = machineRow({ machineId: id, agentStarted: agentStarted(NOW_MS), permit });
      return [rack(at), slotFacts({ slot: rack(at), row })];
    }),
  );

let queue: PermitQueue;
let gone: string[];
beforeEach(() => {
  queue = createPermitQueue(DEFAULT_BUDGET);
  gone = [];
});

/** Waits for a permit; `gone` tells who went on, or that it no longer waits. */
const wait = (name: Slot, signal = new AbortController().signal) =>
  void queue.wait(name, signal).then(
    () => gone.push(name),
    (error: unknown) => gone.push(`${name}: ${(error as { code: string }).code}`),
  );
const offer = async (facts: ReadonlyMap<Slot, SlotFacts>) => {
  queue.offer(facts);
  await settled();
  return gone.splice(0);
};

test('what one takes is gone for the next, until a scan tells otherwise', async () => {
  queue.offer(fleet(20));
  for (const at of [1, 2, 3]) wait(rack(at));
  await settled();
  expect(gone.splice(0)).toEqual([rack(1)]);
  expect(await offer(fleet(20, rack(1)))).toEqual([]);
  expect(await offer(fleet(20))).toEqual([rack(2)]);
  expect(await offer(fleet(20))).toEqual([rack(3)]);
});

test('the oldest attempt goes on first, then by machine id, whoever came first', async () => {
  for (const at of [3, 1, 4, 0, 2]) wait(rack(at));
  await settled();
  expect(gone).toEqual([]);
  const tried = fleet(20);
  for (const [at, agoMs] of [
    [0, 1_000],
    [1, 3_000],
    [2, 2_000],
  ] as const) {
    const facts = tried.get(rack(at))!;
    const recovery = {
      ...{ attempts: 1, operationRef: null, nextAtMs: null },
      rung: 'rebooting' as const,
      askedAtMs: NOW_MS - agoMs,
    };
    tried.set(rack(at), { ...facts, row: { ...facts.row!, recovery } });
  }
  const order = [];
  for (let at = 0; at < 5; at += 1) order.push(...(await offer(tried)));
  expect(order).toEqual([3, 4, 1, 2, 0].map(rack));
});

test('as many go on as there is room for', async () => {
  for (const at of [1, 2, 3, 4]) wait(rack(at));
  expect(await offer(fleet(60))).toEqual([1, 2, 3].map(rack));
});

test('a machine that holds a permit passes, however full it is', async () => {
  queue.offer(fleet(20, rack(1), rack(2)));
  wait(rack(3));
  wait(rack(1));
  await settled();
  expect(gone.splice(0)).toEqual([rack(1)]);
  wait(rack(5));
  expect(await offer(fleet(20, rack(1), rack(5)))).toEqual([rack(5)]);
});

test('a machine that is not known, or has no hardware, waits', async () => {
  queue.offer(fleet(3));
  wait(rack(7));
  const bare = new Map(fleet(3));
  const row = machineRow({ agentStarted: agentStarted(NOW_MS), provided: null });
  bare.set(rack(7), slotFacts({ slot: rack(7), row }));
  expect(await offer(bare)).toEqual([]);
  expect(await offer(fleet(8))).toEqual([rack(7)]);
});

test('who no longer waits leaves its room to the next', async () => {
  const leaving = new AbortController();
  wait(rack(1), leaving.signal);
  wait(rack(2));
  leaving.abort();
  await settled();
  expect(gone.splice(0)).toEqual([`${rack(1)}: cancelled`]);
  expect(await offer(fleet(20))).toEqual([rack(2)]);
});

test('who does not want to wait takes nothing', async () => {
  queue.offer(fleet(20));
  wait(rack(1), AbortSignal.abort());
  await settled();
  wait(rack(2));
  await settled();
  expect(gone).toEqual([`${rack(1)}: cancelled`, rack(2)]);
});

test('the end of an earlier wait does not end the one that came after it', async () => {
  const earlier = new AbortController();
  wait(rack(1), earlier.signal);
  wait(rack(1));
  earlier.abort();
  await settled();
  expect(gone.splice(0)).toEqual([`${rack(1)}: cancelled`]);
  expect(await offer(fleet(20))).toEqual([rack(1)]);
});
