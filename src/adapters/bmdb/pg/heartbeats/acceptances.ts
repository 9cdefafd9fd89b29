import {
  ACCEPTANCE_SOURCE,
  whyNotAccepted,
  type AcceptancePolicies,
  type AcceptanceProfile,
  type AcceptanceReport,
  type AcceptanceRequest,
} from '../../../../domain/acceptance.ts';
import { AGENT_SOURCE } from '../../../../domain/conditions.ts';
import { machineId } from '../../../../domain/ids.ts';
import {
  acceptedLine,
  failedCondition,
  PARTS_ACCEPTED,
  provenConditions,
} from '../../acceptance-events.ts';
import { writeConditions } from '../conditions/repository.ts';
import { SLOT_ID } from '../eligibility.ts';
import type { Queries } from '../pool.ts';
import { type As, named, statement } from '../statement.ts';
import { writeEvents } from './agent-reports.ts';
import type { Beats } from './heartbeat-store.ts';

/** A request is handed out until its agent has had half an hour for it. */
const OPEN = `state = 'due'
  AND (handed_out_at IS NULL OR handed_out_at > now() - interval '30 minutes')`;

/** Machines of these whose agents must be asked. */
export const ACCEPTANCES_DUE = (machines: string): string =>
  `SELECT machine_id FROM machine_acceptances WHERE machine_id = ANY (${machines}) AND ${OPEN}`;

export const statements = named('acceptances', {
  /** The profile: the accepted inventory, except for what is configured. */
  handOut: statement({
    params: { machines: 'uuid[]', policies: 'jsonb' },
    columns: { machine_id: 'uuid', id: 'int8', profile: 'jsonb' as As<'jsonb', AcceptanceProfile> },
    text: ({ machines, policies }) => `
      WITH fresh AS (
        UPDATE machine_acceptances x SET handed_out_at = now(), profile =
          coalesce(x.inventory, '{}') || coalesce(${policies} -> p.provider::text, '{}')
        FROM machine_provided p
        WHERE p.machine_id = x.machine_id AND x.machine_id = ANY (${machines})
          AND x.state = 'due' AND x.handed_out_at IS NULL
        RETURNING x.machine_id, x.id, x.profile
      )
      SELECT machine_id, id, profile FROM fresh UNION ALL
      SELECT machine_id, id, profile FROM machine_acceptances
      WHERE machine_id = ANY (${machines}) AND ${OPEN} AND handed_out_at IS NOT NULL`,
  }),
  /** An answer counts for exactly the current request. A passed one keeps its inventory. */
  end: statement({
    params: {
      results: {
        ...{ machineId: 'uuid', id: 'int8', state: 'text', reason: 'text' },
        result: 'jsonb',
      },
    },
    columns: { machine_id: 'uuid', provider: 'provider', slot_id: 'text' },
    text: ({ results }) =>
      `UPDATE machine_acceptances x SET state = results.state, reason = results.reason,
         checks = results.result -> 'checks', ended_at = now(),
         inventory = CASE WHEN results.state = 'passed' THEN results.result -> 'found' ELSE x.inventory END
       FROM ${results} JOIN machine_provided p ON p.machine_id = results.machine_id
       WHERE x.machine_id = results.machine_id AND x.id = results.id AND x.state = 'due'
       RETURNING x.machine_id, p.provider, ${SLOT_ID} AS slot_id`,
  }),
  /** The newest report is complete, whatever the last one had. */
  acceptParts: statement({
    params: { machines: 'uuid[]' },
    columns: { machine_id: 'uuid' },
    text: ({ machines }) =>
      `UPDATE machine_hardware_report SET complete_report_raw = NULL
       WHERE machine_id = ANY (${machines}) AND complete_report_raw IS NOT NULL
       RETURNING machine_id`,
  }),
});

/** Stores agents' answers. A result becomes a line of the slot's log, and a condition. */
export async function writeAcceptances(q: Queries, beats: Beats): Promise<void> {
  const reports = new Map<string, AcceptanceReport>();
  for (const { machineId: machine, acceptance } of beats.keys()) {
    if (acceptance) reports.set(machine, acceptance);
  }
  if (reports.size === 0) return;
  const results = [...reports].map(([machine, { id, checks, found }]) => {
    const reason = whyNotAccepted(checks);
    const state = reason === null ? 'passed' : 'failed';
    return { machineId: machine, id, state, reason: reason ?? '', result: { checks, found } };
  });
  const ended = await q.rows(statements.end, { results });
  if (ended.length === 0) return;
  const whyOf = new Map(results.map(({ machineId: machine, reason }) => [machine, reason]));
  const passed = ended.filter(({ machine_id: id }) => whyOf.get(id) === '');
  const machines = passed.map(({ machine_id: id }) => id);
  const whole = await q.rows(statements.acceptParts, { machines });
  const complete = new Set(whole.map(({ machine_id: id }) => id));
  await writeEvents(
    q,
    ended.map(({ machine_id: id }) => ({ machineId: id, ...acceptedLine(whyOf.get(id)!) })),
  );
  await writeConditions(
    q,
    ended.flatMap(({ machine_id: id, provider, slot_id: slotId }) => {
      const common = { provider, slotId, machineId: machineId(id), validForMs: null };
      const own = { ...common, ...failedCondition(whyOf.get(id)!), source: ACCEPTANCE_SOURCE };
      const proven = whyOf.get(id) === '' ? provenConditions(reports.get(id)!.checks) : [];
      const parts = complete.has(id) ? [...proven, PARTS_ACCEPTED] : proven;
      return [own, ...parts.map((each) => ({ ...common, ...each, source: AGENT_SOURCE }))];
    }),
  );
}

/** Returns the request of each machine whose acceptance is due. */
export async function handOutAcceptances(
  q: Queries,
  beats: Beats,
  policies: AcceptancePolicies,
): Promise<ReadonlyMap<string, AcceptanceRequest>> {
  const machines = [...beats].flatMap(([{ machineId: machine }, { pending }]) =>
    pending ? [machine] : [],
  );
  if (machines.length === 0) return new Map();
  const rows = await q.rows(statements.handOut, { machines, policies });
  return new Map(
    rows.map(({ machine_id: machine, id, profile }) => [machine, { id: BigInt(id), profile }]),
  );
}
