import { describe, expect, it, test } from 'vitest';
import {
  askRefusal,
  handOutRefusal,
  ineligibility,
  installState,
  isLost,
  isStartGivenUp,
  lostAtMs,
  refusal,
} from '../../src/domain/eligibility.ts';
import { PROVIDER_STATUSES, type MachineRow, type Process } from '../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { orderRefusal } from '../../src/domain/requests.ts';
import { hold, memberRow, NOW_MS as NOW, requestRow } from '../support/facts.ts';
import { ago, factsOf, rowOf, rowsIn } from '../support/fact-words.ts';
import { testRows } from '../support/rows.ts';

const now = { holds: [], nowMs: NOW, loss: DEFAULT_LOSS };
const may = (process: string, words: string): string => {
  const { row, holds } = factsOf(words);
  return refusal(`Shepherd${process}` as Process, row!, { ...now, holds }) ?? 'it may';
};
const testMay = (title: string, process: string, table: string) =>
  testRows(rowsIn(table))(`${title} %s`, (words, expected) => {
    expect(may(process, words)).toBe(expected);
  });

testRows([
  [null, null, 'Success', 'NONE'],
  [null, 3, 'Success', 'NONE'],
  [10, null, 'Success', 'PENDING'],
  [10, 9, 'Success', 'PENDING'],
  [10, 11, 'Success', 'PENDING'],
  [10, 10, 'Success', 'DONE'],
  [10, 10, 'Error', 'FAILED'],
] as const)(
  'judges an installation of request %s with report %s %s: %s',
  (request, report, result, state) => {
    const installation: MachineRow['installation'] = {
      requestGeneration: request === null ? null : BigInt(request),
      handedOutAtMs: null,
      reportGeneration: report === null ? null : BigInt(report),
      reportResult: report === null ? null : result,
    };
    expect(installState({ installation })).toBe(state);
  },
);

describe('recovery', () => {
  testMay(
    'of a machine with',
    'Recovery',
    `
    beat 1h                               → its agent start is not given up
    started 0                             → it is not lost
    started 40m, beat 0                   → it is not lost
    started 40m                           → it may
    started 40m, beat 20m                 → it may
    started 40m, install due              → it may
    started 40m, beat 20m, install due    → it may
    started 40m, beat 20m, install done   → it was handed over
    started 40m, install done             → it was handed over
    started 40m, install failed           → it may
    started 40m, install pending          → it is not lost
    started 5m, beat 20m                  → it is not lost
    lost, work Reinstall                  → it is being worked on
    lost, deprovision                     → it is to be deprovisioned
    lost, quarantine needsHuman           → it is quarantined
    lost, hold no-recover                 → a hold forbids it
    lost, hold preserve                   → it may
    lost, backoff Recovery +1ms           → it waits after a failure
    lost, backoff Recovery 0              → it may
    lost, next +1ms                       → it cools down after an attempt
    lost, next 0                          → it may
    order reboot, next +1ms, backoff Recovery +1ms → it may
    order restart-agent                   → it may
    order reinstall                       → its agent start is not given up
    order reboot 0                        → its agent start is not given up
    order reboot, quarantine needsHuman   → it is quarantined
    failures 5                            → its agent start is not given up
    failures 6                            → it may
    failures 0 30m                        → its agent start is not given up
    failures 0 31m                        → it may
    failures 6 1m, started 1m             → it is not lost
    failures 0 31m, work AgentStart       → it is being worked on`,
  );

  it('ignores a heartbeat older than the start', () => {
    expect(lostAtMs(rowOf('started 5m, beat 20m'), DEFAULT_LOSS)).toBe(ago('5m') + 30 * 60_000);
  });

  it('respects the exact limits and waits for an installation that was handed out', () => {
    for (const words of ['started 30m', 'started 40m, beat 10m']) {
      expect(isLost(rowOf(words), NOW, DEFAULT_LOSS), words).toBe(false);
      expect(isLost(rowOf(words), NOW + 1, DEFAULT_LOSS), words).toBe(true);
    }
    const handedOut = rowOf('started 40m, install pending');
    expect(isLost(handedOut, NOW + 29 * 60_000, DEFAULT_LOSS)).toBe(false);
    expect(isLost(handedOut, NOW + 29 * 60_000 + 1, DEFAULT_LOSS)).toBe(true);
  });

  it('takes the limits of a given-up agent start from the policy', () => {
    const loss = { ...DEFAULT_LOSS, escalation: { failuresMax: 1, attemptAgeMs: 1 } };
    expect(isStartGivenUp(rowOf('failures 1 0'), NOW, loss)).toBe(true);
  });
});

testRows(PROVIDER_STATUSES.map((status) => [status]))(
  'depends on the provider status %s',
  (status) => {
    const isOf = (process: string, words: string) =>
      may(process, `${words}, status ${status}`) === 'it may';
    const started = ['Running', 'Unknown'].includes(status);
    expect(isOf('AgentStart', 'beat 1h')).toBe(started);
    expect(isOf('Recovery', 'lost')).toBe(started || status === 'Stopped');
    expect(isOf('Deprovision', 'deprovision')).toBe(true);
  },
);

testMay(
  'the start of an agent with',
  'AgentStart',
  `
  bare                                    → it has no hardware
  beat 1h                                 → it may
  started 1m                              → its agent is started
  install due                             → it may
  install done                            → it was handed over
  install failed                          → it may
  work Access                             → it is being worked on
  quarantine needsHuman                   → it is quarantined
  quarantine needsHuman 0                 → it may
  deprovision                             → it is to be deprovisioned
  hold no-start                           → a hold forbids it
  hold no-start 0                         → it may
  hold no-start +1ms                      → a hold forbids it
  planned no-start +1ms                   → it may
  planned no-start 0                      → a hold forbids it
  planned no-start 1m 0                   → it may
  hold no-recover, hold no-allocate, hold preserve → it may
  member active                           → it may`,
);

testMay(
  'giving a machine back needs a request, and asks for nothing else:',
  'Deprovision',
  `
  beat 1h                                 → nobody asked to deprovision it
  deprovision, quarantine byOperator      → it may
  deprovision, bare                       → it may
  deprovision, install done               → it may
  deprovision, lost, permit               → it may
  deprovision, heard                      → it may
  deprovision, hold preserve              → a hold forbids it`,
);

it('ignores holds of other slots, and reinstalls nothing under a hold that preserves', () => {
  const other = { ...now, holds: [{ ...hold('no-start'), slotId: 'other' }] };
  expect(refusal('ShepherdAgentStart', rowOf(''), other)).toBeNull();
  expect(may('Reinstall', 'lost, hold preserve')).toBe('a hold forbids it');
});

it('does not exclude work of another group', () => {
  const work = rowOf('work Access').work.map((each) => ({
    ...each,
    process: 'UnitTest1' as const,
  }));
  expect(refusal('ShepherdAgentStart', rowOf('', { work }), now)).toBeNull();
});

/** Work that is barred while a load balancer may be sending traffic to the machine. */
describe('a machine that may receive traffic', () => {
  testMay(
    'its recovery with',
    'Recovery',
    `
    member active, heard, order reboot        → it still serves
    member active, heard, order reboot force  → it still serves
    member active, heard, order reboot skip   → it may
    member active, lost 1ms                   → it still serves
    member active, lost 10m                   → it still serves
    member active, lost 10m1ms                → it may
    member active, lost 10m1ms, order reboot  → it may
    member active, failures 6 10m             → it still serves
    member active, failures 6 10m1ms          → it may
    member active, failures 6                 → it may
    member active, order reboot               → it still serves
    member active, heard                      → it is not lost
    member active, lost 1ms, next +1ms        → it cools down after an attempt`,
  );
  testMay(
    'its giving back with',
    'Deprovision',
    `
    member active, deprovision                → it still serves
    member active, deprovision force          → it still serves
    member active, lost 1h, deprovision       → it still serves
    member active, deprovision skip           → it may`,
  );

  test.each([
    ['joining', true],
    ['warming', true],
    ['active', true],
    ['draining', true],
    ['active refused', true],
    ['drained', false],
    ['active waived', false],
    ['drained, member active back', true],
    ['drained, member drained', false],
  ])('is one with member %s: %s', (member, serves) => {
    const row = rowOf(`heard, order reboot, member ${member}`);
    const expected = serves ? 'it still serves' : null;
    expect(refusal('ShepherdRecovery', row, now)).toBe(expected);
    expect(handOutRefusal(row, now)).toBe(expected);
    expect(may('Reinstall', `heard, order reinstall, member ${member}`)).toBe(expected ?? 'it may');
  });

  test('counts for the process, and a request under an existing claim is allowed', () => {
    const row = rowOf('lost 1ms, member active');
    expect(ineligibility('ShepherdRecovery', row, now)).toBeNull();
    expect(askRefusal('ShepherdRecovery', row, now)).toBeNull();
  });
});

describe('an order that a pool refuses for good', () => {
  const why = 'refused: balancer front cannot be reached since 12:00:03';
  const refused = memberRow({ refused: true, note: why });
  const request = { ...requestRow(), verb: 'reboot' as const };
  testRows([
    ['ends with its reason', '', [memberRow(), refused], why],
    [
      'and with a plain one',
      '',
      [{ ...refused, note: null }],
      'pool api at front does not drain it',
    ],
    ['not while it may yet be let go', '', [memberRow({ note: why })], null],
    ['not once it was let go', '', [{ ...refused, state: 'drained', how: 'gone' }], null],
    ['not if it is to skip that', ', order reboot skip', [refused], null],
    ['not while it is carried out', ', work Recovery', [refused], null],
  ] as const)('%s', (_, words, members, expected) => {
    const row = rowOf(`heard, order reboot${words}`, { members });
    expect(orderRefusal(request, row, now)).toBe(expected);
  });
});
