import { expect, test } from 'vitest';
import type { Evidence, HistoryRow, Lease, TagWrite } from './evidence.ts';
import { judge, type OracleRule } from './oracle.ts';

/**
 * A record of a few good seconds: daemon a (port 1) starts a machine's agent; later it claims again
 * and dies; daemon b (port 2) takes the machine over and recovers it.
 */
const A = { sessionId: 'session-a', run: 'a', port: 1 };
const B = { sessionId: 'session-b', run: 'b', port: 2 };
const MACHINE = 'machine-1';

const noted = (xid: number, { port }: { readonly port: number }, atMs: number) => ({
  ...{ xid: String(xid), port, begunAtMs: atMs, atMs: atMs + 1 },
});
const life = (who: typeof A, atMs: number, deadlineMs: number | null) => ({
  ...{ ...noted(0, who, atMs), sessionId: who.sessionId, run: who.run, deadlineMs },
});
const lease = (who: typeof A, epoch: number, process = 'ShepherdAgentStart'): Lease => ({
  ...{ sessionId: who.sessionId, epoch: String(epoch), process },
});
const change = (xid: number, by: typeof A, atMs: number, from: Lease | null, to: Lease | null) => ({
  ...{ ...noted(xid, by, atMs), machineId: MACHINE, group: 'shepherd', from, to },
});
const row = (xid: number, by: typeof A, atMs: number, event: string, of: Lease): HistoryRow => ({
  ...{ ...noted(xid, by, atMs), ...of, machineId: MACHINE, event, seq: String(xid) },
  cause: event === 'Canceled' ? 'session expired' : null,
});

const tag = (xid: number, by: typeof A, atMs: number, table: string): TagWrite => ({
  ...{ ...noted(xid, by, atMs), table, machineId: MACHINE, askedMs: null },
});
const effect = (run: string, kind: string, atMs: number) => ({
  ...{ run, kind, machineId: MACHINE, atMs, sentAtMs: atMs },
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
    row(4, B, 5_000, 'Canceled', second),
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

type Forged = Partial<Evidence>;
type Lists =
  | 'sessions'
  | 'leases'
  | 'history'
  | 'guard'
  | 'pulses'
  | 'tags'
  | 'silenced'
  | 'effects';
/** The good record with one changed item of a list, or with more or fewer items. */
const other = (list: Lists, at: number, change: object): Forged => ({
  [list]: good[list].map((item, index) => (index === at ? { ...item, ...change } : item)),
});
const more = (list: Lists, ...items: object[]): Forged => ({ [list]: [...good[list], ...items] });
const only = (list: Lists, to: number): Forged => ({ [list]: good[list].slice(0, to) });
const told = (change: Partial<Evidence['acknowledged']>): Forged => ({
  acknowledged: { ...good.acknowledged, ...change },
});
const toldEnd = (epoch: string, result: string) =>
  told({ ends: [{ machine: MACHINE, epoch, how: 'finish', result }] });
const end = (change: Partial<Evidence['end']>): Forged => ({ end: { ...good.end, ...change } });
const fourth = lease(B, 4);
const used = lease(B, 1, 'ShepherdRecovery');
const unfenced = new Set(['a']);

test.each<readonly [string, Forged]>([
  ['as it is', {}],
  [
    'with an effect in the millisecond of its note, which daemons round down',
    other('tags', 0, { atMs: 150.9 }),
  ],
  [
    'with what an unfenced run does late, though the database allowed it in time',
    { effects: [effect('a', 'execute', 4_501)], unfenced },
  ],
])('accepts a good record, %s', (_, change) => {
  expect(judge({ ...good, ...change })).toEqual([]);
});

const FORGED: Readonly<Record<OracleRule, Readonly<Record<string, Forged>>>> = {
  'history-alternates': {
    'a second start before the end of the first': {
      history: [good.history[0]!, row(2, B, 150, 'Started', fourth)],
    },
    'an end of what was not started': more('history', row(9, B, 7_000, 'Failed', fourth)),
  },
  'one-end-each': {
    'a start without an end': only('history', 5),
    'two ends of one start': more('history', row(9, B, 7_000, 'Canceled', third)),
  },
  'epochs-rise': {
    'an epoch that was used before': {
      history: [
        ...good.history.slice(0, 4),
        ...[row(5, B, 5_000, 'Started', used), row(6, B, 6_000, 'Finished', used)],
      ],
    },
  },
  'history-append-only': {
    'a history row that was changed': { rewritten: 1 },
    'a history row that is gone': end({ historyRows: 5 }),
  },
  'leases-follow': { 'a change that nobody noted': { leases: good.leases.toSpliced(1, 1) } },
  'lease-stolen': {
    'a lease taken before the deadline of its session': other('leases', 3, { begunAtMs: 4_400 }),
    'a lease taken while its session was being extended': more('sessions', life(A, 4_499, 7_499)),
    'a lease that goes straight from a live session to another': {
      leases: [change(1, A, 100, null, first), change(8, B, 150, first, third)],
    },
  },
  'dead-session-wrote': {
    'a claim after the deadline': other('leases', 2, { begunAtMs: 4_600 }),
    'a finish after the deadline': other('history', 1, { begunAtMs: 4_500 }),
    'a tag after the deadline': other('tags', 1, { begunAtMs: 4_600 }),
    'a finish by a session that was closed': more('sessions', life(A, 120, null)),
  },
  'wrote-without-lease': {
    'a finish without its lease': only('leases', 5),
    'a finish by somebody else': other('history', 1, { port: 2 }),
    'a tag written by somebody else': other('tags', 2, { port: 1 }),
    'a tag written after the end of the work': other('tags', 2, { atMs: 8_000 }),
  },
  'effect-without-lease': {
    'an effect after the deadline': { effects: [effect('a', 'execute', 4_501)] },
    'an effect of another than the holder': { effects: [effect('a', 'reboot', 5_500)] },
    'an effect on a free machine': { effects: [effect('a', 'execute', 300)] },
    'an effect that an unfenced run noted with a session that was dead by then': {
      ...other('tags', 0, { begunAtMs: 4_600, askedMs: 4_600, atMs: 4_700 }),
      ...{ unfenced, effects: [effect('a', 'execute', 4_900)] },
    },
  },
  'effect-unnoted': {
    'an effect that is noted when it was done': other('effects', 0, { sentAtMs: 139 }),
    'a second effect on the strength of one note': more('effects', effect('b', 'reboot', 5_700)),
    'an effect after a change that is no note': other('tags', 2, { askedMs: 5_400 }),
  },
  'ack-lost': {
    'a claim that is not there': told({ claims: [{ machine: MACHINE, epoch: '9' }] }),
    'a finish that is not there': toldEnd('2', 'ok'),
    'a refused finish that is there': toldEnd('1', 'work-lost'),
  },
  'heartbeat-lost': {
    'one newer than the row': told({ beats: [{ machine: MACHINE, atMs: 7_000 }] }),
    'one that was never written': { beats: [] },
    'one taken away by nothing that is recorded': other('silenced', 0, { xid: '99' }),
  },
  'budget-exceeded': { 'one permit too many': { permits: [good.permits[0]!, good.permits[0]!] } },
  'permit-while-frozen': {
    'of the fleet': { guard: good.guard.toSpliced(2, 1) },
    'of the provider': other('guard', 3, { scope: 'p' }),
  },
  'permit-in-grace': {
    'before heartbeats were taken in for long enough': other('guard', 2, { upSinceMs: -4_000 }),
    'while they are not taken in': other('guard', 2, { upSinceMs: null }),
    'after a gap that nobody has noted yet': other('pulses', 1, { seenAtMs: 2_999 }),
    'before anybody took any in': { pulses: [] },
  },
  'never-worked-on': {
    'a machine without history': end({ machines: [{ machineId: 'machine-2', heartbeatMs: null }] }),
  },
  'locked-in-the-end': { 'a lease left behind': end({ held: [MACHINE] }) },
};
test.each(
  Object.entries(FORGED).flatMap(([rule, cases]) =>
    Object.entries(cases).map(([what, forged]) => [rule, what, forged] as const),
  ),
)('%s: %s', (rule, _, forged) => {
  expect(judge({ ...good, ...forged }).map((violation) => violation.rule)).toContain(rule);
});
