import pg from 'pg';
import { statement } from './statement.ts';

/** Deletes the tags of machines; in their order, as others may delete several, too. */
export const forget = (table: string) =>
  statement({
    name: `forget-${table}`,
    params: { machines: 'uuid[]' },
    columns: {},
    text: ({ machines }) => {
      const tags = pg.escapeIdentifier(table);
      return `DELETE FROM ${tags} WHERE machine_id IN (SELECT machine_id FROM ${tags}
        WHERE machine_id = ANY (${machines}) ORDER BY machine_id FOR UPDATE)`;
    },
  });

export const statements = {
  forgetAgents: forget('machine_agent_started'),
  forgetHeartbeats: forget('machine_agent_heartbeat'),
  forgetProvided: forget('machine_provided'),
  forgetAttempts: forget('machine_agent_start_attempt'),
  returnPermits: forget('recovery_permits'),
};
