import { describe, expect, test } from 'vitest';
import type { ProviderName } from '../../src/domain/ids.ts';
import type { MachineRow, SlotFacts } from '../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { viewOf, type MachineView } from '../../src/domain/view.ts';
import {
  agentStarted,
  backoff,
  deprovisionAsked,
  device,
  hold,
  ladderRow,
  liveWork,
  machineRow,
  NOW_MS,
  orderRow,
  provided,
  requestRow,
  slotFacts,
} from '../support/facts.ts';

/** What operators ask for and set aside, as the view of a machine shows it. */

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
const heard = (agoMs: number) => ({
  agentStarted: agentStarted(NOW_MS - 60 * MINUTE),
  heartbeat: { atMs: NOW_MS - agoMs, bootId: 'boot-1' },
});
const quarantine = (kind: 'conflict' | 'needsHuman' | 'byOperator', untilMs: number | null) => ({
  quarantine: { kind, reason: 'because', untilMs },
});
const recovering = ladderRow({ attempts: 1, askedAtMs: NOW_MS, askedRung: 'rebooting' });
const nextTryIn = (ms: number) => ({ recovery: { ...recovering, nextAtMs: NOW_MS + ms } });

describe('an order of an operator', () => {
  const order = orderRow();
  const reason = 'ann asked for a reboot: it is slow';
  const due = { next: 'recovery', reason } as const;

  test.each<readonly [string, Partial<MachineRow>, Partial<MachineView>]>([
    ['a healthy machine', heard(0), { state: 'Running', substate: 'healthy' }],
    ['a silent one', heard(60 * MINUTE), { state: 'Running', substate: 'silent' }],
    [
      'one that gets a system',
      { ...heard(0), installation: pending },
      { state: 'Running', substate: 'installingOs' },
    ],
    ['one without an agent', {}, { state: 'Provisioned', substate: 'waiting' }],
    [
      'one that is switched off',
      { provided: provided({ status: 'Stopped' }) },
      { state: 'Provisioned', substate: 'stopped' },
    ],
    [
      'one that waits after failures',
      { backoffs: [backoff('ShepherdAgentStart', NOW_MS + MINUTE)] },
      { state: 'Provisioned', substate: 'backingOff' },
    ],
    [
      'one that cools down',
      { permit: true, ...heard(60 * MINUTE), ...nextTryIn(MINUTE) },
      { state: 'Recovering', substate: 'coolingDown' },
    ],
    [
      'one whose recovery waits',
      { ...heard(60 * MINUTE), backoffs: [backoff('ShepherdRecovery', NOW_MS + MINUTE)] },
      { state: 'Running', substate: 'silent' },
    ],
  ])('is due on %s', (_, change, shown) => {
    expect(view(row({ ...change, order }))).toMatchObject({ ...shown, ...due });
  });

  test.each<readonly [string, Partial<MachineRow>, Partial<SlotFacts>]>([
    ['handed over', { installation: done }, {}],
    ['quarantined', quarantine('byOperator', null), {}],
    ['to be given back', { deprovision: deprovisionAsked() }, {}],
    ['held', {}, { holds: [hold('no-recover')] }],
    ['being installed', { provided: provided({ status: 'Provisioning' }) }, {}],
    ['worked on', { work: [liveWork('ShepherdAgentStart')] }, {}],
  ])('is not due on a machine that is %s', (_, change, more) => {
    const { next, reason: told } = view(row({ ...heard(0), ...change, order }, more));
    expect(next).not.toBe('recovery');
    expect(told).not.toBe(reason);
  });

  test('is not due any more once it has expired, and the view says when to look', () => {
    const facts = row({ ...heard(0), order: orderRow({ expiresAtMs: NOW_MS + 1 }) });
    expect(view(facts)).toMatchObject({ ...due, dueAtMs: NOW_MS + 1 });
    expect(view(facts, NOW_MS + 1)).toMatchObject({ next: null });
  });

  test('of a reinstallation is barred by what preserves the machine', () => {
    const reinstall = orderRow({ verb: 'reinstall' });
    const facts = row({ ...heard(0), order: reinstall });
    const asked = 'ann asked for a reinstallation: it is slow';
    expect(view(facts)).toMatchObject({ next: 'recovery', reason: asked });
    expect(view({ ...facts, holds: [hold('preserve')] }).next).toBeNull();
  });
});

describe('what is to be settled now', () => {
  const order = requestRow({ key: 'order', verb: 'reboot' });
  const requests = [order, requestRow({ key: 'hold' })];

  test.each<readonly [string, Partial<SlotFacts>, string | null]>([
    ['a decision, on any slot', { requests: [requestRow()] }, 'request-1'],
    ['the oldest one', row({}, { requests: [requestRow({ key: 'a' }), requestRow()] }), 'a'],
    ['no order that may still be carried out', row({}, { requests: [order] }), null],
    ['a decision behind such an order', row({}, { requests }), 'hold'],
    ['an order for a machine that is gone', { requests }, 'order'],
    ['an order that a hold forbids', row({}, { requests, holds: [hold('no-recover')] }), 'order'],
  ])('%s', (_, facts, request) => {
    expect(view(facts).request).toBe(request);
  });

  test('an order, once it has expired; the view says when', () => {
    const facts = row(heard(0), { requests: [{ ...order, expiresAtMs: NOW_MS + 1 }] });
    expect(view(facts)).toMatchObject({ request: null, dueAtMs: NOW_MS + 1 });
    expect(view(facts, NOW_MS + 2).request).toBe('order');
  });

  test('also by a daemon that cannot ask the provider', () => {
    const facts = slotFacts(row({}, { requests: [requestRow()] }));
    const elsewhere = viewOf(facts, { ...moment, providers: new Set<ProviderName>() });
    expect(elsewhere).toMatchObject({ next: null, request: 'request-1' });
  });
});

describe('a quarantine says who can end it', () => {
  test.each<readonly [string, Partial<SlotFacts>, string]>([
    [
      'needsHuman',
      row(quarantine('needsHuman', null)),
      'an operator: shepherd machine release, or heartbeats without a break',
    ],
    ['conflict', row(quarantine('conflict', null)), 'an operator: shepherd machine release'],
    [
      'byOperator, for a while',
      row(quarantine('byOperator', NOW_MS + MINUTE)),
      'an operator: shepherd machine release, or its end',
    ],
    [
      'missing',
      row({ provided: provided({ status: 'Missing' }) }),
      'the provider, when it shows the machine again; or an operator: shepherd machine deprovision',
    ],
    [
      'unreadable',
      row({ unreadable: 'it is new; upgrade' }),
      'a program that knows what its rows say',
    ],
    [
      'a contradiction',
      row({}, { conflict: 'two devices' }),
      'whoever puts rows and provider in agreement',
    ],
    ['an orphan', { listed: device() }, 'an operator, at the provider; or provisioner.assimilate'],
  ])('%s', (_, facts, endedBy) => {
    expect(view(facts)).toMatchObject({ state: 'Quarantined', endedBy });
  });

  test('and nothing else does', () => {
    expect(view(row(heard(0))).endedBy).toBeNull();
  });
});
