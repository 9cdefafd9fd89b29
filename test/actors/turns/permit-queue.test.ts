import { beforeEach, describe, expect, test } from 'vitest';
import { createPermitQueue, type PermitQueue } from '../../../src/actors/turns/permit-queue.ts';
import { machineId, slot, type Slot } from '../../../src/domain/ids.ts';
import type { LadderRow, MachineRow, SlotFacts } from '../../../src/domain/machine.ts';
import { DEFAULT_BUDGET, type RecoveryBudget } from '../../../src/domain/policy.ts';
import { recoveryBar } from '../../../src/domain/recovery/guard-status.ts';
import type { GuardStatus, GuardState } from '../../../src/domain/recovery/guard-status.ts';
import {
  agentStarted,
  ladderRow,
  liveWork,
  machineRow,
  NOW_MS,
  orderRow,
  slotFacts,
} from '../../support/facts.ts';
import { settled } from '../../doubles/simulated-clock.ts';

const rack = (at: number) => slot('stub', `rack-${at}`);
/** Started machines, few enough for one recovery at a time, with those in recovery. */
const fleet = (count: number, ...recovering: Slot[]): Map<Slot, SlotFacts> =>
  new Map(
    Array.from({ length: count }, (_, at) => {
      const permit = recovering.includes(rack(at));
      const id = machineId(`aaaaaaaa-0000-4000-8000-${String(at).padStart(12, '0')}`);
      const row = machineRow({ machineId: id, agentStarted: agentStarted(NOW_MS), permit });
      return [rack(at), slotFacts({ slot: rack(at), row })];
    }),
  );
/** The same facts with another row for one machine. */
const withRow = (facts: Map<Slot, SlotFacts>, at: number, change: Partial<MachineRow>) => {
  const known = facts.get(rack(at))!;
  return facts.set(rack(at), { ...known, row: { ...known.row!, ...change } });
};
/** Twenty machines, some with other rows. */
const fleetWith = (changes: Record<number, Partial<MachineRow>> = {}) =>
  Object.entries(changes).reduce((facts, [at, row]) => withRow(facts, Number(at), row), fleet(20));

const standing = (state: GuardState, scope = 'fleet'): GuardStatus => ({
  scope,
  state,
  sinceMs: null,
  reason: `${scope} is ${state}`,
});

let queue: PermitQueue;
let gone: string[];
/** The guard's states. */
let standings: readonly GuardStatus[];
/** A queue for a budget; the default allows one machine in each group. */
function begin(budget: RecoveryBudget = { ...DEFAULT_BUDGET, perGroupMax: 1 }) {
  queue = createPermitQueue({
    budget,
    barOf: (provider, isOrder) => recoveryBar(standings, provider, isOrder),
    interrupts: ({ row }) => row?.recovery?.rung !== 'restartingAgent',
  });
}
beforeEach(() => {
  standings = [standing('watching')];
  begin();
  gone = [];
});

/** Waits for a permit; `gone` records the grant, or the end of the wait. */
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

test('counts a taken permit until a scan says otherwise', async () => {
  queue.offer(fleet(20));
  for (const at of [1, 2, 3]) wait(rack(at));
  await settled();
  expect(gone.splice(0)).toEqual([rack(1)]);
  expect(await offer(fleet(20, rack(1)))).toEqual([]);
  expect(await offer(fleet(20))).toEqual([rack(2)]);
  expect(await offer(fleet(20))).toEqual([rack(3)]);
});

test('serves the oldest attempt first, then by machine id', async () => {
  for (const at of [3, 1, 4, 0, 2]) wait(rack(at));
  await settled();
  expect(gone).toEqual([]);
  const tried = fleet(20);
  for (const [at, agoMs] of [
    [0, 1_000],
    [1, 3_000],
    [2, 2_000],
  ] as const) {
    const asked = { askedRung: 'rebooting', askedAtMs: NOW_MS - agoMs } as const;
    withRow(tried, at, { recovery: ladderRow({ attempts: 1, ...asked }) });
  }
  const order = [];
  for (let at = 0; at < 5; at += 1) order.push(...(await offer(tried)));
  expect(order).toEqual([3, 4, 1, 2, 0].map(rack));
});

describe('a request under a permit that is still held', () => {
  const ASKED = ladderRow({
    ...{ rung: 'powerCycling', attempts: 1 },
    ...{ askedRung: 'powerCycling', askedAtMs: NOW_MS - 60_000, offSeenAtMs: NOW_MS },
  });
  const under = (change: Partial<LadderRow>, ...recovering: Slot[]) =>
    withRow(fleet(60, ...recovering), 1, { recovery: { ...ASKED, ...change } });
  const STATES = ['frozen', 'grace', 'suspicious'] as const;

  test.each(STATES)('is finished while it is %s', async (state) => {
    standings = [standing(state)];
    wait(rack(1));
    expect(await offer(under({}, rack(1)))).toEqual([rack(1)]);
  });

  test.each<readonly [string, Partial<LadderRow>, boolean]>([
    ['came to no end, after an earlier one', { nextAtMs: NOW_MS - 90_000 }, true],
    ['came to its end', { nextAtMs: NOW_MS - 1_000 }, false],
    ['came to its end with the power off', { nextAtMs: NOW_MS, powerOffAskedAtMs: NOW_MS }, true],
    ['was refused', { askedAtMs: null, askedRung: null }, false],
    ['was refused with the power off', { askedAtMs: null, powerOffAskedAtMs: NOW_MS }, true],
  ])('that %s, in a freeze: %s', async (_, change, passes) => {
    standings = [standing('frozen')];
    wait(rack(1));
    expect(await offer(under(change, rack(1)))).toEqual(passes ? [rack(1)] : []);
  });

  test('waits like others when the permit is gone, but the machine is not left off', async () => {
    standings = [standing('frozen')];
    wait(rack(1));
    expect(await offer(under({}))).toEqual([]);
    expect(await offer(under({ powerOffAskedAtMs: NOW_MS }))).toEqual([rack(1)]);
  });
});

test('lets as many go on as the budget has room', async () => {
  begin(DEFAULT_BUDGET);
  for (const at of [1, 2, 3, 4]) wait(rack(at));
  expect(await offer(fleet(60))).toEqual([1, 2, 3].map(rack));
});

test('lets a machine with a permit pass, however full the budget', async () => {
  queue.offer(fleet(20, rack(1), rack(2)));
  wait(rack(3));
  wait(rack(1));
  await settled();
  expect(gone.splice(0)).toEqual([rack(1)]);
  wait(rack(5));
  expect(await offer(fleet(20, rack(1), rack(5)))).toEqual([rack(5)]);
});

test('makes an unknown machine, or one without hardware, wait', async () => {
  queue.offer(fleet(3));
  wait(rack(7));
  const bare = new Map(fleet(3));
  const row = machineRow({ agentStarted: agentStarted(NOW_MS), provided: null });
  bare.set(rack(7), slotFacts({ slot: rack(7), row }));
  expect(await offer(bare)).toEqual([]);
  expect(await offer(fleet(8))).toEqual([rack(7)]);
});

test('passes the room of a machine that stopped waiting to the next', async () => {
  const leaving = new AbortController();
  wait(rack(1), leaving.signal);
  wait(rack(2));
  leaving.abort();
  await settled();
  expect(gone.splice(0)).toEqual([`${rack(1)}: cancelled`]);
  expect(await offer(fleet(20))).toEqual([rack(2)]);
});

test('takes nothing for a caller that does not wait', async () => {
  queue.offer(fleet(20));
  wait(rack(1), AbortSignal.abort());
  await settled();
  wait(rack(2));
  await settled();
  expect(gone).toEqual([`${rack(1)}: cancelled`, rack(2)]);
});

test('keeps a later wait when an earlier one ends', async () => {
  const earlier = new AbortController();
  wait(rack(1), earlier.signal);
  wait(rack(1));
  earlier.abort();
  await settled();
  expect(gone.splice(0)).toEqual([`${rack(1)}: cancelled`]);
  expect(await offer(fleet(20))).toEqual([rack(1)]);
});

describe('the guard and waiting machines', () => {
  const ordered = (facts: Map<Slot, SlotFacts>, at: number) =>
    withRow(facts, at, { order: orderRow() });
  /** Requesters: a lost machine, a machine with a permit, and a machine with an order. */
  const ASKERS = { lost: fleet(60), held: fleet(60, rack(1)), ordered: ordered(fleet(60), 1) };
  const CASES: readonly (readonly [GuardStatus[], (keyof typeof ASKERS)[]])[] = [
    [[standing('watching')], ['lost', 'held', 'ordered']],
    [
      [standing('watching'), standing('frozen', 'other')],
      ['lost', 'held', 'ordered'],
    ],
    [
      [standing('watching'), standing('suspicious', 'other')],
      ['lost', 'held', 'ordered'],
    ],
    [[standing('watching'), standing('suspicious', 'stub')], ['ordered']],
    [[standing('suspicious')], ['ordered']],
    [[standing('grace')], ['ordered']],
    [[standing('grace'), standing('frozen', 'stub')], []],
    [[standing('watching'), standing('frozen', 'stub')], []],
    [[standing('frozen'), standing('watching', 'stub')], []],
    [[standing('blind')], []],
    [[], []],
  ];
  const table = CASES.flatMap(([stands, passing]) =>
    Object.entries(ASKERS).map(
      ([asker, facts]) =>
        [
          stands.map(({ scope, state }) => `${scope} ${state}`).join(', ') || 'nothing known',
          ...[asker, passing.includes(asker as never), stands, facts],
        ] as const,
    ),
  );

  test.each(table)('%s; a machine that is %s passes: %s', async (_, _asker, passes, stands, of) => {
    standings = stands;
    queue.offer(of);
    wait(rack(1));
    await settled();
    expect(gone.splice(0)).toEqual(passes ? [rack(1)] : []);
  });

  test('lets all ask again at a thaw, in order and within the budget', async () => {
    begin(DEFAULT_BUDGET);
    standings = [standing('frozen')];
    queue.offer(fleet(60));
    const back = new AbortController();
    for (const at of [5, 4, 3, 2, 1]) wait(rack(at), at === 2 ? back.signal : undefined);
    await settled();
    expect(gone).toEqual([]);
    back.abort();
    await settled();
    expect(gone.splice(0)).toEqual([`${rack(2)}: cancelled`]);
    standings = [standing('watching')];
    queue.reconsider();
    await settled();
    expect(gone.splice(0)).toEqual([1, 3, 4].map(rack));
    queue.reconsider();
    await settled();
    expect(gone).toEqual([]);
  });

  test('lets an order pass before lost machines', async () => {
    begin(DEFAULT_BUDGET);
    standings = [standing('frozen')];
    queue.offer(ordered(fleet(60), 2));
    for (const at of [1, 2, 3]) wait(rack(at));
    standings = [standing('grace')];
    queue.reconsider();
    await settled();
    expect(gone.splice(0)).toEqual([rack(2)]);
    standings = [standing('watching')];
    queue.reconsider();
    await settled();
    expect(gone).toEqual([1, 3].map(rack));
  });

  test('looks only at waiting machines when the guard changes', async () => {
    const facts = fleet(100);
    let looks = 0;
    const counting = new Proxy(facts, {
      get(target, name) {
        if (name === 'values' || name === 'entries' || name === Symbol.iterator) looks += 1;
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
      },
    });
    standings = [standing('frozen')];
    queue.offer(counting);
    wait(rack(1));
    expect(looks).toBe(1);
    standings = [standing('watching')];
    queue.reconsider();
    await settled();
    expect(gone).toEqual([rack(1)]);
    expect(looks).toBe(1);
  });
});

test('treats news of some machines like news of all', async () => {
  const facts = fleet(20, rack(1));
  queue.offer(facts);
  wait(rack(2));
  wait(rack(3));
  await settled();
  expect(gone).toEqual([]);
  facts.set(rack(1), fleet(20).get(rack(1))!);
  queue.offer(facts, []);
  await settled();
  expect(gone).toEqual([]);
  queue.offer(facts, [rack(1)]);
  await settled();
  expect(gone.splice(0)).toEqual([rack(2)]);
  facts.delete(rack(4));
  queue.offer(facts, [rack(4), rack(2)]);
  await settled();
  expect(gone.splice(0)).toEqual([rack(3)]);
});

test('shows the use of the budget and its peak', async () => {
  begin(DEFAULT_BUDGET);
  queue.offer(fleet(40, rack(1), rack(2)));
  queue.offer(fleet(40, rack(1)));
  wait(rack(3));
  await settled();
  expect(queue.heldMax).toBe(2);
  expect(queue.use()).toEqual(
    ['fleet', 'provider stub', 'location lab'].map((scope) => ({ scope, permits: 2, budget: 2 })),
  );
});

describe('a machine whose next step interrupts nothing', () => {
  const restarting = (...recovering: Slot[]) =>
    withRow(fleet(20, ...recovering), 1, {
      recovery: ladderRow({ rung: 'restartingAgent', attempts: 1 }),
    });

  test('goes on in a full budget and takes no room', async () => {
    queue.offer(restarting(rack(2)));
    wait(rack(3));
    wait(rack(1));
    await settled();
    expect(gone.splice(0)).toEqual([rack(1)]);
    expect(await offer(restarting())).toEqual([rack(3)]);
  });

  test('waits while the guard bars it', async () => {
    standings = [standing('suspicious')];
    wait(rack(1));
    expect(await offer(restarting())).toEqual([]);
  });

  test('waits for room when it turns out to need a permit', async () => {
    queue.offer(restarting(rack(2)));
    queue.missed(rack(1), true);
    expect(queue.needsPermit(rack(1))).toBe(true);
    wait(rack(1));
    await settled();
    expect(gone).toEqual([]);
    expect(await offer(restarting())).toEqual([rack(1)]);
    wait(rack(1));
    await settled();
    expect(gone, 'it is remembered once').toEqual([rack(1)]);
  });
});

test('lets one order go on when the budget is spent', async () => {
  const facts = fleet(20, rack(2));
  for (const at of [1, 3]) withRow(facts, at, { order: orderRow() });
  for (const at of [0, 1, 3]) wait(rack(at));
  expect(await offer(facts)).toEqual([rack(1)]);
});

describe('machines that were let through without a permit so far', () => {
  test('count as taken while they are worked on, until they hold a permit', async () => {
    wait(rack(1));
    wait(rack(2));
    expect(await offer(fleetWith())).toEqual([rack(1)]);
    const work = [liveWork('ShepherdRecovery')];
    expect(await offer(fleetWith({ 1: { work } })), 'its machine is looked at').toEqual([]);
    expect(await offer(fleetWith({ 1: { work } }))).toEqual([]);
    expect(await offer(fleetWith({ 1: { work, permit: true } }))).toEqual([]);
    expect(await offer(fleetWith({ 1: { work } })), 'it gave the permit back').toEqual([rack(2)]);
  });

  test('no longer wait for room when they were heard in between', async () => {
    const recovery = ladderRow({ rung: 'restartingAgent' });
    queue.offer(fleetWith({ 1: { recovery }, 2: { permit: true } }));
    queue.missed(rack(1), true);
    wait(rack(1));
    expect(await offer(fleetWith({ 1: { recovery }, 2: { permit: true } }))).toEqual([]);
    const heard = { recovery, heartbeat: { atMs: NOW_MS, bootId: 'boot-1' } };
    expect(await offer(fleetWith({ 1: heard, 2: { permit: true } }))).toEqual([rack(1)]);
  });

  test('wait like others when they could not be switched on and got no permit', async () => {
    const facts = fleetWith({ 1: { recovery: ladderRow({ powerOffAskedAtMs: NOW_MS }) } });
    standings = [standing('frozen')];
    wait(rack(1));
    expect(await offer(facts)).toEqual([rack(1)]);
    queue.missed(rack(1), true);
    wait(rack(1));
    expect(await offer(facts)).toEqual([]);
    standings = [standing('watching')];
    expect(await offer(facts)).toEqual([rack(1)]);
  });
});
