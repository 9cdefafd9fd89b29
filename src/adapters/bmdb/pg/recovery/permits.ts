import { exclusionGroup, PROCESS_FOR } from '../../../../domain/eligibility.ts';
import type { Outcome } from '../../../../domain/batcher.ts';
import { NoPermit } from '../../../../domain/errors.ts';
import { machineId } from '../../../../domain/ids.ts';
import type { MachineId } from '../../../../domain/ids.ts';
import { ORDER_VERBS } from '../../../../domain/verbs.ts';
import type { Process } from '../../../../domain/machine.ts';
import { fleetBudget, groupBudget } from '../../../../domain/policy.ts';
import type { LossPolicy, RecoveryBudget } from '../../../../domain/policy.ts';
import { FLEET as ALL, suspicionRefusal } from '../../../../domain/recovery/guard-judgement.ts';
import { cancelDead } from '../claims/cancel.ts';
import { refusalSql } from '../eligibility.ts';
import { countQuiet } from '../guard/guard-counts.ts';
import type { GuardCountStatements } from '../guard/guard-counts.ts';
import { readGate } from '../guard/guard-book.ts';
import { lockGuard } from '../guard/guard-rows.ts';
import { refusalError } from '../claims/held-claim.ts';
import type { TakenClaim } from '../claims/held-claim.ts';
import type { LiveSession } from '../live.ts';
import { MACHINE_TABLES } from '../reading/machine-row.ts';
import type { Queries } from '../pool.ts';
import { statement } from '../statement.ts';
import type { RowOf } from '../statement.ts';

const FLEET = 'the fleet';
const CANDIDATE = {
  machine_id: 'uuid',
  refusal: 'text?',
  /** Where nothing forbids the claim: by a dead session. */
  held: 'bool',
  /** It has one, and keeps it until the transaction has ended. */
  permit: 'bool',
  provider: 'text?',
  location: 'text?',
  /** Counts among the started machines already. */
  started: 'bool',
  /** An operator asked for it. */
  ordered: 'bool',
} as const;
type Candidate = RowOf<typeof CANDIDATE>;

const verbsOf = (process: Process) =>
  ORDER_VERBS.filter((verb) => PROCESS_FOR[verb] === process)
    .map((verb) => `'${verb}'`)
    .join(', ');

const candidates = (process: Process, loss: LossPolicy) =>
  statement({
    name: `permit-candidates-${process}`,
    params: { machines: 'uuid[]' },
    columns: CANDIDATE,
    text: ({ machines }) =>
      `WITH permits AS MATERIALIZED (
         SELECT x.machine_id FROM recovery_permits x WHERE x.machine_id = ANY (${machines})
         ORDER BY x.machine_id FOR KEY SHARE
       )
       SELECT m.machine_id, ${refusalSql(process, loss)} AS refusal,
         EXISTS (SELECT 1 FROM work w WHERE w.machine_id = m.machine_id
           AND w.exclusion_group = '${exclusionGroup(process)}'
           AND w.session_id IS NOT NULL) AS held,
         m.machine_id IN (SELECT permits.machine_id FROM permits) AS permit,
         p.provider, p.provider_location::text AS location, a.machine_id IS NOT NULL AS started,
         coalesce(y.verb IN (${verbsOf(process)}), false) AS ordered
       FROM ${MACHINE_TABLES} WHERE m.machine_id = ANY (${machines})`,
  });
export type PermitStatements = ReturnType<typeof statementsFor>;

/** One for each process of the ladder. */
export const statementsFor = (loss: LossPolicy) => ({
  ShepherdRecovery: candidates('ShepherdRecovery', loss),
  ShepherdReinstall: candidates('ShepherdReinstall', loss),
});

/** Started machines without a permit, of those that `which` selects: no more than `most`. */
const startedCount = (which: string, most: string) => `
  (SELECT count(*) FROM (
    SELECT 1 FROM machine_agent_started a JOIN machine_provided p USING (machine_id)
    WHERE ${which}
      AND NOT EXISTS (SELECT 1 FROM recovery_permits e WHERE e.machine_id = a.machine_id)
    LIMIT ${most}) counted)::int4`;

export const statements = {
  /** Shares are of the machines that are started or being recovered. */
  counts: statement({
    name: 'permit-counts',
    params: { providers: 'text[]', locations: 'text[]', fleetMost: 'int8', groupMost: 'int8' },
    columns: { scope: 'text', recovering: 'int4', others: 'int4' },
    text: ({ providers, locations, fleetMost, groupMost }) => `
      WITH permits AS MATERIALIZED (
        SELECT coalesce(e.provider, p.provider) AS provider,
          coalesce(e.location, p.provider_location) AS location
        FROM recovery_permits e JOIN machine_provided p USING (machine_id)
      )
      SELECT '${FLEET}' AS scope, (SELECT count(*) FROM permits)::int4 AS recovering,
        ${startedCount('true', fleetMost)} AS others
      UNION ALL
      SELECT 'provider ' || g.name,
        (SELECT count(*) FROM permits WHERE permits.provider = g.name)::int4,
        ${startedCount('p.provider = g.name', groupMost)}
      FROM unnest(${providers}) AS g (name)
      UNION ALL
      SELECT 'location ' || g.name,
        (SELECT count(*) FROM permits WHERE permits.location = g.name)::int4,
        ${startedCount('p.provider_location = g.name', groupMost)}
      FROM unnest(${locations}) AS g (name)`,
  }),
  grant: statement({
    name: 'permits-grant',
    params: { machines: 'uuid[]', providers: 'text[]', locations: 'text?[]' },
    columns: {},
    text: ({ machines, providers, locations }) => `
      WITH granted AS (
        INSERT INTO recovery_permits (machine_id, provider, location)
        SELECT * FROM unnest(${machines}, ${providers}, ${locations})
        ON CONFLICT DO NOTHING RETURNING 1
      )
      UPDATE fleet_guard SET permits_granted = permits_granted + (SELECT count(*) FROM granted)
      WHERE scope = 'fleet'`,
  }),
};

/** Where a machine counts. */
interface Place {
  readonly provider: string;
  readonly location: string | null;
}
/** Permits to be given to these machines, as soon as they are claimed. */
export type Grants = Map<MachineId, Place>;

export interface Permits {
  /** Machines that may not be claimed, and why. */
  readonly refused: Map<MachineId, Outcome<TakenClaim>>;
  readonly grants: Grants;
}

interface Asking {
  readonly session: LiveSession;
  readonly process: Process;
  readonly permits: PermitStatements;
  /** Who is quiet. */
  readonly counting: GuardCountStatements;
}

/**
 * Which of the machines may be claimed for the ladder: those that hold a permit, and those that may
 * get one. Once somebody needs one, no other transaction grants any before this one has ended.
 */
export async function askPermits(
  q: Queries,
  asking: Asking,
  machines: readonly MachineId[],
): Promise<Permits> {
  let rows = await readCandidates(q, asking, machines);
  const needed = [...rows.values()].some((row) => row.refusal === null && !row.permit);
  if (needed) {
    await lockGuard(q);
    // Whoever held the guard before may have been after the same machines.
    rows = await readCandidates(q, asking, machines);
  }
  const refused: Permits['refused'] = new Map();
  const wanting: Candidate[] = [];
  for (const id of machines) {
    const row = rows.get(id);
    const refusal = row ? row.refusal : 'unknown machine';
    if (refusal !== null) refused.set(id, { error: refusalError(asking.process, id, refusal) });
    else if (!row!.permit) wanting.push(row!);
  }
  const grants: Grants = new Map();
  if (wanting.length > 0) await choose(q, asking, wanting, { refused, grants });
  return { refused, grants };
}

/** Work of dead sessions is ended first: its unused permits are free again. */
async function readCandidates(
  q: Queries,
  { process, permits }: Asking,
  machines: readonly MachineId[],
): Promise<Map<string, Candidate>> {
  const sql = permits[process as keyof PermitStatements];
  const read = async () => {
    const rows = await q.rows(sql, { machines });
    return new Map(rows.map((row) => [row.machine_id, row]));
  };
  const rows = await read();
  const dead = machines.filter((id) => rows.get(id)?.held && rows.get(id)?.refusal === null);
  if (dead.length === 0) return rows;
  await cancelDead(q, dead, exclusionGroup(process));
  return read();
}

/** The guard must be locked. */
async function choose(
  q: Queries,
  { session, counting }: Asking,
  wanting: readonly Candidate[],
  { refused, grants }: Permits,
): Promise<void> {
  const gate = await readGate(q, session);
  const ledger = await readLedger(q, session.budget, wanting);
  let quiet: ReturnType<typeof countQuiet> | null = null;
  const suspicion = async (provider: string): Promise<string | null> => {
    quiet ??= countQuiet(q, counting, gate.last, session);
    const quietIn = await quiet;
    const why = (scope: string) => suspicionRefusal(quietIn(scope), session.guard);
    return why(ALL) ?? why(provider);
  };
  for (const row of wanting) {
    const place: Place = { provider: row.provider!, location: row.location };
    const stop = gate.frozen(place.provider) ?? (row.ordered ? null : gate.grace);
    // Counted only for somebody who would get one, and once.
    const why =
      stop ?? ledger.whyNot(place) ?? (row.ordered ? null : await suspicion(place.provider));
    const id = machineId(row.machine_id);
    if (why !== null) refused.set(id, { error: new NoPermit(why) });
    else {
      grants.set(id, place);
      ledger.enter(place, row.started);
    }
  }
}

interface Ledger {
  /** Null: there is room for one more. */
  whyNot(place: Place): string | null;
  /** @param started it is among the started ones already. */
  enter(place: Place, started: boolean): void;
}

const scopesOf = ({ provider, location }: Place): string[] => [
  FLEET,
  `provider ${provider}`,
  ...(location === null ? [] : [`location ${location}`]),
];

/** From so many machines on the percentage allows no less than the absolute limit. */
const mostThatMatter = (limit: number, percent: number): number =>
  percent <= 0 ? 0 : Math.ceil((limit * 100) / percent);

async function readLedger(
  q: Queries,
  budget: RecoveryBudget,
  wanting: readonly Candidate[],
): Promise<Ledger> {
  const distinct = (names: (string | null)[]) => [
    ...new Set(names.filter((name) => name !== null)),
  ];
  const rows = await q.rows(statements.counts, {
    providers: distinct(wanting.map((row) => row.provider)),
    locations: distinct(wanting.map((row) => row.location)),
    fleetMost: mostThatMatter(budget.fleetMax, budget.percent),
    groupMost: mostThatMatter(budget.perGroupMax, budget.percent),
  });
  const tallies = new Map(
    rows.map(({ scope, recovering, others }) => [
      scope,
      { recovering, started: recovering + others },
    ]),
  );
  return {
    whyNot: (place) => {
      for (const scope of scopesOf(place)) {
        const { recovering, started } = tallies.get(scope)!;
        const limit = (scope === FLEET ? fleetBudget : groupBudget)(budget, started);
        if (recovering >= limit) {
          return `${recovering} of ${limit} machines of ${scope} are recovering already`;
        }
      }
      return null;
    },
    enter: (place, started) => {
      for (const scope of scopesOf(place)) {
        const tally = tallies.get(scope)!;
        tally.recovering += 1;
        if (!started) tally.started += 1;
      }
    },
  };
}

/** Writes down the permits of machines that were claimed. */
export async function grantPermits(q: Queries, grants: Grants): Promise<void> {
  if (grants.size === 0) return;
  const places = [...grants.values()];
  await q.run(statements.grant, {
    machines: [...grants.keys()],
    providers: places.map((place) => place.provider),
    locations: places.map((place) => place.location),
  });
}
