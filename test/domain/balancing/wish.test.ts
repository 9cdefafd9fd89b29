import { describe, expect, test } from 'vitest';
import { memberAddress, wishOf } from '../../../src/domain/balancing/wish.ts';
import type { Pool } from '../../../src/domain/balancing/pools.ts';
import type { MachineRow, SlotFacts } from '../../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../../src/domain/policy.ts';
import type { GuardState } from '../../../src/domain/recovery/standing.ts';
import { viewOf } from '../../../src/domain/view.ts';
import {
  agentStarted,
  deprovisionAsked,
  device,
  hold,
  ladderRow,
  liveWork,
  machineRow,
  memberRow,
  NOW_MS,
  orderRow,
  provided,
  requestRow,
  slotFacts,
} from '../../support/facts.ts';
import { pool as poolOf } from './pool.ts';
import { testRows } from '../../support/rows.ts';

const healthy = (change: Partial<MachineRow> = {}): MachineRow =>
  machineRow({
    agentStarted: agentStarted(NOW_MS - 3_600_000),
    heartbeat: { atMs: NOW_MS - 1_000, bootId: 'boot-1' },
    members: [memberRow({ pool: 'api' })],
    ...change,
  });
const silent = { heartbeat: { atMs: NOW_MS - 3_000_000, bootId: 'boot-1' } };

function wished(
  row: MachineRow | null,
  { guard = 'watching', pool = {}, ...facts }: WishCase = {},
): ReturnType<typeof wishOf> {
  const known = slotFacts({ row, listed: device(), ...facts });
  const view = viewOf(known, { nowMs: NOW_MS, loss: DEFAULT_LOSS });
  const standings = [{ scope: 'fleet', state: guard, sinceMs: null, reason: null }];
  return wishOf(known, view, poolOf(pool), { nowMs: NOW_MS, loss: DEFAULT_LOSS, standings });
}
interface WishCase extends Partial<SlotFacts> {
  readonly guard?: GuardState;
  readonly pool?: Partial<Pool>;
}
const wants = (...of: Parameters<typeof wished>) => wished(...of)?.want ?? null;

test('a machine that is well and selected serves, at its address', () => {
  expect(wished(healthy())).toMatchObject({ want: 'serve', address: '192.0.2.1' });
});
test('one that missed a heartbeat serves on', () => {
  expect(wants(healthy({ heartbeat: { atMs: NOW_MS - 90_000, bootId: 'boot-1' } }))).toBe('serve');
});
test('a slot without a machine is nothing to a pool, nor is a machine that it never selected', () => {
  expect(wants(null)).toBeNull();
  const elsewhere = { pool: { select: { ...poolOf().select, locations: ['moon'] } } };
  expect(wants(healthy({ members: [] }), elsewhere)).toBeNull();
});

describe('planned leaves', () => {
  testRows([
    [
      'an order',
      { order: orderRow() },
      { reason: 'ann asked for reboot: it is slow', force: false },
    ],
    ['an order by force', { order: orderRow({ drain: 'force' }) }, { force: true }],
    ['a deprovision', { deprovision: deprovisionAsked() }, { leaves: true, askedAtMs: NOW_MS }],
    [
      'a quarantine by an operator',
      { quarantine: { kind: 'byOperator', reason: 'aside', untilMs: null } },
      { leaves: true, askedAtMs: null },
    ],
    [
      'an installation',
      {
        installation: {
          requestGeneration: 1n,
          handedOutAtMs: null,
          reportGeneration: null,
          reportResult: null,
        },
      },
      { reason: 'an operating system is to be installed' },
    ],
  ] as const)('drains a machine: %s', (_, change, expected) => {
    expect(wished(healthy(change))).toMatchObject({ want: 'drain', ...expected });
  });
  test('an order tells since when it waits', () => {
    const requests = [requestRow({ verb: 'reboot', createdAtMs: NOW_MS - 5_000 })];
    const wish = wished(healthy({ order: orderRow() }), { requests });
    expect(wish).toMatchObject({ askedAtMs: NOW_MS - 5_000 });
  });
  test('an order that has expired asks nothing', () => {
    expect(wants(healthy({ order: orderRow({ expiresAtMs: NOW_MS }) }))).toBe('serve');
  });
  test('a hold no-serve; other holds remove nobody', () => {
    expect(wants(healthy(), { holds: [hold('no-serve')] })).toBe('drain');
    expect(wants(healthy(), { holds: [hold('no-serve', NOW_MS)] })).toBe('serve');
    expect(wants(healthy(), { holds: [hold('no-recover'), hold('preserve')] })).toBe('serve');
  });
  test('a member that is not selected any more', () => {
    const pool = { select: { ...poolOf().select, locations: ['moon'] } };
    expect(wished(healthy(), { pool })).toMatchObject({ want: 'drain', leaves: true });
  });
});

describe('unplanned leaves', () => {
  testRows([
    ['the provider does not know it', { provided: provided({ status: 'Missing' }) }],
    ['it is switched off', { provided: provided({ status: 'Stopped' }) }],
    ['a person is asked', { quarantine: { kind: 'needsHuman', reason: 'x', untilMs: null } }],
    ['it is being recovered', { work: [liveWork('ShepherdRecovery')], recovery: ladderRow() }],
    ['its agent is started anew', { agentStarted: null }],
    ['nothing was heard of its agent yet', { heartbeat: null, agentStarted: agentStarted(NOW_MS) }],
  ] as const)('drops a machine at once: %s', (_, change) => {
    expect(wants(healthy(change))).toBe('drop');
  });
  testRows([
    ['watching', 'drop'],
    ['suspicious', 'drop'],
    ['frozen', 'keep'],
    ['grace', 'keep'],
    ['blind', 'keep'],
  ] as const)('silent, while the guard is %s: %s', (guard, want) => {
    expect(wants(healthy(silent), { guard })).toBe(want);
    // Whoever asked for it does not ask how the machine is: it is let go with patience.
    const asked = want === 'keep' ? 'drain' : want;
    expect(wants(healthy({ ...silent, deprovision: deprovisionAsked() }), { guard })).toBe(asked);
    expect(wants(healthy({ ...silent, order: orderRow() }), { guard })).toBe(asked);
  });
  testRows([
    ['a reboot that somebody ordered', { order: orderRow() }, 'ShepherdRecovery', true],
    ['a reinstallation', { order: orderRow({ verb: 'reinstall' }) }, 'ShepherdReinstall', true],
    ['its giving back', { deprovision: deprovisionAsked() }, 'ShepherdDeprovision', true],
    ['its recovery, which nobody ordered', {}, 'ShepherdRecovery', false],
    [
      'its recovery after its order expired',
      { order: orderRow({ expiresAtMs: NOW_MS }) },
      'ShepherdRecovery',
      false,
    ],
  ] as const)('while it is worked on, for %s', (_, change, process, isOrdered) => {
    const row = healthy({ ...silent, ...change, work: [liveWork(process)] });
    const wish = wished(row);
    expect(wish?.want).toBe('drop');
    expect(wish && 'isOrdered' in wish).toBe(isOrdered);
  });
  test('an order that only waits explains no silence', () => {
    expect(wished(healthy({ ...silent, order: orderRow() }))).not.toHaveProperty('isOrdered');
  });
  test('before anybody assessed the fleet, silence means nothing', () => {
    const known = slotFacts({ row: healthy(silent) });
    const moment = { nowMs: NOW_MS, loss: DEFAULT_LOSS };
    const view = viewOf(known, moment);
    expect(wishOf(known, view, poolOf(), { ...moment, standings: [] })?.want).toBe('keep');
  });
});

describe('what nobody can tell changes nothing', () => {
  test('rows that cannot be read', () => {
    expect(wants(healthy({ unreadable: 'a newer program wrote it' }))).toBe('keep');
  });
  test('a selector that asks what no listing shows', () => {
    const pool = { select: { ...poolOf().select, plans: ['c3.small'] } };
    expect(wants(healthy(), { pool, listed: null })).toBe('keep');
    expect(wants(healthy({ members: [] }), { pool, listed: null })).toBeNull();
  });
  test('no address', () => {
    const row = healthy({ provided: provided({ address: null }) });
    expect(wants(row, { listed: null })).toBe('keep');
  });
});

testRows([
  ['192.0.2.1', '192.0.2.1'],
  ['192.0.2.1:22', '192.0.2.1'],
  ['2001:DB8:0::10', '2001:db8::10'],
  ['[2001:db8::1]:22', '2001:db8::1'],
  ['machine.example', null],
  [null, null],
])('the address of %s is %s', (text, address) => {
  expect(memberAddress(text)).toBe(address);
});
