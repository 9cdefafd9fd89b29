import { SUCCESSORS } from '../../../../domain/balancing/members.ts';
import type { MemberVerdict } from '../../balancing-port.ts';
import { exclusionGroup } from '../../../../domain/eligibility.ts';
import { PENDING } from '../eligibility.ts';
import { FENCE, FENCE_TOLD, FENCED, fenceSql } from '../fence.ts';
import { LIVE } from '../sql.ts';
import { type As, named, statement } from '../statement.ts';
import { MEMBER } from './pool-rows.ts';

const GROUP = `'${exclusionGroup('ShepherdRecovery')}'`;
const SUCCESSIONS = Object.entries(SUCCESSORS)
  .flatMap(([from, all]) => all.map((to) => `('${from}', '${to}')`))
  .join(', ');

/** A condition over `was`, the previous state: the machine served nobody, or there was no row. */
const IDLE = `(was IS NULL OR was = 'drained' OR was_waived)`;

export const statements = named('members', {
  /**
   * Changes members of one pool at one balancer. See `BalancingRepository.write`.
   *
   * A change from "may not serve" to "may serve" is written under the machine's lease row in
   * `work`. If the row is held or locked, the change is `busy`; otherwise the row gets a new epoch.
   * A claim takes a lease only if the lease is unchanged since the snapshot in which nothing
   * served. So a claim and such a change exclude each other in either order. If the lease row does
   * not exist yet, its primary key lets only one of the two insert it.
   *
   * An installation is handed out without a claim. So nothing begins to serve while an installation
   * is due. A request for an installation gives the lease row a new epoch (`settle-keep-idle`),
   * which is checked here.
   */
  write: statement({
    params: {
      ...FENCE,
      pool: 'text',
      balancer: 'text',
      changes: {
        ...{ machineId: 'uuid', to: 'text?', graceMs: 'float8?', anew: 'bool', how: 'text?' },
        ...{ waived: 'bool?', refused: 'bool?', noted: 'bool', note: 'text?' },
        ...{ counted: 'bool', sessions: 'int8?' },
      },
    },
    /** `dead`: a dead session holds the lease of the machine. */
    columns: {
      ...{ ...FENCED, machine_id: 'machine' },
      result: 'text' as As<'text', MemberVerdict['result']>,
      dead: 'bool',
      member: 'jsonb?' as As<'jsonb?', MemberVerdict['row']>,
    },
    text: (of) => `
    WITH ${fenceSql(of)},
    e AS MATERIALIZED (
      SELECT machine_id, "to" AS state, grace_ms AS grace, anew, how, waived, refused, noted, note,
        counted, sessions FROM ${of.changes}
    ), before AS MATERIALIZED (
      SELECT g.machine_id, g.state, g.since, g.deadline, g.how, g.waived, g.refused, g.note,
        g.sessions, ${MEMBER} AS member
      FROM pool_members g
      WHERE g.pool = ${of.pool} AND g.balancer = ${of.balancer}
        AND g.machine_id = ANY (ARRAY(SELECT machine_id FROM e)) AND EXISTS (SELECT 1 FROM lease)
      ORDER BY g.machine_id FOR UPDATE
    ), seen AS (
      SELECT e.*, m.machine_id IS NOT NULL AS there, b.member AS was_member,
        b.state AS was, b.since AS was_since, b.deadline AS was_deadline, b.how AS was_how,
        b.waived AS was_waived, b.refused AS was_refused, b.note AS was_note,
        b.sessions AS was_sessions, coalesce(e.state, b.state) AS next_state,
        l.epoch AS lease_epoch, ${PENDING} AS installing
      FROM e
        LEFT JOIN machines m ON m.machine_id = e.machine_id
        LEFT JOIN before b ON b.machine_id = e.machine_id
        LEFT JOIN work l ON l.machine_id = e.machine_id AND l.exclusion_group = ${GROUP}
        LEFT JOIN machine_os_installation_request r ON r.machine_id = e.machine_id
        LEFT JOIN machine_os_installation_report o ON o.machine_id = e.machine_id
    ), next AS (
      SELECT seen.*,
        CASE WHEN was = next_state THEN was_since ELSE now() END AS next_since,
        CASE WHEN next_state = 'draining' THEN
          CASE WHEN was = 'draining' AND (grace IS NULL OR NOT anew)
            THEN least(was_deadline, now() + grace * interval '1 millisecond')
            ELSE now() + grace * interval '1 millisecond' END
        END AS next_deadline,
        CASE WHEN next_state = 'drained' THEN CASE WHEN was = 'drained' THEN was_how ELSE how END
        END AS next_how,
        coalesce(waived, was = next_state AND was_waived, false) AS next_waived,
        coalesce(refused, was = next_state AND was_refused, false) AS next_refused,
        CASE WHEN noted THEN note ELSE was_note END AS next_note,
        CASE WHEN counted THEN sessions ELSE was_sessions END AS next_sessions,
        CASE WHEN state IS NULL THEN was IS NOT NULL
          WHEN state = 'gone' THEN ${IDLE}
          WHEN was IS NULL THEN state = 'joining'
          ELSE was = state OR (was, state) IN (${SUCCESSIONS}) END AS allowed
      FROM seen
    ), judged AS MATERIALIZED (
      SELECT next.*, there AND allowed AND state IS DISTINCT FROM 'gone' AND ${IDLE}
        AND next_state <> 'drained' AND NOT next_waived AND EXISTS (SELECT 1 FROM lease) AS opens
      FROM next
    ), free AS MATERIALIZED (
      SELECT w.machine_id FROM judged JOIN work w
        ON w.machine_id = judged.machine_id AND w.exclusion_group = ${GROUP}
      WHERE judged.opens AND NOT judged.installing AND w.session_id IS NULL
        AND w.epoch = judged.lease_epoch
      ORDER BY w.machine_id FOR UPDATE OF w SKIP LOCKED
    ), bumped AS (
      UPDATE work w SET epoch = nextval('work_epoch') FROM free
      WHERE w.machine_id = free.machine_id AND w.exclusion_group = ${GROUP}
      RETURNING w.machine_id
    ), first AS (
      INSERT INTO work (machine_id, exclusion_group)
      SELECT judged.machine_id, ${GROUP} FROM judged
      WHERE judged.opens AND NOT judged.installing AND judged.lease_epoch IS NULL
      ORDER BY judged.machine_id
      ON CONFLICT DO NOTHING RETURNING machine_id
    ), opened AS (
      SELECT machine_id FROM bumped UNION ALL SELECT machine_id FROM first
    ), passed AS MATERIALIZED (
      SELECT judged.* FROM judged
      WHERE there AND allowed AND EXISTS (SELECT 1 FROM lease)
        AND (NOT opens OR machine_id IN (SELECT machine_id FROM opened))
    ), written AS (
      INSERT INTO pool_members AS g (pool, balancer, machine_id, state, since, deadline, how, waived,
        refused, note, sessions)
      SELECT ${of.pool}, ${of.balancer}, machine_id, next_state, next_since, next_deadline,
        next_how, next_waived, next_refused, next_note, next_sessions
      FROM passed WHERE next_state <> 'gone' ORDER BY machine_id
      ON CONFLICT (pool, balancer, machine_id) DO UPDATE SET state = excluded.state,
        since = excluded.since, deadline = excluded.deadline, how = excluded.how,
        waived = excluded.waived, refused = excluded.refused, note = excluded.note,
        sessions = excluded.sessions
        WHERE (g.state, g.deadline, g.how, g.waived, g.refused, g.note, g.sessions)
          IS DISTINCT FROM (excluded.state, excluded.deadline, excluded.how, excluded.waived,
            excluded.refused, excluded.note, excluded.sessions)
      RETURNING g.machine_id, ${MEMBER} AS member
    ), removed AS (
      DELETE FROM pool_members g USING passed
      WHERE g.pool = ${of.pool} AND g.balancer = ${of.balancer} AND passed.state = 'gone'
        AND g.machine_id = passed.machine_id
    )
    SELECT ${FENCE_TOLD}, j.machine_id,
      CASE WHEN NOT j.there THEN 'lost' WHEN NOT j.allowed THEN 'stale'
        WHEN p.machine_id IS NULL THEN 'busy' ELSE 'written' END AS result,
      EXISTS (SELECT 1 FROM work w WHERE w.machine_id = j.machine_id
        AND w.exclusion_group = ${GROUP} AND w.session_id IS NOT NULL AND NOT EXISTS (
          SELECT 1 FROM sessions s WHERE s.session_id = w.session_id AND ${LIVE})) AS dead,
      CASE WHEN p.state = 'gone' THEN NULL ELSE coalesce(written.member, j.was_member) END AS member
    FROM judged j LEFT JOIN passed p ON p.machine_id = j.machine_id
      LEFT JOIN written ON written.machine_id = j.machine_id`,
  }),
});
