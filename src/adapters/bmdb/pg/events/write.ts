import type { NewEvent } from '../../../../domain/events/fleet-event.ts';
import type { Queries } from '../pool.ts';
import { statement } from '../statement.ts';

export const statements = {
  write: statement({
    name: 'fleet-events-write',
    params: {
      events: {
        ...{ type: 'text', provider: 'text?', slotId: 'text?', machineId: 'uuid?' },
        ...{ actor: 'text', reason: 'text', details: 'jsonb' },
      },
    },
    columns: {},
    text: ({ events }) =>
      `INSERT INTO fleet_events (type, provider, slot_id, machine_id, actor, reason, details)
       SELECT type, provider, slot_id, machine_id, actor, reason, details FROM ${events} ORDER BY nth`,
  }),
};

/** Events that no trigger writes, in the transaction of the change. */
export async function writeFleetEvents(q: Queries, events: readonly NewEvent[]): Promise<void> {
  if (events.length > 0) await q.run(statements.write, { events });
}
