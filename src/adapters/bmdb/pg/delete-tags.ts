import pg from 'pg';
import { statement } from './statement.ts';

/** Deletes tags of machines in machine order, because others may delete several, too. */
export const deleteTags = (table: string) =>
  statement({
    name: `forget-${table}`,
    params: { machines: 'uuid[]' },
    text: ({ machines }) => {
      const tags = pg.escapeIdentifier(table);
      return `DELETE FROM ${tags} WHERE machine_id IN (SELECT machine_id FROM ${tags}
        WHERE machine_id = ANY (${machines}) ORDER BY machine_id FOR UPDATE)`;
    },
  });

export const statements = {
  forgetAgents: deleteTags('machine_agent_started'),
  forgetHeartbeats: deleteTags('machine_agent_heartbeat'),
  forgetProvided: deleteTags('machine_provided'),
  forgetAttempts: deleteTags('machine_agent_start_attempt'),
  returnPermits: deleteTags('recovery_permits'),
};
