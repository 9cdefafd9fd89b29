import { isUuid } from '../../../../domain/ids.ts';
import type { EventLine, EventQuery } from '../../port.ts';
import type { Queries } from '../pool.ts';
import { ms } from '../sql.ts';
import { selection, named, statement } from '../statement.ts';

const LINE = selection({
  seq: ['int8', 'e.seq'],
  atMs: ['float8', ms('e.at')],
  provider: ['provider', 'e.provider'],
  slotId: ['text', 'e.slot_id'],
  machineId: ['machine?', 'e.machine_id'],
  kind: ['text', 'e.kind'],
  actor: ['text', 'e.actor'],
  reason: ['text', 'e.reason'],
  from: ['text?', 'e."from"'],
  to: ['text?', 'e."to"'],
});

export const statements = named('events', {
  ofSlot: statement({
    params: { provider: 'text', slot: 'text', limit: 'int8' },
    columns: LINE.columns,
    text: ({ provider, slot, limit }) =>
      `SELECT ${LINE.sql} FROM slot_events e WHERE e.provider = ${provider} AND e.slot_id = ${slot}
       ORDER BY e.seq DESC LIMIT ${limit}`,
  }),
  ofMachine: statement({
    params: { machine: 'uuid', limit: 'int8' },
    columns: LINE.columns,
    text: ({ machine, limit }) =>
      `SELECT ${LINE.sql} FROM slot_events e WHERE e.machine_id = ${machine}
       ORDER BY e.seq DESC LIMIT ${limit}`,
  }),
});

/** See `BmdbInspection.events`. */
export async function readEvents(q: Queries, query: EventQuery): Promise<EventLine[]> {
  if ('machineId' in query && !isUuid(query.machineId)) return [];
  const { limit } = query;
  const newest = await ('machineId' in query
    ? q.rows(statements.ofMachine, { machine: query.machineId, limit })
    : q.rows(statements.ofSlot, { provider: query.provider, slot: query.slotId, limit }));
  return newest.toReversed();
}
