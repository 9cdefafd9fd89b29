import type { Finish } from '../claims/held-claim.ts';
import { ACCEPTANCES_OF_STARTS } from '../recovery/acceptances.ts';
import { SLOT_ID } from '../eligibility.ts';
import type { LiveSession } from '../live.ts';
import {
  HELD_ANSWER,
  HELD_COLUMNS,
  heldArgs,
  heldParams,
  heldSql,
  releaseSql,
} from './held-works.ts';
import { statement } from '../statement.ts';
import type { FinishChange } from '../../port.ts';

/** The end of a work that started an agent. */
export type AgentStart = Finish & {
  readonly change: Extract<FinishChange, { kind: 'agentStarted' }>;
};

export const isAgentStart = (end: Finish): end is AgentStart => end.change.kind === 'agentStarted';

/** Machines whose start is recorded, in order; used after the insert. */
const STARTED = 'ANY (ARRAY(SELECT machine_id FROM started))';

export const statements = {
  /**
   * Ends the works and records what is true from then on. Everything deleted was written before the
   * statement began. The holder of the lease wrote attempts and permits. No heartbeat can have
   * arrived since, because it would belong to no start. The start is written first, because
   * heartbeats lock the start first, too.
   */
  startAgents: statement({
    name: 'agents-start',
    params: heldParams({
      ...{ process: 'process', publicKey: 'bytea', bootId: 'text?' },
      ...{ hostKey: 'text?', warning: 'text' },
    }),
    columns: HELD_COLUMNS,
    text: (of) => `
      WITH ${heldSql(of)},
      ${releaseSql({ process: 'h.process', event: `'Finished'`, cause: 'NULL' })},
      started AS (
        INSERT INTO machine_agent_started
          (machine_id, agent_started_at, agent_public_key, boot_id)
        SELECT h.machine_id, now(), h.public_key, h.boot_id FROM held h ORDER BY 1
        ON CONFLICT (machine_id) DO UPDATE SET agent_started_at = excluded.agent_started_at,
          agent_public_key = excluded.agent_public_key, boot_id = excluded.boot_id
        RETURNING machine_id
      ), pinned AS (
        INSERT INTO machine_ssh_host_key (machine_id, key)
        SELECT h.machine_id, h.host_key FROM held h WHERE h.host_key IS NOT NULL ORDER BY 1
        ON CONFLICT (machine_id) DO UPDATE SET key = excluded.key
          WHERE machine_ssh_host_key.key <> excluded.key
      ), ${ACCEPTANCES_OF_STARTS}, heartbeats AS (
        DELETE FROM machine_agent_heartbeat WHERE machine_id = ${STARTED}
      ), attempts AS (
        DELETE FROM machine_agent_start_attempt WHERE machine_id = ${STARTED}
      ), permits AS (
        DELETE FROM recovery_permits WHERE machine_id = ${STARTED}
      ), told AS (
        INSERT INTO slot_events (provider, slot_id, machine_id, kind, actor, reason, session_id)
        SELECT p.provider, ${SLOT_ID}, p.machine_id, 'agentStarted', me.session_component_name,
          h.warning, me.session_id
        FROM me, held h JOIN machine_provided p ON p.machine_id = h.machine_id
        ORDER BY p.machine_id
      ) ${HELD_ANSWER}`,
  }),
};

/** Returns the statement that ends these works. */
export const recordStarts = (session: LiveSession, ends: readonly AgentStart[]) => {
  const works = ends.map(({ held, change }) => {
    const warning = change.warnings.join('; ');
    return [held, { ...change, process: held.process, warning }] as const;
  });
  return [statements.startAgents, heldArgs(session, works)] as const;
};
