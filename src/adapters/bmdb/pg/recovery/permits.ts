import { exclusionGroup, PROCESS_FOR } from '../../../../domain/eligibility.ts';
import { NoPermit } from '../../../../domain/errors.ts';
import type { MachineId } from '../../../../domain/ids.ts';
import { ORDER_VERBS } from '../../../../domain/verbs.ts';
import type { Process } from '../../../../domain/machine.ts';
import { fleetBudget, groupBudget, ORDERS_KEPT, PAIR_FROM } from '../../../../domain/policy.ts';
import type { LossPolicy, RecoveryBudget } from '../../../../domain/policy.ts';
import { FLEET as ALL, suspicionRefusal } from '../../../../domain/recovery/guard-judgement.ts';
import { cancelDead } from '../claims/cancel.ts';
import { ruleSql } from '../eligibility.ts';
import { countQuiet } from '../guard/guard-counts.ts';
import { readGate } from '../guard/guard-repository.ts';
import { refusalError } from '../claims/held-claim.ts';
import type { LiveSession } from '../live.ts';
import { MACHINE_TABLES } from '../reading/machine-row.ts';
import type { Queries } from '../pool.ts';
import { madeOnce, named, statement } from '../statement.ts';
import type { RowOf } from '../statement.ts';

const FLEET = 'the fleet';
const CANDIDATE = {
  machine_id: 'uuid',
  refusal: 'text?',
  /** If nothing forbids the claim: held by a dead session. */
  held: 'bool',
  /** A request is pending, or a power-off was requested: somebody has to finish that. */
  under_way: 'bool',
  provider: 'text?',
  /** An operator ordered it. */
  ordered: 'bool',
} as const;
type PermitCandidate = RowOf<typeof CANDIDATE>;

const verbsOf = (process: Process) =>
  ORDER_VERBS.filter((verb) => PROCESS_FOR[verb] === process)
    .map((verb) => `'${verb}'`)
    .join(', ');

const candidates = (process: Process, loss: LossPolicy) =>
  statement({
    name: `ladder-candidates-${process}`,
    params: { machines: 'uuid[]' },
    columns: CANDIDATE,
    text: ({ machines }) =>
      `WITH permits AS MATERIALIZED (
         SELECT x.machine_id FROM recovery_permits x WHERE x.machine_id = ANY (${machines})
         ORDER BY x.machine_id FOR KEY SHARE
       )
       SELECT m.machine_id, ${ruleSql('refusal', process, loss)} AS refusal,
         EXISTS (SELECT 1 FROM work w WHERE w.machine_id = m.machine_id
           AND w.exclusion_group = '${exclusionGroup(process)}'
           AND w.session_id IS NOT NULL) AS held,
         m.machine_id IN (SELECT permits.machine_id FROM permits)
           OR l.power_off_asked_at IS NOT NULL AS under_way,
         p.provider, coalesce(y.verb IN (${verbsOf(process)}), false) AS ordered
       FROM ${MACHINE_TABLES} WHERE m.machine_id = ANY (${machines})`,
  });

/** One statement for each process of the ladder. */
export const statementsFor = madeOnce((loss: LossPolicy) => ({
  ShepherdRecovery: candidates('ShepherdRecovery', loss),
  ShepherdReinstall: candidates('ShepherdReinstall', loss),
}));

/** Counts started machines without a permit, among those that `which` selects; stops at `most`. */
const startedCount = (which: string, most: string) => `
  (SELECT count(*) FROM (
    SELECT 1 FROM machine_agent_started a JOIN machine_provided p USING (machine_id)
    WHERE ${which}
      AND NOT EXISTS (SELECT 1 FROM recovery_permits e WHERE e.machine_id = a.machine_id)
    LIMIT ${most}) counted)::int4`;

export const statements = named('permit', {
  /** Shares are percentages of the machines that are started or hold a permit. */
  counts: statement({
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
    params: { machine: 'uuid', provider: 'text', location: 'text?' },
    text: ({ machine, provider, location }) => `
      WITH granted AS (
        INSERT INTO recovery_permits (machine_id, provider, location)
        VALUES (${machine}, ${provider}, ${location})
        ON CONFLICT DO NOTHING RETURNING 1
      )
      UPDATE fleet_guard SET permits_granted = permits_granted + (SELECT count(*) FROM granted)
      WHERE scope = 'fleet'`,
  }),
});

/** Provider and location for which a machine counts. */
interface PermitScope {
  readonly provider: string;
  readonly location: string | null;
}

interface Asking {
  readonly session: LiveSession;
  readonly process: Process;
}

type Refused = Map<MachineId, { readonly error: Error }>;

/**
 * Returns which of the machines the guard keeps from the ladder, and why. A claim takes no permit:
 * a permit is granted with the first request that interrupts the machine.
 */
export async function refuseClaims(
  q: Queries,
  asking: Asking,
  machines: readonly MachineId[],
): Promise<Refused> {
  const rows = await readCandidates(q, asking, machines);
  const refused: Refused = new Map();
  let gate: ReturnType<typeof openGate> | null = null;
  for (const id of machines) {
    const row = rows.get(id);
    const refusal = row ? row.refusal : 'unknown machine';
    if (refusal !== null) refused.set(id, { error: refusalError(asking.process, id, refusal) });
    else if (!row!.under_way) {
      gate ??= openGate(q, asking.session);
      const why = await (await gate).whyNot(row!.provider!, row!.ordered);
      if (why !== null) refused.set(id, { error: new NoPermit(why) });
    }
  }
  return refused;
}

/** First cancels work of dead sessions, so that its unused permits are free again. */
async function readCandidates(
  q: Queries,
  { session, process }: Asking,
  machines: readonly MachineId[],
): Promise<Map<string, PermitCandidate>> {
  const sql = statementsFor(session.loss)[process as 'ShepherdRecovery' | 'ShepherdReinstall'];
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

interface Gate {
  /**
   * Why freeze, grace or suspicion stop the machine; null if the guard lets it through. An order is
   * stopped only by a freeze.
   */
  whyNot(provider: string, isOrder: boolean): Promise<string | null>;
}

/** Counts quiet machines once, and only if nothing else stops the machine. */
async function openGate(q: Queries, session: LiveSession): Promise<Gate> {
  const gate = await readGate(q, session);
  let quiet: ReturnType<typeof countQuiet> | null = null;
  return {
    async whyNot(provider, isOrder) {
      const frozen = gate.frozen(provider);
      if (isOrder || (frozen ?? gate.grace) !== null)
        return frozen ?? (isOrder ? null : gate.grace);
      quiet ??= countQuiet(q, session, gate.last);
      const quietIn = await quiet;
      const why = (scope: string) => suspicionRefusal(quietIn(scope), session.guard);
      return why(ALL) ?? why(provider);
    },
  };
}

/** The machine to be interrupted, and the requester. */
interface Wanting {
  readonly session: LiveSession;
  readonly machine: MachineId;
  readonly place: PermitScope;
  /** An operator ordered it. */
  readonly isOrder: boolean;
}

/**
 * Grants the machine a permit, in the transaction that notes the request. The guard must be locked:
 * no other transaction can grant a permit before this one ends.
 * @throws {NoPermit} recovery is frozen, silence means nothing now, or the budget is used up.
 */
export async function grantPermit(q: Queries, wanting: Wanting): Promise<void> {
  const { machine, place, isOrder, session } = wanting;
  const gate = await openGate(q, session);
  const why =
    (await gate.whyNot(place.provider, isOrder)) ??
    (await whyNoRoom(q, session.budget, place, { isOrder }));
  if (why !== null) throw new NoPermit(why);
  await q.run(statements.grant, { machine, ...place });
}

/** From this number of machines on, the percentage allows at least the absolute limit. */
const mostThatMatter = (limit: number, percent: number): number =>
  Math.max(PAIR_FROM, percent <= 0 ? 0 : Math.ceil((limit * 100) / percent));

/** Why the budget has no room for one more machine there, after `others`; null if it has. */
export async function whyNoRoom(
  q: Queries,
  budget: RecoveryBudget,
  { provider, location }: PermitScope,
  { isOrder, ahead = 0 }: { readonly isOrder: boolean; readonly ahead?: number },
): Promise<string | null> {
  const rows = await q.rows(statements.counts, {
    providers: [provider],
    locations: location === null ? [] : [location],
    fleetMost: mostThatMatter(budget.fleetMax, budget.percent),
    groupMost: mostThatMatter(budget.perGroupMax, budget.percent),
  });
  for (const { scope, recovering, others } of rows) {
    const limit = (scope === FLEET ? fleetBudget : groupBudget)(budget, recovering + others);
    if (recovering + ahead >= limit + (isOrder ? ORDERS_KEPT : 0)) {
      return `${recovering} of ${limit} machines of ${scope} are already being recovered`;
    }
  }
  return null;
}
