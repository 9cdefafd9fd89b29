import {
  BARRING,
  BARRING_INSTALL,
  exclusionGroup,
  isLadder,
  LIFTED_BY_ORDER,
  PROCESS_FOR,
  RULES,
  STARTABLE,
  UNRECOVERABLE,
} from '../../../domain/eligibility.ts';
import type { Ineligibility } from '../../../domain/eligibility.ts';
import type { HoldKind, Process, ProviderStatus } from '../../../domain/machine.ts';
import {
  INSTALLATION_RESULTS,
  PROCESSES,
  PROVIDER_STATUSES,
  QUARANTINE_KINDS,
} from '../../../domain/machine.ts';
import { ORDER_VERBS } from '../../../domain/verbs.ts';
import { DEFAULT_ESCALATION, SERVE_WAIT_MS } from '../../../domain/policy.ts';
import type { LossPolicy } from '../../../domain/policy.ts';
import { LIVE } from './sql.ts';
import { STANDING_RUNGS } from '../../../domain/recovery/rungs.ts';

/**
 * The `RULES` of `domain/eligibility.ts` in SQL, for use inside the statement or transaction that
 * acts on them. A property test checks that both give the same reason for any rows.
 *
 * Every expression refers to the aliases of `FROM`: m (machines), p (provided), a (agent started),
 * h (heartbeat), r (installation request), o (installation report), t (start attempt), l (ladder),
 * q (quarantined), d (deprovision request), y (order). A statement that joins these tables itself
 * under the same aliases may omit `FROM`. Subqueries look up work, sessions, backoffs, holds and
 * members.
 */

/**
 * An expression over `FROM`: the first reason that applies, or NULL.
 * @param rule which of the `RULES`.
 * @param busy conditions of a caller that reads work and backoffs anyway; looked up when absent.
 */
export function ruleSql(
  rule: keyof typeof RULES,
  process: Process,
  loss: LossPolicy,
  busy?: Busy,
): string {
  const rules = casesOf(rule, process, loss, busy);
  return rules.length === 0 ? 'NULL::text' : oneOf(rules);
}

/** A condition over `p`, `q`, `d`, `r` and `o`, and for the ladder also `l`. See `barOf`. */
export const isBarredSql = (process: Process, loss: LossPolicy): string =>
  `(${casesOf('bar', process, loss)
    .map(([, when]) => `coalesce(${when}, false)`)
    .join('\n OR ')})`;

type Case = readonly [then: Ineligibility, when: string];

function casesOf(
  rule: keyof typeof RULES,
  process: Process,
  loss: LossPolicy,
  busy = lookedUp(process),
): Case[] {
  const applies = conditions(process, loss, busy);
  const ordered = orderedFor(process);
  return RULES[rule](process).flatMap((refusal): Case[] => {
    const when = applies[refusal];
    if (when === null) return [];
    const isLifted = LIFTED_BY_ORDER.has(refusal) && ordered !== null;
    return [[refusal, isLifted ? `NOT ${ordered} AND (${when})` : when]];
  });
}

/** Condition for each reason to apply to the process; null if it never applies. */
function conditions(
  process: Process,
  loss: LossPolicy,
  busy: Busy,
): Readonly<Record<Ineligibility, string | null>> {
  const { failuresMax, attemptAgeMs } = loss.escalation ?? DEFAULT_ESCALATION;
  const givenUp = `t.machine_id IS NOT NULL AND (t.count >= ${failuresMax}
    OR coalesce(now() > t.attempted_at + ${interval(attemptAgeMs)}, false))`;
  const waits = awaitsDrain(process, loss);
  const status = "coalesce(p.provider_status::text, '')";
  return {
    // A newer program wrote a value that this program does not know, even if it does not matter
    // here.
    'it cannot be read': `(${unknown('p.provider_status', PROVIDER_STATUSES)}
      OR ${unknown('o.os_installation_result', INSTALLATION_RESULTS)}
      OR ${unknown('q.kind', QUARANTINE_KINDS)} OR ${busy.unreadable})`,
    'it is being worked on': busy.working,
    'it has no hardware': 'p.machine_id IS NULL',
    'its agent is started': 'a.machine_id IS NOT NULL',
    'it was handed over': DONE,
    'it is quarantined': QUARANTINED_NOW,
    'it is to be deprovisioned': 'd.machine_id IS NOT NULL',
    'nobody asked to deprovision it': 'd.machine_id IS NULL',
    'a hold forbids it': heldBy(BARRING[process] ?? []),
    'its provider status does not allow it': isLadder(process)
      ? `${status} IN (${statuses(UNRECOVERABLE)})`
      : `${status} NOT IN (${statuses(STARTABLE)})`,
    'a newer program recovers it': unknownRungSql('l'),
    'it waits after a failure': busy.waiting,
    'it cools down after an attempt': isLadder(process) ? 'l.next_at > now()' : null,
    'it is not lost': `a.machine_id IS NOT NULL AND NOT (now() > ${lostAtSql(loss)})`,
    'its agent start is not given up': `a.machine_id IS NULL AND NOT (${givenUp})`,
    // Members are looked up last.
    'it still serves': waits === null ? null : `${waits} AND ${servesSql('m.machine_id')}`,
  };
}

const statuses = (all: readonly (ProviderStatus | null)[]) => quoted(all.map((each) => each ?? ''));

/** Conditions about a machine's work and backoffs. */
export interface Busy {
  /** A process that this program does not know works on the machine. */
  readonly unreadable: string;
  /** A live session holds the lease of the process's exclusion group. */
  readonly working: string;
  /** A backoff keeps the process waiting. */
  readonly waiting: string;
}

/** Columns of `Busy` over each row of `work w` with a live session, and of `work_backoff b`. */
export const busyRows = (process: Process) => ({
  unknownWork: unknown('w.process', PROCESSES),
  unknownBackoff: unknown('b.process', PROCESSES),
  working: `w.exclusion_group = '${exclusionGroup(process)}'`,
  waiting: `(b.process = '${process}' AND b.until > now())`,
});

function lookedUp(process: Process): Busy {
  const of = busyRows(process);
  const work = (which: string) => `EXISTS (SELECT 1 FROM work w JOIN sessions s USING (session_id)
    WHERE w.machine_id = m.machine_id AND ${which} AND ${LIVE})`;
  const backoff = (which: string) => `EXISTS (SELECT 1 FROM work_backoff b
    WHERE b.machine_id = m.machine_id AND ${which})`;
  return {
    unreadable: `(${work(of.unknownWork)} OR ${backoff(of.unknownBackoff)})`,
    working: work(of.working),
    waiting: backoff(of.waiting),
  };
}

/**
 * An expression over `p`, `q` and `d`: why an installation is not handed to the agent, or NULL. See
 * `handOutRefusal`.
 */
export const handOutRefusalSql = (): string =>
  oneOf([
    ['it is quarantined', QUARANTINED_NOW],
    ['it is to be deprovisioned', 'd.machine_id IS NOT NULL'],
    ['a hold forbids it', heldBy(BARRING_INSTALL)],
    ['it still serves', servesSql('p.machine_id')],
  ]);
const oneOf = (cases: readonly Case[]) =>
  `CASE ${cases.map(([then, when]) => `WHEN ${when} THEN '${then}'`).join('\n')} END`;

const quoted = (texts: readonly string[]) => texts.map((text) => `'${text}'`).join(', ');

/** Name of a machine's slot, over `machine_provided p`. */
export const SLOT_ID = 'coalesce(p.provider_reservation_id, p.provider_id)';

/** Over `operator_intents y`: an open order; a machine has at most one. */
export const OPEN_ORDER = `y.state = 'open' AND y.verb IN (${quoted(ORDER_VERBS)})`;
/** The order of machine `m` that may still be carried out, if there is one; over `p`. */
export const ORDER = `y.machine_id = m.machine_id AND ${OPEN_ORDER} AND y.expires_at > now()
    AND y.provider = p.provider AND y.slot_id = ${SLOT_ID}`;

/** Tables that the expressions refer to. */
export const FROM = `FROM machines m
  LEFT JOIN machine_provided p USING (machine_id)
  LEFT JOIN machine_agent_started a USING (machine_id)
  LEFT JOIN machine_agent_heartbeat h USING (machine_id)
  LEFT JOIN machine_os_installation_request r USING (machine_id)
  LEFT JOIN machine_os_installation_report o USING (machine_id)
  LEFT JOIN machine_agent_start_attempt t USING (machine_id)
  LEFT JOIN machine_recovery l USING (machine_id)
  LEFT JOIN machine_quarantined q USING (machine_id)
  LEFT JOIN machine_deprovision_request d USING (machine_id)
  LEFT JOIN operator_intents y ON ${ORDER}`;

/** State of an installation, over `r` and `o`; each is true or false, never NULL. */
export const DONE =
  "(r.generation IS NOT NULL AND r.generation IS NOT DISTINCT FROM o.generation AND o.os_installation_result = 'Success')";
/** See `isInstallationDue`. */
export const PENDING = '(r.generation IS NOT NULL AND r.generation IS DISTINCT FROM o.generation)';
export const FAILED =
  "(r.generation IS NOT NULL AND r.generation IS NOT DISTINCT FROM o.generation AND o.os_installation_result IS DISTINCT FROM 'Success')";
/** See `isHeartbeating`; over `a` and `h`. */
export const heartbeatingSql = (loss: LossPolicy): string =>
  `coalesce(h.agent_heartbeat_at >= a.agent_started_at
    AND now() < h.agent_heartbeat_at + ${interval(loss.heartbeatMs)}, false)`;
const interval = (durationMs: number) => `${durationMs} * interval '1 millisecond'`;

const unknown = (column: string, known: readonly string[]) =>
  `${column}::text NOT IN (${quoted(known)})`;

/**
 * True if the given row of `machine_recovery` names a rung that this program does not know. False
 * if the rungs are NULL or there is no row.
 */
export const unknownRungSql = (ladder: string): string =>
  `(${unknown(`${ladder}.rung`, STANDING_RUNGS)} OR ${unknown(`${ladder}.asked_rung`, STANDING_RUNGS)})`;

/** See `isQuarantined`; over `q`. False if there is no row. */
export const QUARANTINED_NOW =
  '(q.machine_id IS NOT NULL AND (q.until IS NULL OR q.until > now()))';

/** See `isInForce`; over a row of `slot_holds`. */
export const holdsNow = (hold: string): string =>
  `(${hold}.from_at IS NULL OR ${hold}.from_at <= now())
    AND (${hold}.until IS NULL OR ${hold}.until > now())`;
const heldBy = (kinds: readonly HoldKind[]) =>
  `EXISTS (SELECT 1 FROM slot_holds x WHERE x.provider = p.provider
    AND x.slot_id = ${SLOT_ID} AND x.kind IN (${quoted(kinds)})
    AND ${holdsNow('x')})`;

/** See `lostAtMs`; a timestamp over `a`, `h`, `r` and `o`. Meaningless without a row of `a`. */
export function lostAtSql(loss: LossPolicy): string {
  const silence = `CASE WHEN ${HEARD}
    THEN h.agent_heartbeat_at + ${interval(loss.heartbeatMs)}
    ELSE a.agent_started_at + ${interval(loss.firstHeartbeatMs)} END`;
  const handOut = `CASE WHEN ${PENDING} THEN r.handed_out_at + ${interval(loss.handOutMs)} END`;
  // GREATEST ignores nulls.
  return `greatest(${silence}, ${handOut})`;
}
/** See `currentHeartbeat`; over `a` and `h`. NULL if there is no row. */
export const HEARD = 'h.agent_heartbeat_at >= a.agent_started_at';

/** Over `y`: the condition that the process carries out the order; null if it carries out none. */
function orderedFor(process: Process): string | null {
  const verbs = ORDER_VERBS.filter((verb) => PROCESS_FOR[verb] === process);
  return verbs.length === 0 ? null : `coalesce(y.verb IN (${quoted(verbs)}), false)`;
}

/**
 * True if a balancer may be sending traffic to the machine. See `mayServe`. @param machine an
 * expression.
 */
const servesSql = (machine: string): string => `EXISTS (SELECT 1 FROM pool_members g
  WHERE g.machine_id = ${machine} AND g.state <> 'drained' AND NOT g.waived)`;

/** See `isAwaitingDrain`; null if the process waits for no drain. */
function awaitsDrain(process: Process, loss: LossPolicy): string | null {
  if (process === 'ShepherdDeprovision') return `d.drain IS DISTINCT FROM 'skip'`;
  if (!isLadder(process)) return null;
  const since = `CASE WHEN a.machine_id IS NULL THEN t.attempted_at ELSE ${lostAtSql(loss)} END`;
  const wait = interval(loss.serveWaitMs ?? SERVE_WAIT_MS);
  const ordered = orderedFor(process);
  return `NOT (${ordered} AND coalesce(y.parameters ->> 'drain' = 'skip', false))
    AND coalesce(now() <= ${since} + ${wait}, ${ordered})`;
}
