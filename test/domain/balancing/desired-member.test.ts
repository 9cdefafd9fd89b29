import { describe, expect, test } from 'vitest';
import { memberAddress, wishOf } from '../../../src/domain/balancing/desired-member.ts';
import type { Pool } from '../../../src/domain/balancing/pools.ts';
import type { MachineRow } from '../../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../../src/domain/policy.ts';
import type { GuardState } from '../../../src/domain/recovery/guard-status.ts';
import { viewOf } from '../../../src/domain/view.ts';
import { NOW_MS, provided, requestRow } from '../../support/facts.ts';
import { factsOf, rowsIn } from '../../support/fact-words.ts';
import { pool as poolOf } from './pool.ts';
import { testRows } from '../../support/rows.ts';

const MOMENT = { nowMs: NOW_MS, loss: DEFAULT_LOSS };

interface WishCase {
  readonly guard?: GuardState | null;
  readonly pool?: Partial<Pool>;
  readonly row?: Partial<MachineRow>;
}
/** The desired state of a healthy member, changed as the words say. */
function wished(words: string, { guard = 'watching', pool = {}, row }: WishCase = {}) {
  const known = factsOf(['heard 1s, member active', words].filter(Boolean).join(', '), row);
  const standings =
    guard === null ? [] : [{ scope: 'fleet', state: guard, sinceMs: null, reason: null }];
  return wishOf(known, viewOf(known, MOMENT), poolOf(pool), { ...MOMENT, standings });
}
const wants = (...of: Parameters<typeof wished>) => wished(...of)?.want ?? null;
const onMoon = { pool: { select: { ...poolOf().select, locations: ['moon'] } } };

testRows(
  rowsIn(`
                                           → serve
    heard 90s                              → serve
    order reboot 0                         → serve
    hold no-serve                          → drain
    hold no-serve 0                        → serve
    hold retired                           → drain
    hold retired 0                         → serve
    hold no-recover, hold preserve         → serve
    order reboot                           → drain
    order reboot force                     → drain
    deprovision                            → drain
    quarantine byOperator                  → drain
    install due                            → drain
    status Missing                         → drop
    status Stopped                         → drop
    quarantine needsHuman                  → drop
    work Recovery, next 0                  → drop
    beat 1s, started 0                     → drop
    unreadable                             → keep`),
)('decides for a member with "%s": %s', (words, want) => {
  expect(wants(words)).toBe(want);
});

test('lets a healthy selected machine serve at its address', () => {
  expect(wished('')).toMatchObject({ want: 'serve', address: '192.0.2.1' });
});
test('ignores a slot without a machine and a machine that was never selected', () => {
  expect(wants('slot, device')).toBeNull();
  expect(wants('', { ...onMoon, row: { members: [] } })).toBeNull();
});
test('removes a machine at once when its agent is started again', () => {
  expect(wants('', { row: { agentStarted: null } })).toBe('drop');
});

describe('planned drains', () => {
  testRows([
    ['order reboot', { reason: 'ann asked for reboot: it is slow', force: false }],
    ['order reboot force', { force: true }],
    ['deprovision', { leaves: true, askedAtMs: NOW_MS }],
    ['quarantine byOperator', { leaves: true, askedAtMs: null }],
    ['install due', { reason: 'an operating system will be installed' }],
  ] as const)('give their reason and time: %s', (words, expected) => {
    expect(wished(words)).toMatchObject({ want: 'drain', ...expected });
  });
  test('give the time since which their order waits', () => {
    const requests = [requestRow({ verb: 'reboot', createdAtMs: NOW_MS - 5_000 })];
    const known = { ...factsOf('heard 1s, member active, order reboot'), requests };
    const wish = wishOf(known, viewOf(known, MOMENT), poolOf(), { ...MOMENT, standings: [] });
    expect(wish).toMatchObject({ askedAtMs: NOW_MS - 5_000 });
  });
  test('decides for a member that is no longer selected', () => {
    expect(wished('', onMoon)).toMatchObject({ want: 'drain', leaves: true });
  });
});

describe('decides for a silent machine', () => {
  testRows([
    ['watching', 'drop'],
    ['suspicious', 'drop'],
    ['frozen', 'keep'],
    ['grace', 'keep'],
    ['blind', 'keep'],
    [null, 'keep'],
  ] as const)('decides while the guard is %s: %s', (guard, want) => {
    expect(wants('heard 50m', { guard })).toBe(want);
    // A person who requests the drain does not ask for the machine's health: it is drained with
    // patience.
    const asked = want === 'keep' ? 'drain' : want;
    expect(wants('heard 50m, deprovision', { guard })).toBe(asked);
    expect(wants('heard 50m, order reboot', { guard })).toBe(asked);
  });
  testRows([
    ['order reboot, work Recovery', true],
    ['order reinstall, work Reinstall', true],
    ['deprovision, work Deprovision', true],
    ['work Recovery', false],
    ['order reboot 0, work Recovery', false],
    ['order reboot', false],
  ] as const)('decides for a machine under ordered work: %s: %s', (words, isOrdered) => {
    const wish = wished(`heard 50m, ${words}`);
    expect(wish?.want).toBe('drop');
    expect(wish && 'isOrdered' in wish).toBe(isOrdered);
  });
});

describe('changes nothing when facts are unknown', () => {
  test('decides for a selector over a field that no listing shows', () => {
    const pool = { select: { ...poolOf().select, plans: ['c3.small'] } };
    expect(wants('unlisted', { pool })).toBe('keep');
    expect(wants('unlisted', { pool, row: { members: [] } })).toBeNull();
  });
  test('decides for a machine without an address', () => {
    expect(wants('unlisted', { row: { provided: provided({ address: null }) } })).toBe('keep');
  });
});

testRows([
  ['192.0.2.1', '192.0.2.1'],
  ['192.0.2.1:22', '192.0.2.1'],
  ['2001:DB8:0::10', '2001:db8::10'],
  ['[2001:db8::1]:22', '2001:db8::1'],
  ['machine.example', null],
  [null, null],
])('chooses as address of %s: %s', (text, address) => {
  expect(memberAddress(text)).toBe(address);
});
