import { describe, expect, it } from 'vitest';
import {
  agentStartRefusal,
  installState,
  isLost,
  isStartGivenUp,
  lostAtMs,
  recoveryRefusal,
  refusal,
} from '../../src/domain/eligibility.ts';
import type { HoldRow, MachineRow, Process } from '../../src/domain/machine.ts';
import { PROVIDER_STATUSES } from '../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import {
  deprovisionAsked,
  hold,
  ladderRow,
  liveWork,
  machineRow,
  NOW_MS as NOW,
  orderRow,
  provided,
} from '../support/facts.ts';

const MINUTE = 60_000;
const ago = (minutes: number) => NOW - minutes * MINUTE;

const row = (change: Partial<MachineRow> = {}): MachineRow =>
  machineRow({ createdAtMs: ago(100), ...change });
const ASKED = deprovisionAsked();
const started = (minutesAgo: number) => ({ atMs: ago(minutesAgo), publicKey: '00', bootId: null });
const beat = (minutesAgo: number) => ({ atMs: ago(minutesAgo), bootId: null });
function install(
  request: number | null,
  report: number | null,
  result: 'Success' | 'Error' = 'Success',
  handedOutAtMs: number | null = null,
): MachineRow['installation'] {
  return {
    requestGeneration: request === null ? null : BigInt(request),
    handedOutAtMs,
    reportGeneration: report === null ? null : BigInt(report),
    reportResult: report === null ? null : result,
  };
}
const worked = (process: Process) => [liveWork(process)];

const mayStart = (change: Partial<MachineRow>, holds: HoldRow[] = []) =>
  agentStartRefusal(row(change), holds, NOW, DEFAULT_LOSS);
const mayRecover = (change: Partial<MachineRow>, holds: HoldRow[] = []) =>
  recoveryRefusal(row(change), holds, NOW, DEFAULT_LOSS);
const LOST = { agentStarted: started(40) };

describe('installation state', () => {
  it.each([
    [null, null, 'Success', 'NONE'],
    [null, 3, 'Success', 'NONE'],
    [10, null, 'Success', 'PENDING'],
    [10, 9, 'Success', 'PENDING'],
    [10, 11, 'Success', 'PENDING'],
    [10, 10, 'Success', 'DONE'],
    [10, 10, 'Error', 'FAILED'],
  ] as const)('request %s, report %s %s: %s', (request, report, result, expected) => {
    expect(installState({ installation: install(request, report, result) })).toBe(expected);
  });
});

describe('recovery', () => {
  it.each([
    [null, null, null, null, false],
    [0, null, null, null, false],
    [40, 0, null, null, false],
    [40, null, null, null, true],
    [40, 20, null, null, true],
    [40, null, 10, null, true],
    [40, 20, 10, null, true],
    [40, null, 10, 9, true],
    [40, 20, 10, 9, true],
    [40, null, 10, 10, false],
    [40, 20, 10, 10, false],
  ])('started %s, heard %s min ago, request %s, report %s: %s', (start, heard, req, rep, yes) => {
    const change = {
      agentStarted: start === null ? null : started(start),
      heartbeat: heard === null ? null : beat(heard),
      installation: install(req, rep),
    };
    expect(mayRecover(change) === null).toBe(yes);
  });

  it('takes a machine whose installation failed', () => {
    expect(mayRecover({ ...LOST, installation: install(10, 10, 'Error') })).toBeNull();
  });

  it('counts a heartbeat older than the start as none', () => {
    const change = { agentStarted: started(5), heartbeat: beat(20) };
    expect(mayRecover(change)).toBe('it is not lost');
    expect(lostAtMs(row(change), DEFAULT_LOSS)).toBe(ago(5) + 30 * MINUTE);
  });

  it('is strict about the limits', () => {
    const at = row({ agentStarted: started(30) });
    expect(isLost(at, NOW, DEFAULT_LOSS)).toBe(false);
    expect(isLost(at, NOW + 1, DEFAULT_LOSS)).toBe(true);
    const heard = row({ agentStarted: started(40), heartbeat: beat(10) });
    expect(isLost(heard, NOW, DEFAULT_LOSS)).toBe(false);
    expect(isLost(heard, NOW + 1, DEFAULT_LOSS)).toBe(true);
  });

  it('waits for an installation that was handed out', () => {
    const handedOut = { ...LOST, installation: install(10, null, 'Success', ago(29)) };
    expect(mayRecover(handedOut)).toBe('it is not lost');
    const stale = { ...LOST, installation: install(10, null, 'Success', ago(31)) };
    expect(mayRecover(stale)).toBeNull();
    const failed = { ...LOST, installation: install(10, 10, 'Error', ago(1)) };
    expect(mayRecover(failed)).toBeNull();
  });

  it('observes its backoff and the cool-down of the ladder', () => {
    const backoff = { process: 'ShepherdRecovery', cause: '', lastIntervalSeconds: 60 } as const;
    expect(mayRecover({ ...LOST, backoffs: [{ ...backoff, untilMs: NOW + 1 }] })).toBe(
      'it waits after a failure',
    );
    expect(mayRecover({ ...LOST, backoffs: [{ ...backoff, untilMs: NOW }] })).toBeNull();
    const coolingUntil = (nextAtMs: number) =>
      mayRecover({ ...LOST, recovery: ladderRow({ nextAtMs }) });
    expect(coolingUntil(NOW + 1)).toBe('it cools down after an attempt');
    expect(coolingUntil(NOW)).toBeNull();
  });

  it('is for machines with an order, lost or not, and waits for nothing then', () => {
    const order = orderRow({ expiresAtMs: NOW + 1 });
    const wait = { untilMs: NOW + 1, cause: '', lastIntervalSeconds: 60 };
    const waiting: Partial<MachineRow> = {
      recovery: ladderRow({ nextAtMs: NOW + 1 }),
      backoffs: [{ process: 'ShepherdRecovery', ...wait }],
    };
    expect(mayRecover({ ...waiting, order })).toBeNull();
    expect(mayRecover({ order: { ...order, verb: 'restart-agent' } })).toBeNull();
    expect(mayRecover({ order: { ...order, verb: 'reinstall' } })).toBe(
      'its agent start is not given up',
    );
    expect(mayRecover({ order: { ...order, expiresAtMs: NOW } })).toBe(
      'its agent start is not given up',
    );
    const parked = { kind: 'needsHuman', reason: 'x', untilMs: null } as const;
    expect(mayRecover({ order, quarantine: parked })).toBe('it is quarantined');
  });

  it.each(PROVIDER_STATUSES)('with provider status %s', (status) => {
    const may = mayRecover({ ...LOST, provided: provided({ status }) }) === null;
    expect(may).toBe(['Running', 'Stopped', 'Unknown'].includes(status));
  });
});

describe('agent start', () => {
  it.each([
    ['not provided', { provided: null }, 'it has no hardware'],
    ['provided', {}, null],
    ['started', { agentStarted: started(1) }, 'its agent is started'],
    ['request 10', { installation: install(10, null) }, null],
    ['request 10, report 9', { installation: install(10, 9) }, null],
    ['request 10, report 10', { installation: install(10, 10) }, 'it was handed over'],
    ['request 10, report 10 Error', { installation: install(10, 10, 'Error') }, null],
  ])('%s', (_, change, expected) => {
    expect(mayStart(change)).toBe(expected);
  });

  it.each([null, ...PROVIDER_STATUSES])('with provider status %s', (status) => {
    const may = mayStart({ provided: provided({ status }) }) === null;
    expect(may).toBe([null, 'Running', 'Unknown'].includes(status));
  });
});

describe('escalation', () => {
  const attempt = (count: number, minutesAgo: number) => ({
    startAttempt: { atMs: ago(minutesAgo), count, unreached: 0 },
  });
  it.each([
    ['five failures', attempt(5, 1), false],
    ['six failures', attempt(6, 1), true],
    [
      'failures without an execution',
      { startAttempt: { atMs: null, count: 5, unreached: 0 } },
      false,
    ],
    ['six of them', { startAttempt: { atMs: null, count: 6, unreached: 0 } }, true],
    ['an attempt 30 min ago', attempt(0, 30), false],
    ['an attempt 31 min ago', attempt(0, 31), true],
    ['started meanwhile', { ...attempt(6, 1), agentStarted: started(1) }, false],
  ])('%s', (_, change, expected) => {
    expect(isStartGivenUp(row(change), NOW, DEFAULT_LOSS)).toBe(expected);
    expect(mayRecover(change) === null).toBe(expected);
  });

  it('leaves a machine alone that somebody works on', () => {
    const change = { ...attempt(0, 31), work: worked('ShepherdAgentStart') };
    expect(mayRecover(change)).toBe('it is being worked on');
  });

  it('takes its limits from the policy', () => {
    const loss = { ...DEFAULT_LOSS, escalation: { failuresMax: 1, attemptAgeMs: 1 } };
    expect(isStartGivenUp(row(attempt(1, 0)), NOW, loss)).toBe(true);
  });
});

describe('giving a machine back', () => {
  it('needs a request, and asks for nothing else', () => {
    const now = { holds: [], nowMs: NOW, loss: DEFAULT_LOSS };
    const may = (change: Partial<MachineRow>) => refusal('ShepherdDeprovision', row(change), now);
    expect(may({})).toBe('nobody asked to deprovision it');
    const parked = { kind: 'byOperator', reason: 'x', untilMs: null } as const;
    for (const change of [
      { quarantine: parked },
      { provided: null },
      ...PROVIDER_STATUSES.map((status) => ({ provided: provided({ status }) })),
      { installation: install(10, 10) },
      { ...LOST, permit: true },
      { ...LOST, heartbeat: beat(0) },
    ]) {
      expect(may({ ...change, deprovision: ASKED })).toBeNull();
    }
  });
});

describe('what bars a machine', () => {
  it('quarantine, until it ends', () => {
    const quarantine = { kind: 'needsHuman', reason: 'x', untilMs: null } as const;
    expect(mayStart({ quarantine })).toBe('it is quarantined');
    expect(mayRecover({ ...LOST, quarantine })).toBe('it is quarantined');
    expect(mayStart({ quarantine: { ...quarantine, untilMs: NOW } })).toBeNull();
  });

  it('a deprovision request', () => {
    expect(mayStart({ deprovision: ASKED })).toBe('it is to be deprovisioned');
    expect(mayRecover({ ...LOST, deprovision: ASKED })).toBe('it is to be deprovisioned');
  });

  it('holds of the right kind, slot and time', () => {
    expect(mayStart({}, [hold('no-start')])).toBe('a hold forbids it');
    expect(mayStart({}, [hold('no-recover'), hold('no-allocate'), hold('preserve')])).toBeNull();
    expect(mayStart({}, [{ ...hold('no-start'), slotId: 'other' }])).toBeNull();
    expect(mayStart({}, [hold('no-start', NOW)])).toBeNull();
    expect(mayStart({}, [hold('no-start', NOW + 1)])).toBe('a hold forbids it');
    expect(mayRecover(LOST, [hold('no-recover')])).toBe('a hold forbids it');
    const now = { holds: [hold('preserve')], nowMs: NOW, loss: DEFAULT_LOSS };
    expect(refusal('ShepherdReinstall', row(LOST), now)).toBe('a hold forbids it');
    expect(refusal('ShepherdRecovery', row(LOST), now)).toBeNull();
    const asked = row({ deprovision: ASKED });
    expect(refusal('ShepherdDeprovision', asked, now)).toBe('a hold forbids it');
    expect(refusal('ShepherdDeprovision', asked, { ...now, holds: [] })).toBeNull();
  });

  it('work of any process of the group', () => {
    expect(mayStart({ work: worked('ShepherdAccess') })).toBe('it is being worked on');
    expect(mayRecover({ ...LOST, work: worked('ShepherdReinstall') })).toBe(
      'it is being worked on',
    );
    expect(mayStart({ work: worked('UnitTest1') })).toBeNull();
  });
});
