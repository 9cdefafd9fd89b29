import { describe, expect, test } from 'vitest';
import type { ProviderName } from '../../src/domain/ids.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { viewOf, worksElsewhere, type MachineView } from '../../src/domain/view.ts';
import {
  device,
  free,
  memberRow,
  NOW_MS,
  PROVIDER,
  requestRow,
  SESSION,
  slotFacts,
} from '../support/facts.ts';
import { factsOf, rowOf, rowsIn, span } from '../support/fact-words.ts';
import { testRows } from '../support/rows.ts';

const MINUTE = 60_000;
const moment = { nowMs: NOW_MS, loss: DEFAULT_LOSS };
const view = (words: string, nowMs = NOW_MS): MachineView =>
  viewOf(factsOf(words), { ...moment, nowMs });

/**
 * Compares a view with a line of a table: `State substate, next work, due +1m, human: the reason
 * …`.
 */
function expectView(found: MachineView, text: string): void {
  const [told = '', reason] = text.split(/: (.*)/);
  const parts = told.split(', ');
  const keys = Object.fromEntries(parts.slice(1).map((part) => part.split(' ')));
  const none = (value: string) => (value === '-' ? null : value);
  expect(`${found.state} ${found.substate}`).toBe(parts[0]);
  if ('next' in keys) expect(found.next).toBe(none(keys.next));
  if ('request' in keys) expect(found.request).toBe(none(keys.request));
  if ('human' in keys) expect(found.needsHuman).toBe(true);
  if ('unwanted' in keys) expect(found.needsHuman).toBe(false);
  if ('due' in keys) {
    expect(found.dueAtMs).toBe(keys.due === '-' ? null : NOW_MS + span(keys.due));
  }
  if (reason === '-') expect(found.reason).toBeNull();
  else if (reason?.startsWith('…')) expect(found.reason).toContain(reason.slice(1));
  else if (reason !== undefined) expect(found.reason).toBe(reason);
}
const testViews = (title: string, table: string) =>
  testRows(rowsIn(table))(`${title} %s`, (words, expected) => expectView(view(words), expected));

/** The rules in their order. In each case every later rule applies too, where that is possible. */
describe('viewOf, where the first matching rule decides', () => {
  testViews(
    'what is parked, whatever the rest says:',
    `
    quarantine byOperator, unreadable, heard    → Quarantined conflict, next -: it is new; upgrade
    quarantine needsHuman, deprovision, permit  → Quarantined needsHuman, next -: because
    quarantine byOperator 0                     → Provisioned waiting
    quarantine byOperator +1m                   → Quarantined byOperator, due +1m
    deprovision, status Missing                 → Deprovisioning deleting
    deprovision, free                           → Deprovisioning cleaning
    deprovision                                 → Deprovisioning deleting, next deprovision: ann asked for it: it is not needed
    deprovision, work Deprovision               → Deprovisioning deleting, next -: it is being worked on
    deprovision, backoff Deprovision +1m        → Deprovisioning deleting, next -, due +1m: it failed
    deprovision, hold preserve                  → Deprovisioning deleting, next -: a hold forbids it
    status Missing, permit, heard               → Quarantined missing, next -
    work Recovery, conflict                     → Quarantined conflict: two devices
    slot, device                                → Quarantined conflict`,
  );

  testViews(
    'work that is under way:',
    `
    work Recovery, next 0, permit               → Recovering rebooting, next -
    work Recovery, newer, permit                → Recovering elsewhere, next -: a newer program recovers it, on its rung soaking
    newer, permit, heard 1h                     → Recovering coolingDown, next -: a newer program recovers it, on its rung soaking
    newer, heard 1h                             → Running silent, next -: a newer program recovers it
    newer                                       → Provisioned waiting, next agentStart
    work Reinstall, next 0, install done        → Recovering reinstalling
    work Recovery, heard 1h, permit             → Recovering restartingAgent
    work Recovery, permit                       → Recovering rebooting
    work Recovery, heard, order reboot          → Recovering rebooting
    permit, heard 20m, next +1m                 → Recovering coolingDown, next -, due +1m
    permit, heard 20m, next -1m                 → Recovering coolingDown, next recovery
    work AgentStart, install done               → AgentStarting elsewhere, next -
    work Access, heard                          → Running healthy`,
  );

  testViews(
    'an agent that was started:',
    `
    install done, heard                         → HandedOver installed, next -
    install failed, heard                       → Running healthy
    heard 10m1ms                                → Running silent, next recovery
    heard 11m, hold no-recover                  → Running silent, next -: a hold forbids it
    heard 11m, backoff Recovery +1m             → Running silent, next -, due +1m
    heard 11m, install pending                  → Running installingOs, due +29m
    started 1m                                  → Running awaitingHeartbeat, due +29m
    heard 1m, started 30s                       → Running awaitingHeartbeat
    heard 1m1ms                                 → Running late
    heard 1m                                    → Running healthy, due 0`,
  );

  testViews(
    'hardware without an agent:',
    `
    status ProvisioningFailedPermanent          → Provisioned failed, next -
    status Provisioning                         → Provisioned installing, next -
    status Stopped                              → Provisioned stopped, next -
    backoff AgentStart +1m no_route             → Provisioned backingOff, next -, due +1m: no route
    failures 6 0                                → Provisioned waiting, next recovery
    hold no-start                               → Provisioned waiting, next -: a hold forbids it
    failures 0 1m                               → Provisioned waiting, next agentStart, due +29m
    beat 1h                                     → Provisioned waiting, next agentStart`,
  );

  testViews(
    'a slot without a machine:',
    `
    slot, intent, device, penalty +1m           → Reserved creating
    slot, free, penalty +1m                     → Reserved penalised, due +1m
    slot, free, penalty 0                       → Reserved available, next -, due -
    slot                                        → Released gone
    slot, partial                               → Reserved available`,
  );

  testViews(
    'C5: what failed last is told:',
    `
    lost 1h, backoff Recovery +1h no_route      → Running silent: …no route
    lost 1h, backoff Recovery 0 no_route        → Running silent: …no route
    backoff AgentStart 0 no_route               → Provisioned waiting: …no route
    failures 6, backoff AgentStart 0 no_route   → Provisioned waiting: …no route
    lost 1h, status Provisioning, backoff Recovery +1h no_route → Running silent: its provider status does not allow it; last failure: no route`,
  );

  test('shows an operator’s order at any rung', () => {
    const { row } = factsOf('work Recovery, next 0');
    const recovery = { ...row!.recovery!, rung: 'powerCycling' as const };
    expectView(viewOf(factsOf('work Recovery', { recovery }), moment), 'Recovering rebooting');
  });

  test('shows active holds, which do not change the state', () => {
    const held = view('heard, hold preserve, hold no-start 0, hold no-serve');
    expect(held).toMatchObject({ state: 'Running', substate: 'healthy', reason: null });
    expect(held.holds).toEqual(['preserve', 'no-serve']);
  });

  test('is due at the end of a hold', () => {
    expectView(view('hold no-start +1m'), 'Provisioned waiting, next -, due +1m');
    expect(view('hold no-start +1m', NOW_MS + MINUTE + 1).next).toBe('agentStart');
  });

  test('is due at the begin of a hold, also when another hold ends then', () => {
    expectView(view('planned no-serve +1m'), 'Provisioned waiting, next agentStart, due +1m');
    const both = view('planned no-serve +1m, hold preserve +1m');
    expect([both.holds, both.dueAtMs]).toEqual([['preserve'], NOW_MS + MINUTE]);
  });

  test('takes the location from the row’s device, else from the listing', () => {
    expect(viewOf(slotFacts({ listed: free({ location: 'east' }) }), moment)).toMatchObject({
      reservationId: 'rack-1',
      location: 'east',
      address: null,
    });
    const elsewhere = { ...factsOf(''), listed: device({ address: '192.0.2.99' }) };
    expect(viewOf(elsewhere, moment).address).toBe('192.0.2.1');
  });
});

test('shows work of another session as elsewhere', () => {
  expect(worksElsewhere(null, SESSION)).toBe(false);
  const busy = rowOf('work AgentStart');
  expect(worksElsewhere(busy, SESSION)).toBe(false);
  expect(worksElsewhere(busy, null)).toBe(true);
});

testRows([
  ['', 'agentStart'],
  ['started 90m', 'recovery'],
  ['next -1m, permit, failures 99 0', 'recovery'],
] as const)('has no work for %s when its provider is not configured', (words, next) => {
  const elsewhere = { ...moment, providers: new Set<ProviderName>() };
  const here = viewOf(factsOf(words), { ...moment, providers: new Set([PROVIDER]) });
  expect([here.next, here]).toEqual([next, view(words)]);
  const { state, substate } = here;
  const reason = `provider ${PROVIDER} is not configured here`;
  const found = viewOf(factsOf(words), elsewhere);
  expect(found).toMatchObject({ state, substate, next: null, reason });
  expect(viewOf(factsOf('heard'), elsewhere).reason).toBeNull();
});

describe('an order of an operator in a view', () => {
  const asked = 'ann asked for a reboot: it is slow';
  testViews(
    'is due on a machine:',
    `
    order reboot, heard                         → Running healthy, next recovery: ${asked}
    order reboot, heard 1h                      → Running silent, next recovery: ${asked}
    order reboot, heard, install pending        → Running installingOs, next recovery: ${asked}
    order reboot                                → Provisioned waiting, next recovery: ${asked}
    order reboot, status Stopped                → Provisioned stopped, next recovery: ${asked}
    order reboot, backoff AgentStart +1m        → Provisioned backingOff, next recovery: ${asked}
    order reboot, permit, heard 1h, next +1m    → Recovering coolingDown, next recovery: ${asked}
    order reboot, heard 1h, backoff Recovery +1m → Running silent, next recovery: ${asked}
    order reboot +1ms, heard                    → Running healthy, next recovery, due +1ms: ${asked}
    order reinstall, heard                      → Running healthy, next recovery: ann asked for a reinstallation: it is slow
    order reinstall, heard, hold preserve       → Running healthy, next -`,
  );
  testRows([
    ['install done'],
    ['quarantine byOperator'],
    ['deprovision'],
    ['hold no-recover'],
    ['status Provisioning'],
    ['work AgentStart'],
  ])('is not due on a machine with %s', (words) => {
    const { next, reason } = view(`heard, ${words}, order reboot`);
    expect(next).not.toBe('recovery');
    expect(reason).not.toBe(asked);
  });
  test('is not due after it expired', () => {
    expect(view('heard, order reboot +1ms', NOW_MS + 1).next).toBeNull();
  });
});

describe('a machine that still serves', () => {
  const asked = 'ann asked for a reboot: it is slow; waits until pool api drains it at front';
  testViews(
    'says what it waits for:',
    `
    heard, order reboot, member draining        → Running healthy, next -: ${asked}: 3 connections, until 12:00:03 UTC
    heard, order reboot, member draining refused → Running healthy: ${asked}
    heard, order reboot, member draining, member active back, member drained → Running healthy: ${asked}: 3 connections, until 12:00:03 UTC, and pool api drains it at back
    heard, order reboot skip, member draining   → Running healthy, next recovery: ann asked for a reboot: it is slow
    deprovision, member draining                → Deprovisioning draining, next -: ann asked for it: it is not needed; waits until pool api drains it at front: 3 connections, until 12:00:03 UTC
    deprovision, member drained                 → Deprovisioning deleting, next deprovision
    lost 1ms, member active                     → Running silent, next -, due +9m59s999ms: no heartbeat within the deadline; waits until pool api drains it at front; recovery waits until 22:23:19 UTC at most
    failures 6 1ms, member active               → Provisioned waiting, next -: …; waits until pool api drains it at front`,
  );

  test('shows one, many or unknown connections, and why it is not drained yet', () => {
    const until = { state: 'draining', deadlineMs: Date.UTC(2026, 0, 1, 12, 0, 3) } as const;
    const reasonOf = (change: Parameters<typeof memberRow>[0]) =>
      viewOf(factsOf('heard, order reboot', { members: [memberRow(change)] }), moment).reason;
    const note = 'it is the last one';
    expect(reasonOf({ ...until, sessions: 1, note })).toBe(
      `${asked}: 1 connection, until 12:00:03 UTC`,
    );
    expect(reasonOf(until)).toBe(`${asked}: until 12:00:03 UTC`);
    expect(reasonOf({ note })).toBe(`${asked}: ${note}`);
    expect(reasonOf({ ...until, refused: true, note })).toBe(`${asked}: ${note}`);
  });

  test('shows its state in its pools', () => {
    expect(view('heard, member draining').members).toEqual([
      { pool: 'api', balancer: 'front', state: 'draining', note: null },
    ]);
  });
});

describe('a request to apply now', () => {
  testViews(
    'of requests:',
    `
    slot, request                               → Released gone, request request-1
    request a, request                          → Provisioned waiting, request a
    request order reboot                        → Provisioned waiting, request -
    request order reboot, request hold          → Provisioned waiting, request hold
    slot, request order reboot                  → Released gone, request order
    request order reboot, hold no-recover       → Provisioned waiting, request order
    heard, request order reboot +1ms            → Running healthy, request -, due +1ms`,
  );

  test('includes an order that has expired', () => {
    expect(view('heard, request order reboot +1ms', NOW_MS + 2).request).toBe('order');
  });

  test('is applied even by a daemon that cannot ask the provider', () => {
    const facts = { ...factsOf(''), requests: [requestRow()] };
    const elsewhere = viewOf(facts, { ...moment, providers: new Set<ProviderName>() });
    expect(elsewhere).toMatchObject({ next: null, request: 'request-1' });
  });
});

testRows(
  rowsIn(`
    quarantine needsHuman     → an operator: shepherd machine release, or heartbeats without a break
    quarantine conflict       → an operator: shepherd machine release
    quarantine byOperator +1m → an operator: shepherd machine release, or its end
    status Missing            → the provider, when it shows the machine again; or an operator: shepherd machine deprovision
    unreadable                → a program that can read its rows
    conflict                  → an operator who reconciles rows and provider
    slot, device              → an operator, at the provider; or provisioner.assimilate`),
)('says who can end a quarantine: %s', (words, endedBy) => {
  expect(view(words)).toMatchObject({ state: 'Quarantined', endedBy });
  expect(view('heard').endedBy).toBeNull();
});

describe('a silent machine in a view', () => {
  testViews(
    'D3: needs a person after an hour, which the clock alone decides:',
    `
    lost 40m                                    → Running silent, unwanted, due +10m
    lost 50m1ms                                 → Running silent, human
    heard 1m                                    → Running healthy, unwanted
    lost 2h, permit, work Recovery              → Recovering restartingAgent, human
    lost 2h, hold no-recover                    → Running silent, human
    failures 6, created 1h1ms                   → Provisioned waiting, human
    failures 6, created 1h                      → Provisioned waiting, unwanted
    failures 6, created 9h, beat 30m            → Provisioned waiting, unwanted
    failures 5, created 9h                      → Provisioned waiting, unwanted
    lost 2h, quarantine byOperator              → Quarantined byOperator, unwanted
    lost 2h, deprovision                        → Deprovisioning deleting, unwanted
    lost 2h, install done                       → HandedOver installed, unwanted`,
  );

  test('needs a person after the configured time, and never before it counts as silent', () => {
    const ask = (needsHumanAfterMs: number, words: string) =>
      viewOf(factsOf(words), { ...moment, loss: { ...DEFAULT_LOSS, needsHumanAfterMs } })
        .needsHuman;
    expect(ask(20 * MINUTE, 'lost 10m1ms')).toBe(true);
    expect(ask(20 * MINUTE, 'lost 10m')).toBe(false);
    expect(ask(MINUTE, 'heard 2m'), 'it is only late').toBe(false);
  });
});
