import { expect, test } from 'vitest';
import type { Evidence, HistoryRow, Lease, TagWrite } from './evidence.ts';
import { judge, type Rule } from './oracle.ts';

/**
 * A record of a few seconds in which all went well: daemon a (port 1) starts the agent of a machine;
 * later it claims again and dies; daemon b (port 2) takes the machine over and recovers it.
 */
const A = { sessionId: 'session-a', run: 'a', port: 1 };
const B = { sessionId: 'session-b', run: 'b', port: 2 };
const MACHINE = 'machine-1';

const noted = (xid: number, { port }: { readonly port: number }, atMs: number) => ({
  xid: String(xid),
  port,
  begunAtMs: atMs,
  atMs: atMs + 1,
});
const life = (who: typeof A, atMs: number, deadlineMs: number | null) => ({
  ...noted(0, who, atMs),
  sessionId: who.sessionId,
  run: who.run,
  deadlineMs,
});
const lease = (who: typeof A, epoch: number, process = 'ShepherdAgentStart'): Lease => ({
  sessionId: who.sessionId,
  epoch: String(epoch),
  process,
});
const change = (xid: number, by: typeof A, atMs: number, from: Lease | null, to: Lease | null) => ({
  ...noted(xid, by, atMs),
  machineId: MACHINE,
  group: 'shepherd',
  from,
  to,
});
const row = (
  xid: number,
  by: typeof A,
  atMs: number,
  event: string,
  of: Lease,
  cause: string | null = null,
): HistoryRow => ({
  ...noted(xid, by, atMs),
  machineId: MACHINE,
  process: of.process,
  event,
  sessionId: of.sessionId,
  epoch: of.epoch,
  seq: String(xid),
  cause,
});

const tag = (xid: number, by: typeof A, atMs: number, table: string): TagWrite => ({
  ...noted(xid, by, atMs),
  table,
  machineId: MACHINE,
  askedMs: null,
});
const effect = (run: string, kind: string, atMs: number) => ({
  run,
  kind,
  machineId: MACHINE,
  atMs,
  sentAtMs: atMs,
});

const [first, second, third] = [lease(A, 1), lease(A, 2), lease(B, 3, 'ShepherdRecovery')];
const good: Evidence = {
  sessions: [life(A, 0, 3_000), life(B, 0, 3_000), life(A, 1_500, 4_500), life(B, 1_500, 9_000)],
  leases: [
    change(1, A, 100, null, first),
    change(2, A, 200, first, null),
    change(3, A, 4_000, null, second),
    change(4, B, 5_000, second, null),
    change(5, B, 5_000, null, third),
    change(6, B, 6_000, third, null),
  ],
  history: [
    row(1, A, 100, 'Started', first),
    row(2, A, 200, 'Finished', first),
    row(3, A, 4_000, 'Started', second),
    row(4, B, 5_000, 'Canceled', second, 'session expired'),
    row(5, B, 5_000, 'Started', third),
    row(6, B, 6_000, 'Finished', third),
  ],
  rewritten: 0,
  guard: [
    { ...noted(90, A, -9_000), scope: 'fleet', frozenAtMs: null, upSinceMs: -9_000 },
    { ...noted(91, A, 1_000), scope: 'fleet', frozenAtMs: 1_000, upSinceMs: -9_000 },
    { ...noted(92, A, 4_990), scope: 'fleet', frozenAtMs: null, upSinceMs: -9_000 },
    { ...noted(93, A, 1_000), scope: 'other', frozenAtMs: 1_000, upSinceMs: null },
  ],
  pulses: [
    { ...noted(94, A, -9_000), seenAtMs: -9_000 },
    { ...noted(95, A, 4_000), seenAtMs: 4_000 },
  ],
  grace: { heartbeatMs: 10_000, gapMs: 2_000 },
  permits: [
    { ...noted(5, B, 5_000), granted: true, machineId: MACHINE, provider: 'p', location: 'l' },
    { ...noted(6, B, 6_000), granted: false, machineId: MACHINE, provider: 'p', location: 'l' },
  ],
  tags: [
    { ...tag(8, A, 140, 'machine_agent_start_attempt'), askedMs: 140 },
    tag(2, A, 200, 'machine_agent_started'),
    { ...tag(7, B, 5_500, 'machine_recovery'), askedMs: 5_500 },
  ],
  silenced: [{ ...noted(6, B, 6_000), machineId: MACHINE }],
  beats: [
    { machineId: MACHINE, atMs: 900.4 },
    { machineId: MACHINE, atMs: 7_000 },
  ],
  acknowledged: {
    beats: [{ machine: MACHINE, atMs: 900 }],
    claims: [{ machine: MACHINE, epoch: '1' }],
    ends: [
      { machine: MACHINE, epoch: '1', how: 'finish', result: 'ok' },
      { machine: MACHINE, epoch: '2', how: 'finish', result: 'work-lost' },
    ],
  },
  effects: [effect('a', 'execute', 150), effect('b', 'reboot', 5_600)],
  unfenced: new Set(),
  writerOf: ({ port }) => (port === 1 ? 'a' : port === 2 ? 'b' : null),
  budget: {
    fleet: 1,
    groups: new Map([
      ['p', 1],
      ['l', 1],
    ]),
  },
  end: { machines: [{ machineId: MACHINE, heartbeatMs: null }], held: [], historyRows: 6 },
};

const swapped = <T>(items: readonly T[], at: number, change: Partial<T>): T[] =>
  items.map((item, index) => (index === at ? { ...item, ...change } : item));
const acknowledged = (change: Partial<Evidence['acknowledged']>) => ({
  acknowledged: { ...good.acknowledged, ...change },
});
const fourth = lease(B, 4);

test('a good record is judged to be good', () => {
  expect(judge(good)).toEqual([]);
});

test('an effect in the millisecond of its note, which daemons round down, is good', () => {
  const tags = swapped(good.tags, 0, { atMs: 150.9 });
  expect(judge({ ...good, tags })).toEqual([]);
});

test('what an unfenced run does late, though the database allowed it in time, is good', () => {
  const late = { effects: [effect('a', 'execute', 4_501)] };
  expect(judge({ ...good, ...late, unfenced: new Set(['a']) })).toEqual([]);
});

test.each<readonly [Rule, string, Partial<Evidence>]>([
  [
    'history-alternates',
    'a second start before the end of the first',
    { history: [...good.history.slice(0, 1), row(2, B, 150, 'Started', fourth)] },
  ],
  [
    'history-alternates',
    'an end of what was not started',
    { history: [...good.history, row(9, B, 7_000, 'Failed', fourth)] },
  ],
  ['one-end-each', 'a start without an end', { history: good.history.slice(0, 5) }],
  [
    'one-end-each',
    'two ends of one start',
    { history: [...good.history, row(9, B, 7_000, 'Canceled', third)] },
  ],
  ['epochs-rise', 'an epoch that was used before', withEpoch(lease(B, 1, 'ShepherdRecovery'))],
  ['history-append-only', 'a history row that was changed', { rewritten: 1 }],
  ['history-append-only', 'a history row that is gone', { end: { ...good.end, historyRows: 5 } }],
  ['leases-follow', 'a change that nobody noted', { leases: good.leases.toSpliced(1, 1) }],
  [
    'lease-stolen',
    'a lease taken before the deadline of its session',
    { leases: swapped(good.leases, 3, { begunAtMs: 4_400 }) },
  ],
  [
    'lease-stolen',
    'a lease taken while its session was being extended',
    { sessions: [...good.sessions, life(A, 4_499, 7_499)] },
  ],
  [
    'lease-stolen',
    'a lease that goes straight from a live session to another',
    { leases: [change(1, A, 100, null, first), change(8, B, 150, first, third)] },
  ],
  [
    'dead-session-wrote',
    'a claim after the deadline',
    { leases: swapped(good.leases, 2, { begunAtMs: 4_600 }) },
  ],
  [
    'dead-session-wrote',
    'a finish after the deadline',
    { history: swapped(good.history, 1, { begunAtMs: 4_500 }) },
  ],
  [
    'dead-session-wrote',
    'a tag after the deadline',
    { tags: swapped(good.tags, 1, { begunAtMs: 4_600 }) },
  ],
  [
    'dead-session-wrote',
    'a finish by a session that was closed',
    { sessions: [...good.sessions, life(A, 120, null)] },
  ],
  [
    'wrote-without-lease',
    'a finish without its lease',
    { leases: good.leases.slice(0, 5), end: good.end },
  ],
  [
    'wrote-without-lease',
    'a finish by somebody else',
    { history: swapped(good.history, 1, { port: 2 }) },
  ],
  [
    'wrote-without-lease',
    'a tag written by somebody else',
    { tags: swapped(good.tags, 2, { port: 1 }) },
  ],
  [
    'wrote-without-lease',
    'a tag written after the end of the work',
    { tags: swapped(good.tags, 2, { atMs: 8_000 }) },
  ],
  [
    'effect-without-lease',
    'an effect after the deadline',
    { effects: [effect('a', 'execute', 4_501)] },
  ],
  [
    'effect-without-lease',
    'an effect of another than the holder',
    { effects: [effect('a', 'reboot', 5_500)] },
  ],
  [
    'effect-without-lease',
    'an effect on a free machine',
    { effects: [effect('a', 'execute', 300)] },
  ],
  [
    'effect-without-lease',
    'an effect that an unfenced run noted with a session that was dead by then',
    {
      unfenced: new Set(['a']),
      tags: swapped(good.tags, 0, { begunAtMs: 4_600, askedMs: 4_600, atMs: 4_700 }),
      effects: [effect('a', 'execute', 4_900)],
    },
  ],
  [
    'effect-unnoted',
    'an effect that is noted when it was done',
    { effects: swapped(good.effects, 0, { sentAtMs: 139 }) },
  ],
  [
    'effect-unnoted',
    'a second effect on the strength of one note',
    { effects: [...good.effects, effect('b', 'reboot', 5_700)] },
  ],
  [
    'effect-unnoted',
    'an effect after a change that is no note',
    { tags: swapped(good.tags, 2, { askedMs: 5_400 }) },
  ],
  [
    'ack-lost',
    'an acknowledged claim that is not there',
    acknowledged({ claims: [{ machine: MACHINE, epoch: '9' }] }),
  ],
  [
    'ack-lost',
    'an acknowledged finish that is not there',
    acknowledged({ ends: [{ machine: MACHINE, epoch: '2', how: 'finish', result: 'ok' }] }),
  ],
  [
    'ack-lost',
    'a refused finish that is there',
    acknowledged({ ends: [{ machine: MACHINE, epoch: '1', how: 'finish', result: 'work-lost' }] }),
  ],
  [
    'heartbeat-lost',
    'an acknowledged heartbeat newer than the row',
    acknowledged({ beats: [{ machine: MACHINE, atMs: 7_000 }] }),
  ],
  ['heartbeat-lost', 'an acknowledged heartbeat that was never written', { beats: [] }],
  [
    'heartbeat-lost',
    'a heartbeat taken away by nothing that is recorded',
    { silenced: swapped(good.silenced, 0, { xid: '99' }) },
  ],
  [
    'budget-exceeded',
    'one permit too many',
    { permits: [...good.permits.slice(0, 1), ...good.permits.slice(0, 1)] },
  ],
  [
    'permit-while-frozen',
    'a permit while the fleet is frozen',
    { guard: good.guard.toSpliced(2, 1) },
  ],
  [
    'permit-while-frozen',
    'a permit while the provider is frozen',
    { guard: swapped(good.guard, 3, { scope: 'p' }) },
  ],
  [
    'permit-in-grace',
    'a permit before heartbeats were taken in for long enough',
    { guard: swapped(good.guard, 2, { upSinceMs: -4_000 }) },
  ],
  [
    'permit-in-grace',
    'a permit while they are not taken in',
    { guard: swapped(good.guard, 2, { upSinceMs: null }) },
  ],
  [
    'permit-in-grace',
    'a permit after a gap that nobody has noted yet',
    { pulses: swapped(good.pulses, 1, { seenAtMs: 2_999 }) },
  ],
  ['permit-in-grace', 'a permit before anybody took any in', { pulses: [] }],
  [
    'never-worked-on',
    'a machine without history',
    { end: { ...good.end, machines: [{ machineId: 'machine-2', heartbeatMs: null }] } },
  ],
  ['locked-in-the-end', 'a lease left behind', { end: { ...good.end, held: [MACHINE] } }],
])('%s: %s', (rule, _, forged) => {
  expect(judge({ ...good, ...forged }).map((violation) => violation.rule)).toContain(rule);
});

/** The last claim and its end get another epoch. */
function withEpoch(other: Lease): Partial<Evidence> {
  return {
    history: [
      ...good.history.slice(0, 4),
      row(5, B, 5_000, 'Started', other),
      row(6, B, 6_000, 'Finished', other),
    ],
  };
}
