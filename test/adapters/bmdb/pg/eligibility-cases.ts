import fc from 'fast-check';
import type pg from 'pg';
import { MEMBER_STATES } from '../../../../src/domain/balancing/members.ts';
import type { MemberRow } from '../../../../src/domain/balancing/members.ts';
import { exclusionGroup } from '../../../../src/domain/eligibility.ts';
import { machineId, providerName } from '../../../../src/domain/ids.ts';
import type { DrainMode, HoldKind, HoldRow, MachineRow } from '../../../../src/domain/machine.ts';
import { DRAIN_MODES, PROCESSES, PROVIDER_STATUSES } from '../../../../src/domain/machine.ts';
import { STANDING_RUNGS } from '../../../../src/domain/recovery/rungs.ts';
import { forTraits } from '../../../../src/domain/traits.ts';
import type { Verb } from '../../../../src/domain/verbs.ts';
import { ORDER_VERBS } from '../../../../src/domain/verbs.ts';
import { KEY_HEX, ladderOn, machineRow, requestedAt } from '../../../contracts/bmdb-rows.ts';
import { installing } from '../../../contracts/bmdb-vectors.ts';
import { insertHold, insertMachine } from './pg-harness.ts';

const HOLDS: readonly HoldKind[] = ['no-start', 'no-recover', 'no-allocate', 'preserve'];

/** Minutes around the relevant limits, so that both sides of each occur often. */
const timeAround = (nowMs: number) =>
  fc
    .tuple(
      fc.constantFrom(-50, -41, -31, -29, -20, -11, -9, -2, 0, 5),
      fc.integer({ min: 0, max: 40_000 }),
    )
    .map(([minutes, extraMs]) => nowMs + minutes * 60_000 - extraMs - 1_000);
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null, freq: 2 });
const seldom = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: value });

/** Members of at most two balancers, without a machine yet. More of them serve than not. */
function membersAround(time: fc.Arbitrary<number>): fc.Arbitrary<readonly MemberRow[]> {
  const member = fc
    .record({
      state: fc.constantFrom(...MEMBER_STATES, 'active', 'active'),
      sinceMs: time,
      deadlineMs: time,
      waived: fc.integer({ min: 0, max: 5 }).map((chance) => chance === 0),
      refused: fc.boolean(),
      note: seldom(fc.constant('why')),
      sessions: seldom(fc.nat(9)),
    })
    .map((given): Omit<MemberRow, 'balancer'> => ({
      ...{ ...given, machineId: machineId(''), pool: 'api' },
      deadlineMs: given.state === 'draining' ? given.deadlineMs : null,
      how: given.state === 'drained' ? 'grace' : null,
    }));
  return fc
    .array(member, { minLength: 1, maxLength: 2 })
    .map((all) => all.map((each, at) => ({ ...each, balancer: `lb-${at}` })));
}

/** Names that no two machines may share, derived from the machine's own. */
const named = (row: MachineRow): MachineRow => ({
  ...row,
  members: row.provided ? row.members.map((each) => ({ ...each, machineId: row.machineId })) : [],
  missing: row.provided && row.missing,
  provided: row.provided && {
    ...row.provided,
    providerId: `device-${row.machineId}`,
    reservationId: row.provided.reservationId === null ? null : `slot-${row.machineId}`,
  },
});

function rowAround(nowMs: number): fc.Arbitrary<MachineRow> {
  const time = timeAround(nowMs);
  const future = fc.integer({ min: 60_000, max: 600_000 }).map((ms) => nowMs + ms);
  const anyTime = fc.oneof(time, future);
  const generation = fc.bigInt({ min: 1n, max: 3n });
  const change = fc.record({
    machineId: fc.uuid().map(machineId),
    createdAtMs: time,
    provided: fc.oneof(
      { weight: 1, arbitrary: fc.constant(null) },
      {
        weight: 9,
        arbitrary: fc.record({
          provider: fc.constantFrom('metal', 'static').map(providerName),
          providerId: fc.constant(''),
          reservationId: maybe(fc.constant('')),
          address: maybe(fc.constant('127.0.0.1:22')),
          ...forTraits(() => maybe(fc.constant('ny'))),
          status: fc.oneof(
            fc.constantFrom(null, 'Running' as const),
            fc.constantFrom(...PROVIDER_STATUSES),
          ),
        }),
      },
    ),
    agentStarted: maybe(
      fc.record({
        atMs: time,
        publicKey: fc.constantFrom(KEY_HEX, '08'.repeat(32)),
        bootId: maybe(fc.uuid()),
      }),
    ),
    heartbeat: maybe(fc.record({ atMs: time, bootId: maybe(fc.uuid()) })),
    installation: installations(time, generation),
    startAttempt: maybe(
      fc.record({
        atMs: maybe(time),
        count: fc.integer({ min: 0, max: 8 }),
        unreached: fc.constant(0),
      }),
    ),
    recovery: maybe(
      fc.record({
        rung: fc.constantFrom(...STANDING_RUNGS),
        attempts: fc.nat(5),
        askedAtMs: maybe(time),
        askedRung: maybe(fc.constantFrom(...STANDING_RUNGS)),
        orderKey: seldom(fc.uuid()),
        bootIdBefore: maybe(fc.uuid()),
        hostKeyBefore: maybe(fc.constant('key')),
        offSeenAtMs: seldom(time),
        powerOffAskedAtMs: fc.constant(null),
        operationRef: maybe(fc.uuid()),
        // Few rows are lost and may be submitted. Only those show this wait, so most of them have
        // one.
        nextAtMs: maybe(fc.oneof({ weight: 4, arbitrary: future }, { weight: 1, arbitrary: time })),
      }),
    ),
    bootTimes: fc.record({
      reboot: fc.array(fc.nat(900), { maxLength: 5 }),
      reinstall: fc.array(fc.nat(2_700), { maxLength: 5 }),
    }),
    quarantine: seldom(
      fc.record({
        kind: fc.constantFrom('needsHuman', 'conflict', 'byOperator'),
        reason: fc.constant('x'),
        untilMs: maybe(anyTime),
        cause: maybe(fc.constant('chronic')),
      }),
    ),
    deprovision: seldom(
      fc.record({
        requestedAtMs: time,
        requestedBy: fc.constant('ann'),
        reason: fc.constant('x'),
        drain: maybe(fc.constantFrom(...DRAIN_MODES)),
        returnToPool: fc.boolean(),
        attempts: fc.nat(30),
        askedAtMs: maybe(time),
      }),
    ),
    missing: seldom(fc.record({ sinceMs: time, seen: fc.nat(5) })),
    hostKey: maybe(fc.constant('key')),
    members: maybe(membersAround(anyTime)).map((members) => members ?? []),
    backoffs: fc.uniqueArray(
      fc.record({
        process: fc.constantFrom(...PROCESSES),
        untilMs: anyTime,
        cause: fc.constant('x'),
        lastIntervalSeconds: maybe(fc.nat(1000)),
      }),
      { maxLength: 2, selector: ({ process }) => process },
    ),
  });
  // Orders are inserted separately: a machine's row does not show every request.
  return change.map((given) => machineRow(nowMs, given));
}

function installations(time: fc.Arbitrary<number>, generation: fc.Arbitrary<bigint>) {
  const none = { requestGeneration: null, handedOutAtMs: null };
  const request = fc.record({ requestGeneration: generation, handedOutAtMs: maybe(time) });
  const unreported = { reportGeneration: null, reportResult: null };
  const report = fc.record({
    reportGeneration: generation,
    reportResult: fc.constantFrom('Success' as const, 'Error' as const),
  });
  const any = fc
    .tuple(fc.oneof(fc.constant(none), request), fc.oneof(fc.constant(unreported), report))
    .map(([asked, answered]) => ({ ...asked, ...answered }));
  // Rare by chance, and both ends must occur together with every other fact.
  const ended = (reportResult: 'Success' | 'Error') =>
    time.map((handedOutAtMs) => ({
      requestGeneration: 2n,
      reportGeneration: 2n,
      reportResult,
      handedOutAtMs,
    }));
  return fc.oneof(
    { weight: 10, arbitrary: any },
    { weight: 2, arbitrary: ended('Success') },
    { weight: 1, arbitrary: ended('Error') },
  );
}

const STATES = ['alive', 'dead', 'gone', 'free'] as const;
const leases = fc.uniqueArray(
  fc.record({ process: fc.constantFrom(...PROCESSES), session: fc.constantFrom(...STATES) }),
  { maxLength: 3, selector: ({ process }) => exclusionGroup(process) },
);

/** Fields in which a newer program may have written values that this program does not know. */
const NEWER = {
  'provider status': `UPDATE machine_provided SET provider_status = 'Newer' WHERE machine_id = $1`,
  'installation result': `UPDATE machine_os_installation_report
    SET os_installation_result = 'Newer' WHERE machine_id = $1`,
  rung: `UPDATE machine_recovery SET rung = 'newer' WHERE machine_id = $1`,
  'asked rung': `UPDATE machine_recovery SET asked_rung = 'newer' WHERE machine_id = $1`,
  quarantine: `UPDATE machine_quarantined SET kind = 'newer' WHERE machine_id = $1`,
  work: `UPDATE work SET process = 'ShepherdNewer'
    WHERE machine_id = $1 AND exclusion_group = 'shepherd' AND process IS NOT NULL`,
  backoff: `UPDATE work_backoff SET process = 'ShepherdNewer' WHERE machine_id = $1
    AND process = (SELECT max(b.process) FROM work_backoff b WHERE b.machine_id = $1)`,
};
/** Types and their new values, outside any transaction that uses them. */
export const NEWER_VALUES = {
  provider_status: 'Newer',
  machine_os_installation_result: 'Newer',
  recovery_rung: 'newer',
  quarantine_kind: 'newer',
  process: 'ShepherdNewer',
};

/** One machine with every fact that a predicate may use. */
export interface EligibilityCase {
  readonly row: MachineRow;
  readonly hold: { kind: HoldKind; fromMs?: number | null; untilMs: number | null } | null;
  /** The work in progress and the facts about its session. */
  readonly leases: readonly {
    readonly process: (typeof PROCESSES)[number];
    readonly session: (typeof STATES)[number];
  }[];
  readonly newer: keyof typeof NEWER | null;
  readonly request: CaseRequest | null;
}
/** A request: an order of the machine, or one that must not be mistaken for an order. */
export interface CaseRequest {
  readonly key: string;
  readonly verb: Verb | 'defragment';
  readonly force: boolean;
  readonly drain: DrainMode | null;
  readonly state: 'open' | 'done' | 'refused';
  readonly expiresAtMs: number;
  readonly elsewhere: 'provider' | 'slot' | null;
}
/** Sixty machines at times around the policy's limits, for a `now()` near `nowMs`. */
export const casesAround = (nowMs: number): fc.Arbitrary<EligibilityCase[]> =>
  fc.uniqueArray(caseAround(nowMs), {
    minLength: 60,
    maxLength: 60,
    selector: ({ row }) => row.machineId,
  });

function caseAround(nowMs: number): fc.Arbitrary<EligibilityCase> {
  const hold = fc
    .record({
      kind: fc.constantFrom(...HOLDS),
      fromMs: maybe(fc.constantFrom(nowMs - 120_000, nowMs + 300_000)),
      untilMs: maybe(fc.constantFrom(nowMs - 60_000, nowMs + 600_000)),
    })
    .filter(({ fromMs, untilMs }) => (fromMs ?? -Infinity) < (untilMs ?? Infinity));
  const each = fc.record({
    row: rowAround(nowMs).map(named),
    hold: fc.oneof({ weight: 2, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: hold }),
    request: maybe(requestAround(nowMs)),
    leases: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: leases }),
    newer: seldom(fc.constantFrom(...(Object.keys(NEWER) as (keyof typeof NEWER)[]))),
    session: fc.constantFrom(...STATES),
    sound: fc.boolean(),
    flaw: fc.oneof(
      { weight: 7, arbitrary: fc.constant(null) },
      { weight: 6, arbitrary: fc.constantFrom(...FLAWS) },
    ),
  });
  // Work that this program does not know must exist before it can be written.
  return each.map(({ session, sound, flaw, ...one }) => {
    if (sound) {
      const ordered = onlyOrdered(one, nowMs);
      return { ...ordered, ...flaw?.(ordered.row, nowMs) };
    }
    return one.newer === 'work'
      ? { ...one, leases: [{ process: 'ShepherdRecovery', session }] }
      : one;
  });
}

/** Only a hold, perhaps, blocks the order. Facts that the order overrides may exist, too. */
function onlyOrdered({ row, hold, request }: EligibilityCase, nowMs: number): EligibilityCase {
  const untilMs = nowMs + 600_000;
  const wait = { untilMs, cause: 'x', lastIntervalSeconds: null };
  const installation = { ...row.installation, requestGeneration: null, handedOutAtMs: null };
  return {
    ...{ hold, leases: [], newer: null },
    row: {
      ...row,
      ...{ installation, quarantine: null, deprovision: null, heartbeat: null },
      backoffs: row.hostKey === null ? PROCESSES.map((process) => ({ process, ...wait })) : [],
      recovery: ladderOn('rebooting', { nextAtMs: untilMs }),
      provided: row.provided && { ...row.provided, status: 'Running' },
      agentStarted: row.agentStarted && { ...row.agentStarted, atMs: nowMs - 50 * 60_000 },
    },
    request: request && { ...request, state: 'open', elsewhere: null, expiresAtMs: untilMs },
  };
}

/**
 * Facts that an order does not override. By chance alone each occurs too rarely together with an
 * order.
 */
const FLAWS: readonly ((row: MachineRow, nowMs: number) => Partial<EligibilityCase>)[] = [
  () => ({ leases: [{ process: 'ShepherdRecovery', session: 'alive' }] }),
  (row) => ({
    row: { ...row, quarantine: { kind: 'byOperator', reason: 'x', untilMs: null, cause: null } },
  }),
  (row, nowMs) => ({ row: { ...row, deprovision: requestedAt(nowMs) } }),
  (row) => ({ row: { ...row, provided: row.provided && { ...row.provided, status: 'Missing' } } }),
  (row) => ({ row: { ...row, ...installing([2, 2]) } }),
  () => ({ newer: 'provider status' }),
  () => ({ newer: 'rung' }),
];

/** Mostly an open order. */
const requestAround = (nowMs: number): fc.Arbitrary<CaseRequest> =>
  fc.record({
    key: fc.uuid(),
    verb: fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom(...ORDER_VERBS) },
      {
        weight: 1,
        arbitrary: fc.constantFrom<CaseRequest['verb'][]>('hold', 'deprovision', 'defragment'),
      },
    ),
    force: fc.boolean(),
    drain: fc.constantFrom(null, null, null, ...DRAIN_MODES),
    state: fc.constantFrom('open', 'open', 'open', 'open', 'done', 'refused'),
    expiresAtMs: fc
      .constantFrom(600_000, 600_000, 600_000, 60_000, -1_000)
      .map((in_) => nowMs + in_),
    elsewhere: fc.constantFrom(null, null, null, null, 'provider', 'slot'),
  });

/** The hold on the machine's slot. */
export function holdOf({ provided }: MachineRow, hold: EligibilityCase['hold']): HoldRow | null {
  if (!provided || !hold) return null;
  const { provider, reservationId, providerId } = provided;
  return { provider, slotId: reservationId ?? providerId, ...hold, setBy: 'test', reason: 'x' };
}

const SESSIONS = {
  alive: '00000000-0000-4000-8000-00000000000a',
  dead: '00000000-0000-4000-8000-00000000000b',
  gone: '00000000-0000-4000-8000-00000000000c',
  free: null,
};

/** Writes the rows. */
export async function store(
  client: pg.PoolClient,
  cases: readonly EligibilityCase[],
): Promise<void> {
  await client.query(
    `INSERT INTO sessions (session_id, session_component_name, session_runtime_info,
       session_interval_seconds, session_deadline)
     VALUES ('${SESSIONS.alive}', 'test', 'x', 5, now() + interval '1 h'),
       ('${SESSIONS.dead}', 'test', 'x', 5, now())`,
  );
  for (const { row, hold, leases, newer, request } of cases) {
    await insertMachine(client, row);
    const held = holdOf(row, hold);
    if (held) await insertHold(client, held);
    if (request) await storeRequest(client, row, request);
    for (const { process, session } of leases) {
      await client.query(
        `INSERT INTO work (machine_id, exclusion_group, session_id, process, work_started_at)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (machine_id, exclusion_group) DO UPDATE SET session_id = excluded.session_id,
           process = excluded.process, work_started_at = excluded.work_started_at`,
        session === 'free'
          ? [row.machineId, exclusionGroup(process), null, null, null]
          : [row.machineId, exclusionGroup(process), SESSIONS[session], process, new Date()],
      );
    }
    if (newer) await client.query(NEWER[newer], [row.machineId]);
  }
}

async function storeRequest(
  client: pg.PoolClient,
  { machineId: id, provided }: MachineRow,
  { key, verb, force, drain, state, expiresAtMs, elsewhere }: CaseRequest,
): Promise<void> {
  const slot = provided?.reservationId ?? provided?.providerId ?? 'nowhere';
  await client.query(
    `INSERT INTO operator_intents (idempotency_key, verb, provider, slot_id, machine_id,
       parameters, actor, reason, state, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, 'ann', 'x', $7, to_timestamp($8::float8 / 1000))`,
    [
      ...[key, verb, elsewhere === 'provider' ? 'other' : (provided?.provider ?? 'metal')],
      ...[elsewhere === 'slot' ? 'elsewhere' : slot, id, { force, drain }, state, expiresAtMs],
    ],
  );
}
