import type { NewEvent } from '../../../../domain/events/fleet-event.ts';
import type { Queries } from '../pool.ts';
import { named, statement } from '../statement.ts';

export const statements = named('fleet-events', {
  write: statement({
    params: {
      events: {
        ...{ type: 'text', provider: 'text?', slotId: 'text?', machineId: 'uuid?' },
        ...{ actor: 'text', reason: 'text', details: 'jsonb' },
      },
    },
    text: ({ events }) =>
      `INSERT INTO fleet_events (type, provider, slot_id, machine_id, actor, reason, details)
       SELECT type, provider, slot_id, machine_id, actor, reason, details FROM ${events} ORDER BY nth`,
  }),
});

/** Writes events that no trigger writes, in the transaction of the change. */
export async function writeFleetEvents(q: Queries, events: readonly NewEvent[]): Promise<void> {
  if (events.length > 0) await q.run(statements.write, { events });
}
