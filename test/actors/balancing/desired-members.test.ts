import { beforeEach, describe, expect, test } from 'vitest';
import {
  createDesiredMembers,
  DEBOUNCE_MS,
} from '../../../src/actors/balancing/desired-members.ts';
import type { DesiredMemberRepository } from '../../../src/actors/balancing/desired-members.ts';
import type { Pool } from '../../../src/domain/balancing/pools.ts';
import { machineId, type Slot } from '../../../src/domain/ids.ts';
import type { HoldRow, MachineRow, SlotFacts } from '../../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../../src/domain/policy.ts';
import type { GuardState } from '../../../src/domain/recovery/guard-status.ts';
import { viewOf } from '../../../src/domain/view.ts';
import { pool as poolOf } from '../../domain/balancing/pool.ts';
import { testRows } from '../../support/rows.ts';
import { createSimulatedClock, type VirtualClock } from '../../doubles/simulated-clock.ts';
import {
  agentStarted,
  deprovisionAsked,
  device,
  hold,
  MACHINE,
  machineRow,
  memberRow,
  NOW_MS,
  orderRow,
  PROVIDER,
  SLOT,
  slotFacts,
} from '../../support/facts.ts';

const OTHER = machineId('aaaaaaaa-0000-4000-8000-0000000000ff');
const healthy = (change: Partial<MachineRow> = {}): MachineRow =>
  machineRow({
    agentStarted: agentStarted(NOW_MS - 3_600_000),
    heartbeat: { atMs: NOW_MS - 1_000, bootId: 'boot-1' },
    members: [memberRow({ pool: 'api' })],
    ...change,
  });
const silent = { heartbeat: { atMs: NOW_MS - 3_000_000, bootId: 'boot-1' } };

let clock: VirtualClock;
let beganMs: number;
const now = () => NOW_MS + clock.monotonic() - beganMs;
let facts: Map<Slot, SlotFacts>;
let guard: GuardState;
let moments: number;
let told: string[];
let repository: DesiredMemberRepository;
const open = (...pools: readonly Pool[]) => {
  repository = createDesiredMembers({
    pools,
    facts: () => facts,
    viewOf: (slot) => {
      const known = facts.get(slot);
      return known && viewOf(known, { nowMs: now(), loss: DEFAULT_LOSS });
    },
    moment: () => {
      moments += 1;
      const standings = [{ scope: 'fleet', state: guard, sinceMs: null, reason: null }];
      return { nowMs: now(), loss: DEFAULT_LOSS, standings };
    },
    clock,
  });
  for (const { pool } of pools) repository.onChange(pool, () => told.push(pool));
};
/** Sets the slot's present facts without notice to anybody. */
const put = (row: MachineRow | null, holds: readonly HoldRow[] = []) =>
  void facts.set(SLOT, slotFacts({ row, listed: device(), provider: PROVIDER, holds }));
const view = () => viewOf(facts.get(SLOT)!, { nowMs: now(), loss: DEFAULT_LOSS });
const wants = (pool = 'api', machine = MACHINE) => repository.of(pool).get(machine)?.want ?? null;
const pass = (ms: number) => clock.increment(ms);

const ELSEWHERE = { select: { ...poolOf().select, locations: ['moon'] } };

function reset(): void {
  clock = createSimulatedClock();
  beganMs = clock.monotonic();
  facts = new Map();
  guard = 'watching';
  moments = 0;
  told = [];
  open(poolOf({ pool: 'api' }));
}
beforeEach(reset);

describe('desired members follow', () => {
  const OF_ALL = () => repository.onFacts(facts);
  const OF_VIEW = () => repository.onView(view());
  const moved = { machineId: OTHER };
  /** The facts before and after, the notice, and the final desired members. */
  testRows<readonly [string, Partial<MachineRow> | null, () => void, readonly (string | null)[]]>([
    ['a view that is told', { order: orderRow() }, OF_VIEW, ['drain', null]],
    [
      'facts of slots that changed',
      null,
      () => repository.onFacts(facts, new Set([SLOT])),
      [null, null],
    ],
    ['facts of no slot', null, () => repository.onFacts(facts, new Set()), ['serve', null]],
    ['all facts without it', {}, () => repository.onFacts(new Map()), [null, null]],
    ['a slot that vanishes', {}, () => repository.onVanished(SLOT), [null, null]],
    ['a machine that leaves its slot', null, OF_VIEW, [null, null]],
    ['a new tenancy of a slot', moved, OF_VIEW, [null, 'serve']],
  ])('%s', (_, then, tell, wished) => {
    reset();
    put(healthy());
    OF_ALL();
    expect(wants()).toBe('serve');
    put(then && healthy(then));
    tell();
    expect([wants(), wants('api', OTHER)]).toEqual(wished);
  });
});

describe('the guard and desired members', () => {
  test('keeps a silent machine during a freeze and drops it afterwards', () => {
    guard = 'frozen';
    put(healthy(silent));
    repository.onFacts(facts);
    expect(wants()).toBe('keep');
    guard = 'watching';
    expect(wants(), 'nobody has told').toBe('keep');
    repository.onGuard();
    expect(wants()).toBe('drop');
    guard = 'frozen';
    repository.onGuard();
    expect(wants()).toBe('keep');
  });
  testRows([
    ['was always well', {}],
    ['came back', silent],
  ])('does not look again at a machine that %s', (_, before) => {
    reset();
    guard = 'frozen';
    put(healthy(before));
    repository.onFacts(facts);
    put(healthy());
    repository.onView(view());
    const asked = moments;
    facts = new Map();
    repository.onGuard();
    expect(wants()).toBe('serve');
    expect(moments - asked).toBe(1);
  });
});

describe('desired members by the clock alone', () => {
  const installation = {
    requestGeneration: 2n,
    handedOutAtMs: NOW_MS - 1_800_000,
    reportGeneration: 2n,
    reportResult: 'Success',
  } as const;
  const inMinutes = (minutes: number) => NOW_MS + minutes * 60_000;
  /** The last heartbeat came a second ago. */
  const SILENT = (DEFAULT_LOSS.heartbeatMs - 1_000) / 60_000;
  const order = orderRow({ expiresAtMs: inMinutes(5) });
  const deprovision = deprovisionAsked();
  const quarantine = { kind: 'byOperator', reason: 'test', untilMs: null, cause: null } as const;
  const aside = { ...quarantine, untilMs: inMinutes(5) };
  const handedOver = { installation, agentStarted: null };
  test.each<readonly [string, Partial<MachineRow>, string, number, string, HoldRow | null]>([
    ['an order expires', { order }, 'drain', 5, 'serve', null],
    ['an order after the handover expires', { ...handedOver, order }, 'drain', 5, 'serve', null],
    ['the agent falls silent after it', { installation }, 'drop', SILENT, 'serve', null],
    ['what is to be given back falls silent', { deprovision }, 'drain', SILENT, 'drop', null],
    ['what was put aside falls silent', { quarantine }, 'drain', SILENT, 'drop', null],
    ['what was put aside is not any more', { quarantine: aside }, 'drain', 5, 'serve', null],
    ['a hold ends', {}, 'drain', 5, 'serve', hold('no-serve', inMinutes(5))],
  ])('%s', (_, change, before, minutes, after, held) => {
    open(poolOf({ pool: 'api', memberStates: ['Running', 'HandedOver'] }));
    put(healthy(change), held ? [held] : []);
    repository.onFacts(facts);
    expect(wants()).toBe(before);
    pass(minutes * 60_000 - 1);
    expect(wants()).toBe(before);
    const told = moments;
    pass(2);
    expect(wants()).toBe(after);
    expect(moments - told, 'once, when it is due').toBeLessThanOrEqual(3);
    pass(86_400_000);
    repository.stop();
    expect(clock.pending).toBe(0);
  });
  test('ignores machines that no pool selects', () => {
    open(poolOf(ELSEWHERE));
    put(healthy({ members: [], order: orderRow({ expiresAtMs: inMinutes(5) }) }));
    repository.onFacts(facts);
    expect(clock.pending).toBe(0);
  });
});

describe('a listener of desired members', () => {
  test('is called a moment later, once for many changes, and only for real changes', () => {
    put(healthy());
    repository.onFacts(facts);
    put(healthy({ order: orderRow() }));
    repository.onView(view());
    pass(DEBOUNCE_MS - 1);
    expect(told).toEqual([]);
    pass(1);
    expect(told).toEqual(['api']);
    const heartbeat = { atMs: NOW_MS, bootId: 'boot-1' };
    put(healthy({ order: orderRow(), heartbeat }));
    repository.onView(view());
    repository.onFacts(facts);
    repository.onGuard();
    pass(60_000);
    expect(told).toEqual(['api']);
    repository.onVanished(SLOT);
    pass(DEBOUNCE_MS);
    expect(told).toEqual(['api', 'api']);
  });
  test('is called for its own pool and selector only', () => {
    open(poolOf({ pool: 'api' }), poolOf({ pool: 'web', ...ELSEWHERE }));
    put(healthy());
    repository.onFacts(facts);
    pass(DEBOUNCE_MS);
    expect(told).toEqual(['api']);
    expect([wants('api'), wants('web'), wants('unknown')]).toEqual(['serve', null, null]);
  });
  test('is not called after it unsubscribed or after the stop', () => {
    const end = repository.onChange('api', () => told.push('again'));
    end();
    put(healthy());
    repository.onFacts(facts);
    repository.stop();
    pass(60_000);
    expect(told).toEqual([]);
    expect(clock.pending).toBe(0);
  });
});

test('costs nothing without pools', () => {
  open();
  put(healthy());
  repository.onFacts(facts);
  repository.onView(view());
  expect(repository.of('api').size).toBe(0);
  expect([moments, clock.pending]).toEqual([0, 0]);
});
