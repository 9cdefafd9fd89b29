import { describe, expect, test } from 'vitest';
import type { ProviderName } from '../../src/domain/ids.ts';
import type { MachineRow, SlotFacts } from '../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { viewOf, worksElsewhere, type MachineView } from '../../src/domain/view.ts';
import {
  agentStarted,
  backoff,
  deprovisionAsked,
  device,
  free,
  hold,
  intentRow,
  ladderRow,
  liveWork,
  machineRow,
  NOW_MS,
  orderRow,
  penaltyRow,
  provided,
  PROVIDER,
  SESSION,
  slotFacts,
} from '../support/facts.ts';
import { testRows } from '../support/rows.ts';

const MINUTE = 60_000;
const moment = { nowMs: NOW_MS, loss: DEFAULT_LOSS };
const view = (change: Partial<SlotFacts>, nowMs = NOW_MS): MachineView =>
  viewOf(slotFacts(change), { ...moment, nowMs });
const row = (change: Partial<MachineRow> = {}, more: Partial<SlotFacts> = {}) => ({
  row: machineRow(change),
  listed: device(),
  ...more,
});
const installing = { requestGeneration: 2n, reportGeneration: null, reportResult: null } as const;
const pending = { ...installing, handedOutAtMs: NOW_MS - MINUTE };
const done = { ...pending, reportGeneration: 2n, reportResult: 'Success' } as const;
const failed = { ...done, reportResult: 'Error' } as const;
const heard = (agoMs: number) => ({
  agentStarted: agentStarted(NOW_MS - 60 * MINUTE),
  heartbeat: { atMs: NOW_MS - agoMs, bootId: 'boot-1' },
});
const quarantine = (kind: 'conflict' | 'needsHuman' | 'byOperator', untilMs: number | null) => ({
  quarantine: { kind, reason: 'because', untilMs },
});
const recovering = ladderRow({ attempts: 1, askedAtMs: NOW_MS, askedRung: 'rebooting' });
const nextTryIn = (ms: number) => ({ recovery: { ...recovering, nextAtMs: NOW_MS + ms } });

/** The rules in their order, each with every rule below it true as well where that is possible. */
const NEWER = 'a newer program recovers it, on its rung soaking';
const TRUTH: readonly (readonly [string, Partial<SlotFacts>, Partial<MachineView>])[] = [
  [
    'what cannot be read is parked, whatever the rest says',
    row({ ...quarantine('byOperator', null), unreadable: 'it is new; upgrade', ...heard(0) }),
    { state: 'Quarantined', substate: 'conflict', reason: 'it is new; upgrade', next: null },
  ],
  [
    'a quarantine in the rows beats everything else',
    row({ ...quarantine('needsHuman', null), deprovision: deprovisionAsked(), permit: true }),
    { state: 'Quarantined', substate: 'needsHuman', reason: 'because', next: null },
  ],
  [
    'a quarantine with an end is over after it',
    row(quarantine('byOperator', NOW_MS)),
    { state: 'Provisioned', substate: 'waiting' },
  ],
  [
    'a quarantine with an end names it',
    row(quarantine('byOperator', NOW_MS + MINUTE)),
    { state: 'Quarantined', substate: 'byOperator', dueAtMs: NOW_MS + MINUTE },
  ],
  [
    'a deprovision request beats a missing device',
    row({ deprovision: deprovisionAsked(), provided: provided({ status: 'Missing' }) }),
    { state: 'Deprovisioning', substate: 'deleting' },
  ],
  [
    'without a device only the slot is left to be cleaned',
    row({ deprovision: deprovisionAsked() }, { listed: free() }),
    { state: 'Deprovisioning', substate: 'cleaning' },
  ],
  [
    'a deprovision request is due at once, and says who asked',
    row({ deprovision: deprovisionAsked() }),
    { state: 'Deprovisioning', next: 'deprovision', reason: 'ann asked for it: it is not needed' },
  ],
  [
    'not while somebody works on the machine',
    row({ deprovision: deprovisionAsked(), work: [liveWork('ShepherdDeprovision')] }),
    { state: 'Deprovisioning', next: null, reason: 'it is being worked on' },
  ],
  [
    'nor before its backoff is over',
    row({
      deprovision: deprovisionAsked(),
      backoffs: [backoff('ShepherdDeprovision', NOW_MS + MINUTE)],
    }),
    { state: 'Deprovisioning', next: null, reason: 'it failed', dueAtMs: NOW_MS + MINUTE },
  ],
  [
    'nor under a hold that preserves it',
    row({ deprovision: deprovisionAsked() }, { holds: [hold('preserve')] }),
    { state: 'Deprovisioning', next: null, reason: 'a hold forbids it' },
  ],
  [
    'a missing device beats work and agent',
    row({ provided: provided({ status: 'Missing' }), permit: true, ...heard(0) }),
    { state: 'Quarantined', substate: 'missing', next: null },
  ],
  [
    'a conflict beats work and agent',
    row({ work: [liveWork('ShepherdRecovery')] }, { conflict: 'two devices' }),
    { state: 'Quarantined', substate: 'conflict', reason: 'two devices' },
  ],
  [
    'a device of ours without row or intent is a conflict',
    { listed: device() },
    { state: 'Quarantined', substate: 'conflict', providerId: 'device-1', machineId: null },
  ],
  [
    'live recovery shows its rung',
    row({ work: [liveWork('ShepherdRecovery')], ...nextTryIn(0), permit: true }),
    { state: 'Recovering', substate: 'rebooting', next: null },
  ],
  [
    'on a rung that only a newer program knows, it is recovered elsewhere',
    row({ work: [liveWork('ShepherdRecovery')], unknownRung: 'soaking', permit: true }),
    { state: 'Recovering', substate: 'elsewhere', reason: NEWER, next: null },
  ],
  [
    'and left to it between two attempts',
    row({ unknownRung: 'soaking', permit: true, ...heard(60 * MINUTE) }),
    { state: 'Recovering', substate: 'coolingDown', reason: NEWER, next: null },
  ],
  [
    'and when it is silent and nobody is at it',
    row({ unknownRung: 'soaking', ...heard(60 * MINUTE) }),
    { state: 'Running', substate: 'silent', reason: 'a newer program recovers it', next: null },
  ],
  [
    'while its agent may be started by anybody',
    row({ unknownRung: 'soaking' }),
    { state: 'Provisioned', substate: 'waiting', next: 'agentStart' },
  ],
  [
    'a reinstallation is recovery too',
    row({ work: [liveWork('ShepherdReinstall')], ...nextTryIn(0), installation: done }),
    { state: 'Recovering', substate: 'reinstalling' },
  ],
  [
    'recovery that has asked for nothing yet begins with the agent',
    row({ work: [liveWork('ShepherdRecovery')], ...heard(60 * MINUTE), permit: true }),
    { state: 'Recovering', substate: 'restartingAgent' },
  ],
  [
    'or with a reboot, where there is no agent',
    row({ work: [liveWork('ShepherdRecovery')], permit: true }),
    { state: 'Recovering', substate: 'rebooting' },
  ],
  [
    'or with what an operator asked for',
    row({ work: [liveWork('ShepherdRecovery')], ...heard(0), order: orderRow() }),
    { state: 'Recovering', substate: 'rebooting' },
  ],
  [
    'what an operator had done shows, wherever the ladder stands',
    row({
      work: [liveWork('ShepherdRecovery')],
      recovery: ladderRow({ rung: 'powerCycling', askedAtMs: NOW_MS, askedRung: 'rebooting' }),
    }),
    { state: 'Recovering', substate: 'rebooting' },
  ],
  [
    'a permit without work cools down, until the next try',
    row({ permit: true, ...heard(20 * MINUTE), ...nextTryIn(MINUTE) }),
    { state: 'Recovering', substate: 'coolingDown', next: null, dueAtMs: NOW_MS + MINUTE },
  ],
  [
    'a permit whose next try has come is due',
    row({ permit: true, ...heard(20 * MINUTE), ...nextTryIn(-MINUTE) }),
    { state: 'Recovering', substate: 'coolingDown', next: 'recovery' },
  ],
  [
    'live agent start, by whomever',
    row({ work: [liveWork('ShepherdAgentStart')], installation: done }),
    { state: 'AgentStarting', substate: 'elsewhere', next: null },
  ],
  [
    'work that excludes nothing changes nothing',
    row({ work: [liveWork('ShepherdAccess')], ...heard(0) }),
    { state: 'Running', substate: 'healthy' },
  ],
  [
    'a finished installation hands over, agent or not',
    row({ installation: done, ...heard(0) }),
    { state: 'HandedOver', substate: 'installed', next: null },
  ],
  [
    'a failed installation changes no state',
    row({ installation: failed, ...heard(0) }),
    { state: 'Running', substate: 'healthy' },
  ],
  [
    'silence beyond the limit is due for recovery',
    row(heard(10 * MINUTE + 1)),
    { state: 'Running', substate: 'silent', next: 'recovery' },
  ],
  [
    'silence under a hold waits for the operator',
    row(heard(11 * MINUTE), { holds: [hold('no-recover')] }),
    { state: 'Running', substate: 'silent', next: null, reason: 'a hold forbids it' },
  ],
  [
    'silence in backoff waits for its end',
    row({ ...heard(11 * MINUTE), backoffs: [backoff('ShepherdRecovery', NOW_MS + MINUTE)] }),
    { state: 'Running', substate: 'silent', next: null, dueAtMs: NOW_MS + MINUTE },
  ],
  [
    'an installation that was handed out excuses silence',
    row({ ...heard(11 * MINUTE), installation: pending }),
    { state: 'Running', substate: 'installingOs', dueAtMs: NOW_MS + 29 * MINUTE },
  ],
  [
    'an agent that was never heard',
    row({ agentStarted: agentStarted(NOW_MS - MINUTE) }),
    { state: 'Running', substate: 'awaitingHeartbeat', dueAtMs: NOW_MS + 29 * MINUTE },
  ],
  [
    'a heartbeat of an earlier agent counts for nothing',
    row({ ...heard(MINUTE), agentStarted: agentStarted(NOW_MS - MINUTE / 2) }),
    { state: 'Running', substate: 'awaitingHeartbeat' },
  ],
  [
    'two periods without a heartbeat are late',
    row(heard(2 * DEFAULT_LOSS.periodMs + 1)),
    { state: 'Running', substate: 'late' },
  ],
  [
    'a heartbeat in time',
    row(heard(2 * DEFAULT_LOSS.periodMs)),
    { state: 'Running', substate: 'healthy', dueAtMs: NOW_MS },
  ],
  [
    'a device that failed for good',
    row({ provided: provided({ status: 'ProvisioningFailedPermanent' }) }),
    { state: 'Provisioned', substate: 'failed', next: null },
  ],
  [
    'a device in installation',
    row({ provided: provided({ status: 'Provisioning' }) }),
    { state: 'Provisioned', substate: 'installing', next: null },
  ],
  [
    'a device that is switched off',
    row({ provided: provided({ status: 'Stopped' }) }),
    { state: 'Provisioned', substate: 'stopped', next: null },
  ],
  [
    'a failed start waits',
    row({ backoffs: [backoff('ShepherdAgentStart', NOW_MS + MINUTE, 'no route')] }),
    {
      state: 'Provisioned',
      substate: 'backingOff',
      reason: 'no route',
      next: null,
      dueAtMs: NOW_MS + MINUTE,
    },
  ],
  [
    'a start that was given up is due for recovery',
    row({ startAttempt: { atMs: NOW_MS, count: 6, unreached: 0 } }),
    { state: 'Provisioned', substate: 'waiting', next: 'recovery' },
  ],
  [
    'a machine under a hold waits for the operator',
    row({}, { holds: [hold('no-start')] }),
    { state: 'Provisioned', substate: 'waiting', next: null, reason: 'a hold forbids it' },
  ],
  [
    'a machine that is due for its agent',
    row(),
    { state: 'Provisioned', substate: 'waiting', next: 'agentStart' },
  ],
  [
    'an intent beats penalty and device',
    { intent: intentRow(), listed: device(), penalty: penaltyRow(NOW_MS + MINUTE) },
    { state: 'Reserved', substate: 'creating', machineId: intentRow().machineId },
  ],
  [
    'a slot on the shelf',
    { listed: free(), penalty: penaltyRow(NOW_MS + MINUTE) },
    { state: 'Reserved', substate: 'penalised', dueAtMs: NOW_MS + MINUTE },
  ],
  [
    'a slot whose shelf time is over',
    { listed: free(), penalty: penaltyRow(NOW_MS) },
    { state: 'Reserved', substate: 'available', next: null, dueAtMs: null },
  ],
  ['a slot that a complete listing lacks', {}, { state: 'Released', substate: 'gone' }],
  [
    'a slot that a partial listing lacks is not gone',
    { listingComplete: false },
    { state: 'Reserved', substate: 'available' },
  ],
];

describe('viewOf: the first rule that matches decides', () => {
  testRows(TRUTH)('shows %s', (_, facts, expected) => {
    expect(view(facts)).toMatchObject(expected);
  });

  test('active holds are shown, and change nothing of the state', () => {
    const held = view(row(heard(0), { holds: [hold('preserve'), hold('no-start', NOW_MS)] }));
    expect(held).toMatchObject({ state: 'Running', substate: 'healthy', holds: ['preserve'] });
  });

  test('a hold that ends is due at its end', () => {
    const held = row({}, { holds: [hold('no-start', NOW_MS + MINUTE)] });
    expect(view(held)).toMatchObject({ next: null, dueAtMs: NOW_MS + MINUTE });
    expect(view(held, NOW_MS + MINUTE + 1).next).toBe('agentStart');
  });

  test('a start that nobody finished is given up by the clock alone', () => {
    const begun = row({ startAttempt: { atMs: NOW_MS - MINUTE, count: 0, unreached: 0 } });
    expect(view(begun)).toMatchObject({ next: 'agentStart', dueAtMs: NOW_MS + 29 * MINUTE });
  });

  test('the device of the row tells where the machine is, else the listing', () => {
    expect(view({ listed: free({ location: 'east' }) })).toMatchObject({
      reservationId: 'rack-1',
      location: 'east',
      address: null,
    });
    const elsewhere = row({}, { listed: device({ address: '192.0.2.99' }) });
    expect(view(elsewhere).address).toBe('192.0.2.1');
  });
});

test('work of another session is elsewhere', () => {
  expect(worksElsewhere(null, SESSION)).toBe(false);
  const busy = machineRow({ work: [liveWork('ShepherdAgentStart')] });
  expect(worksElsewhere(busy, SESSION)).toBe(false);
  expect(worksElsewhere(busy, null)).toBe(true);
});

test('nothing is due for a machine whose provider is not configured here', () => {
  const elsewhere = { ...moment, providers: new Set<ProviderName>() };
  const here = { ...moment, providers: new Set([PROVIDER]) };
  const reason = `provider ${PROVIDER} is not configured here`;
  const due = [
    [row(), 'agentStart', { state: 'Provisioned', substate: 'waiting' }],
    [
      row({ agentStarted: agentStarted(NOW_MS - 90 * MINUTE) }),
      'recovery',
      { state: 'Running', substate: 'silent' },
    ],
    [
      row({
        ...nextTryIn(-1),
        permit: true,
        startAttempt: { atMs: NOW_MS, count: 99, unreached: 0 },
      }),
      'recovery',
      { state: 'Recovering' },
    ],
  ] as const;
  for (const [change, next, shown] of due) {
    const facts = slotFacts(change);
    expect(viewOf(facts, here)).toMatchObject({ ...shown, next });
    expect(viewOf(facts, here)).toEqual(viewOf(facts, moment));
    expect(viewOf(facts, elsewhere)).toMatchObject({ ...shown, next: null, reason });
  }
  expect(viewOf(slotFacts(row(heard(0))), elsewhere)).toMatchObject({
    state: 'Running',
    substate: 'healthy',
    reason: null,
  });
});
