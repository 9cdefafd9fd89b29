import { describe, expect, test } from 'vitest';
import type { MemberRow } from '../../src/domain/balancing/members.ts';
import {
  askRefusal,
  handOutRefusal,
  ineligibility,
  refusal,
} from '../../src/domain/eligibility.ts';
import type { MachineRow, Process, SlotFacts } from '../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { orderRefusal } from '../../src/domain/requests.ts';
import { viewOf } from '../../src/domain/view.ts';
import type { MachineView } from '../../src/domain/view.ts';
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
  requestRow,
  slotFacts,
} from '../support/facts.ts';

/** What may not be done to a machine while a load balancer may be sending traffic to it. */

const MINUTE = 60_000;
const now = { holds: [], nowMs: NOW_MS, loss: DEFAULT_LOSS };
const SERVES = 'it still serves';

const active = memberRow();
const drained = memberRow({ state: 'drained', how: 'no-sessions' });
const healthy = {
  agentStarted: agentStarted(NOW_MS - 60 * MINUTE),
  heartbeat: { atMs: NOW_MS, bootId: 'boot-1' },
};
/** Lost so long ago. */
const lost = (agoMs: number): Partial<MachineRow> => ({
  agentStarted: agentStarted(NOW_MS - 60 * MINUTE),
  heartbeat: { atMs: NOW_MS - DEFAULT_LOSS.heartbeatMs - agoMs, bootId: 'boot-1' },
});
const givenUp = (agoMs: number): Partial<MachineRow> => ({
  startAttempt: { atMs: NOW_MS - agoMs, count: 6, unreached: 0 },
});
const leaving = (drain: 'skip' | 'force' | null) => ({ deprovision: deprovisionAsked({ drain }) });

describe('a machine that a balancer may be sending traffic to', () => {
  test.each<readonly [string, Process, Partial<MachineRow>, string | null]>([
    ['an order waits', 'ShepherdRecovery', { ...healthy, order: orderRow() }, SERVES],
    [
      'an order that is to force it waits as well',
      'ShepherdRecovery',
      { ...healthy, order: orderRow({ drain: 'force' }) },
      SERVES,
    ],
    [
      'an order that skips it does not wait',
      'ShepherdRecovery',
      { ...healthy, order: orderRow({ drain: 'skip' }) },
      null,
    ],
    [
      'an order to reinstall waits',
      'ShepherdReinstall',
      { ...healthy, order: orderRow({ verb: 'reinstall' }) },
      SERVES,
    ],
    ['the ladder waits', 'ShepherdRecovery', lost(1), SERVES],
    ['for ten minutes', 'ShepherdRecovery', lost(10 * MINUTE), SERVES],
    ['and no longer', 'ShepherdRecovery', lost(10 * MINUTE + 1), null],
    [
      'nor does an order of a machine that is lost',
      'ShepherdRecovery',
      { ...lost(10 * MINUTE + 1), order: orderRow() },
      null,
    ],
    ['without an agent it waits as long', 'ShepherdRecovery', givenUp(10 * MINUTE), SERVES],
    ['from the last attempt on', 'ShepherdRecovery', givenUp(10 * MINUTE + 1), null],
    [
      'without an attempt it does not wait',
      'ShepherdRecovery',
      { startAttempt: { atMs: null, count: 6, unreached: 0 } },
      null,
    ],
    ['but an order does', 'ShepherdRecovery', { order: orderRow() }, SERVES],
    ['who gives it back waits', 'ShepherdDeprovision', leaving(null), SERVES],
    ['who gives it back by force waits, too', 'ShepherdDeprovision', leaving('force'), SERVES],
    [
      'however long it is lost',
      'ShepherdDeprovision',
      { ...lost(60 * MINUTE), ...leaving(null) },
      SERVES,
    ],
    ['unless that is to be skipped', 'ShepherdDeprovision', leaving('skip'), null],
    ['an agent may be started', 'ShepherdAgentStart', {}, null],
    ['other reasons come first', 'ShepherdRecovery', healthy, 'it is not lost'],
    [
      'a cool-down comes first',
      'ShepherdRecovery',
      { ...lost(1), recovery: ladderRow({ attempts: 1, nextAtMs: NOW_MS + 1 }) },
      'it cools down after an attempt',
    ],
  ])('%s', (_, process, change, expected) => {
    expect(refusal(process, machineRow({ ...change, members: [active] }), now)).toBe(expected);
  });

  test.each<readonly [string, Partial<MemberRow>, boolean]>([
    ['joining', { state: 'joining' }, true],
    ['warming', { state: 'warming' }, true],
    ['active', {}, true],
    ['draining', { state: 'draining', deadlineMs: NOW_MS - 1 }, true],
    ['drained', { state: 'drained', how: 'grace' }, false],
    ['given up on its balancer', { waived: true }, false],
    ['refused', { refused: true }, true],
  ])('is one that is %s: %o %s', (_, change, serves) => {
    const row = machineRow({ ...healthy, order: orderRow(), members: [memberRow(change)] });
    expect(refusal('ShepherdRecovery', row, now)).toBe(serves ? SERVES : null);
    expect(handOutRefusal(row, now)).toBe(serves ? SERVES : null);
  });

  test('is one as long as one balancer of several has not let it go', () => {
    const members = [drained, memberRow({ balancer: 'back' })];
    const row = machineRow({ ...healthy, order: orderRow(), members });
    expect(refusal('ShepherdRecovery', row, now)).toBe(SERVES);
    expect(refusal('ShepherdRecovery', { ...row, members: [drained, drained] }, now)).toBeNull();
  });

  test('counts as one for the process, and what was claimed may be asked for', () => {
    const row = machineRow({ ...lost(1), members: [active] });
    expect(ineligibility('ShepherdRecovery', row, now)).toBeNull();
    expect(askRefusal('ShepherdRecovery', row, now)).toBeNull();
  });
});

describe('an order that a pool refuses for good', () => {
  const order = orderRow();
  const request = requestRow({ key: order.key, verb: 'reboot' });
  const why = 'refused: balancer front cannot be reached since 12:00:03';
  const refused = memberRow({ refused: true, note: why });
  const told = (change: Partial<MachineRow>) =>
    orderRefusal({ ...request, verb: 'reboot' }, machineRow({ ...healthy, order, ...change }), now);

  test.each<readonly [string, Partial<MachineRow>, string | null]>([
    ['ends with its reason', { members: [active, refused] }, why],
    [
      'and with a plain one where none is given',
      { members: [{ ...refused, note: null }] },
      'pool api at front does not let it go',
    ],
    ['not while it may yet be let go', { members: [memberRow({ note: why })] }, null],
    ['not once it was let go', { members: [{ ...refused, state: 'drained', how: 'gone' }] }, null],
    ['not if it is to skip that', { members: [refused], order: orderRow({ drain: 'skip' }) }, null],
    [
      'not while it is carried out',
      { members: [refused], work: [liveWork('ShepherdRecovery')] },
      null,
    ],
  ])('%s', (_, change, expected) => {
    expect(told(change)).toBe(expected);
  });
});

describe('what a machine shows that waits until it is let go', () => {
  const draining = memberRow({
    state: 'draining',
    deadlineMs: Date.UTC(2026, 0, 1, 12, 0, 3),
    sessions: 3,
  });
  const view = (change: Partial<MachineRow>, more: Partial<SlotFacts> = {}) =>
    viewOf(slotFacts({ row: machineRow(change), listed: device(), ...more }), now);

  test.each<readonly [string, Partial<MachineRow>, Partial<MachineView>]>([
    [
      'an order',
      { ...healthy, order: orderRow(), members: [draining] },
      {
        ...{ state: 'Running', substate: 'healthy', next: null },
        reason:
          'ann asked for a reboot: it is slow; waits until pool api at front lets it go: ' +
          '3 connections, until 12:00:03 UTC',
      },
    ],
    [
      'one connection, at one of two balancers',
      {
        ...healthy,
        order: orderRow(),
        members: [
          { ...draining, sessions: 1, note: 'ann asked for reboot: it is slow' },
          memberRow({ balancer: 'back' }),
          drained,
        ],
      },
      {
        reason:
          'ann asked for a reboot: it is slow; waits until pool api at front lets it go: ' +
          '1 connection, until 12:00:03 UTC, and pool api at back lets it go',
      },
    ],
    [
      'why it is not let go yet',
      { ...healthy, order: orderRow(), members: [memberRow({ note: 'it is the last one' })] },
      {
        reason:
          'ann asked for a reboot: it is slow; waits until pool api at front lets it go: ' +
          'it is the last one',
      },
    ],
    [
      'that the balancer cannot be reached while it drains',
      {
        ...healthy,
        order: orderRow(),
        members: [{ ...draining, refused: true, note: 'refused: it does not answer' }],
      },
      { reason: expect.stringContaining('lets it go: refused: it does not answer') as string },
    ],
    [
      'an order that waits for nothing',
      { ...healthy, order: orderRow({ drain: 'skip' }), members: [draining] },
      { next: 'recovery', reason: 'ann asked for a reboot: it is slow' },
    ],
    [
      'its way back to the provider',
      { deprovision: deprovisionAsked(), members: [{ ...draining, sessions: null }] },
      {
        ...{ state: 'Deprovisioning', substate: 'draining', next: null },
        reason:
          'ann asked for it: it is not needed; waits until pool api at front lets it go: ' +
          'until 12:00:03 UTC',
      },
    ],
    [
      'its way back, once it was let go',
      { deprovision: deprovisionAsked(), members: [drained] },
      { state: 'Deprovisioning', substate: 'deleting', next: 'deprovision' },
    ],
    [
      'the ladder',
      { ...lost(1), members: [active] },
      {
        ...{ state: 'Running', substate: 'silent', next: null },
        reason: expect.stringMatching(
          /^no heartbeat within the deadline; waits until pool api at front lets it go; recovery waits until \d\d:\d\d:\d\d UTC at most$/,
        ),
        dueAtMs: NOW_MS - 1 + 10 * MINUTE,
      },
    ],
    [
      'a machine whose agent start was given up, which is not begun again meanwhile',
      { ...givenUp(1), members: [active] },
      {
        ...{ state: 'Provisioned', substate: 'waiting', next: null },
        reason: expect.stringMatching(
          /^agent start was given up; .*; waits until pool api at front/,
        ),
      },
    ],
    [
      'what it is to its pools',
      { ...healthy, members: [{ ...draining, note: 'slow' }] },
      {
        ...{ state: 'Running', substate: 'healthy', reason: null },
        members: [{ pool: 'api', balancer: 'front', state: 'draining', note: 'slow' }],
      },
    ],
  ])('%s', (_, change, expected) => {
    expect(view(change)).toMatchObject(expected);
  });

  test('a hold of its pools changes nothing else', () => {
    const holds = [hold('no-serve')];
    expect(view(healthy, { holds })).toMatchObject({
      ...{ state: 'Running', substate: 'healthy', reason: null },
      holds: ['no-serve'],
    });
  });
});
