import { BARRING, exclusionGroup, isLadder } from '../../../domain/eligibility.ts';
import type { Refusal } from '../../../domain/eligibility.ts';
import type { Process } from '../../../domain/machine.ts';
import { PROCESSES } from '../../../domain/machine.ts';
import { DEFAULT_ESCALATION } from '../../../domain/policy.ts';
import type { LossPolicy } from '../../../domain/policy.ts';
import type { Queries } from './pool.ts';

/**
 * The predicates of `domain/eligibility.ts` in SQL, for use inside the transaction that acts on
 * them. Both give the same reason for any rows: a property test compares them.
 */

interface Case {
  readonly when: string;
  readonly then: Refusal;
}

/** Why the machine may not be claimed for the process; null: it may. */
export async function refusalOf(
  q: Queries,
  process: Process,
  machineId: string,
  loss: LossPolicy,
): Promise<Refusal | 'unknown machine' | null> {
  const [row] = await q.rows<{ refusal: Refusal | null }>(
    `SELECT ${refusalSql(process, loss)} AS refusal ${FROM} WHERE m.machine_id = $1`,
    [machineId],
  );
  return row ? row.refusal : 'unknown machine';
}

/** An expression over `FROM`: the first reason that applies, or NULL. */
export function refusalSql(process: Process, loss: LossPolicy): string {
  return oneOf([working(process), ...grounds(process, loss), ...waits(process)]);
}
const oneOf = (cases: readonly Case[]) =>
  `CASE ${cases.map(({ when, then }) => `WHEN ${when} THEN '${then}'`).join('\n')} END`;

/**
 * Asked again right before the provider is told to do something to a machine already claimed for
 * the ladder: it may have come back, been parked or put under a hold meanwhile. Null: go ahead.
 */
export async function whyNotAsk(
  q: Queries,
  process: Process,
  machineId: string,
  loss: LossPolicy,
): Promise<Refusal | null> {
  const cases = isLadder(process) ? grounds(process, loss) : [];
  if (cases.length === 0) return null;
  const [row] = await q.rows<{ refusal: Refusal | null }>(
    `SELECT ${oneOf(cases)} AS refusal ${FROM} WHERE m.machine_id = $1`,
    [machineId],
  );
  return row?.refusal ?? null;
}

/** The tables the expressions speak of. */
export const FROM = `FROM machines m
  LEFT JOIN machine_provided p USING (machine_id)
  LEFT JOIN machine_agent_started a USING (machine_id)
  LEFT JOIN machine_agent_heartbeat h USING (machine_id)
  LEFT JOIN machine_os_installation_request r USING (machine_id)
  LEFT JOIN machine_os_installation_report o USING (machine_id)
  LEFT JOIN machine_agent_start_attempt t USING (machine_id)
  LEFT JOIN machine_recovery l USING (machine_id)
  LEFT JOIN machine_quarantined q USING (machine_id)
  LEFT JOIN machine_deprovision_request d USING (machine_id)`;

/** Name of a machine's slot; the table must be called `p`. */
export const SLOT_ID = 'coalesce(p.provider_reservation_id, p.provider_id)';
const DONE =
  "(r.generation IS NOT NULL AND r.generation = o.generation AND o.os_installation_result = 'Success')";
const PENDING = '(r.generation IS NOT NULL AND r.generation IS DISTINCT FROM o.generation)';

const quoted = (texts: readonly string[]) => texts.map((text) => `'${text}'`).join(', ');
const interval = (durationMs: number) => `${durationMs} * interval '1 millisecond'`;

function working(process: Process): Case {
  const group = exclusionGroup(process);
  const members = PROCESSES.filter((each) => exclusionGroup(each) === group);
  return {
    when: `EXISTS (SELECT 1 FROM work w JOIN sessions s USING (session_id)
      WHERE w.machine_id = m.machine_id AND w.process IN (${quoted(members)})
        AND s.session_deadline > now())`,
    then: 'it is being worked on',
  };
}

function grounds(process: Process, loss: LossPolicy): Case[] {
  switch (process) {
    case 'ShepherdAgentStart':
      return [...bars(process), { when: 'a.machine_id IS NOT NULL', then: 'its agent is started' }];
    case 'ShepherdRecovery':
    case 'ShepherdReinstall':
      return [...bars(process), ...needless(loss)];
    case 'ShepherdDeprovision':
      return [
        { when: 'd.machine_id IS NULL', then: 'nobody asked to deprovision it' },
        held(process),
      ];
    default:
      return [];
  }
}

const bars = (process: Process): Case[] => [
  { when: 'p.machine_id IS NULL', then: 'it has no hardware' },
  { when: DONE, then: 'it was handed over' },
  {
    when: 'q.machine_id IS NOT NULL AND (q.until IS NULL OR q.until > now())',
    then: 'it is quarantined',
  },
  { when: 'd.machine_id IS NOT NULL', then: 'it is to be deprovisioned' },
  held(process),
  {
    when: isLadder(process)
      ? `p.provider_status IN ('Missing', 'Provisioning', 'ProvisioningFailedPermanent')`
      : `p.provider_status IS NOT NULL AND p.provider_status NOT IN ('Unknown', 'Running')`,
    then: 'its provider status does not allow it',
  },
];

const held = (process: Process): Case => ({
  when: `EXISTS (SELECT 1 FROM slot_holds x WHERE x.provider = p.provider
    AND x.slot_id = ${SLOT_ID} AND x.kind IN (${quoted(BARRING[process] ?? [])})
    AND (x.until IS NULL OR x.until > now()))`,
  then: 'a hold forbids it',
});

function needless(loss: LossPolicy): Case[] {
  const { failuresMax, attemptAgeMs } = loss.escalation ?? DEFAULT_ESCALATION;
  const givenUp = `t.machine_id IS NOT NULL AND (t.count >= ${failuresMax}
    OR now() > t.attempted_at + ${interval(attemptAgeMs)})`;
  return [
    { when: `a.machine_id IS NOT NULL AND NOT (${lost(loss)})`, then: 'it is not lost' },
    {
      when: `a.machine_id IS NULL AND NOT (${givenUp})`,
      then: 'its agent start is not given up',
    },
  ];
}

function lost(loss: LossPolicy): string {
  const silence = `CASE WHEN h.agent_heartbeat_at >= a.agent_started_at
    THEN h.agent_heartbeat_at + ${interval(loss.heartbeatMs)}
    ELSE a.agent_started_at + ${interval(loss.firstHeartbeatMs)} END`;
  const handOut = `CASE WHEN ${PENDING} THEN r.handed_out_at + ${interval(loss.handOutMs)} END`;
  // GREATEST passes over nulls.
  return `now() > greatest(${silence}, ${handOut})`;
}

function waits(process: Process): Case[] {
  const backoff: Case = {
    when: `EXISTS (SELECT 1 FROM work_backoff b WHERE b.machine_id = m.machine_id
      AND b.process = '${process}' AND b.until > now())`,
    then: 'it waits after a failure',
  };
  const coolDown: Case = { when: 'l.next_at > now()', then: 'it cools down after an attempt' };
  return isLadder(process) ? [backoff, coolDown] : [backoff];
}
