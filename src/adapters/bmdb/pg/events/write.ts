import type { NewEvent } from '../../../../domain/events/fleet-event.ts';
import type { Queries } from '../pool.ts';
import { statement } from '../statement.ts';

export const statements = {
  write: statement({
    name: 'fleet-events-write',
    params: {
      types: 'text[]',
      providers: 'text?[]',
      slots: 'text?[]',
      machines: 'uuid?[]',
      actors: 'text[]',
      reasons: 'text[]',
      details: 'jsonb[]',
    },
    columns: {},
    text: ({ types, providers, slots, machines, actors, reasons, details }) =>
      `INSERT INTO fleet_events (type, provider, slot_id, machine_id, actor, reason, details)
       SELECT e.type, e.provider, e.slot, e.machine, e.actor, e.reason, e.details
       FROM unnest(${types}, ${providers}, ${slots}, ${machines}, ${actors}, ${reasons}, ${details})
         WITH ORDINALITY AS e (type, provider, slot, machine, actor, reason, details, at)
       ORDER BY e.at`,
  }),
};

/** The values of the statement. */
export const eventArgs = (events: readonly NewEvent[]) => ({
  types: events.map(({ type }) => type),
  providers: events.map(({ provider }) => provider ?? null),
  slots: events.map(({ slotId }) => slotId ?? null),
  machines: events.map(({ machineId }) => machineId ?? null),
  actors: events.map(({ actor }) => actor),
  reasons: events.map(({ reason }) => reason),
  details: events.map(({ details }) => details),
});

/** Events that no trigger writes, in the transaction of the change. */
export async function writeFleetEvents(q: Queries, events: readonly NewEvent[]): Promise<void> {
  if (events.length > 0) await q.run(statements.write, eventArgs(events));
}
