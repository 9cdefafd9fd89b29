import { isUuid, machineId, providerName } from '../../../../domain/ids.ts';
import type { EventLine, EventQuery } from '../../port.ts';
import type { Queries } from '../pool.ts';
import { ms } from '../sql.ts';
import { statement } from '../statement.ts';

const LINE = `e.seq, ${ms('e.at')} AS at, e.provider, e.slot_id, e.machine_id, e.kind, e.actor,
  e.reason, e."from", e."to"`;
const COLUMNS = {
  seq: 'int8',
  at: 'float8',
  provider: 'text',
  slot_id: 'text',
  machine_id: 'uuid?',
  kind: 'text',
  actor: 'text',
  reason: 'text',
  from: 'text?',
  to: 'text?',
} as const;

export const statements = {
  ofSlot: statement({
    name: 'events-of-slot',
    params: { provider: 'text', slot: 'text', limit: 'int8' },
    columns: COLUMNS,
    text: ({ provider, slot, limit }) =>
      `SELECT ${LINE} FROM slot_events e WHERE e.provider = ${provider} AND e.slot_id = ${slot}
       ORDER BY e.seq DESC LIMIT ${limit}`,
  }),
  ofMachine: statement({
    name: 'events-of-machine',
    params: { machine: 'uuid', limit: 'int8' },
    columns: COLUMNS,
    text: ({ machine, limit }) =>
      `SELECT ${LINE} FROM slot_events e WHERE e.machine_id = ${machine}
       ORDER BY e.seq DESC LIMIT ${limit}`,
  }),
};

/** See `BmdbInspection.events`. */
export async function readEvents(q: Queries, query: EventQuery): Promise<EventLine[]> {
  const rows = await readNewest(q, query);
  return rows
    .toReversed()
    .map((row) => ({
      seq: row.seq,
      atMs: row.at,
      kind: row.kind,
      actor: row.actor,
      reason: row.reason,
      from: row.from,
      to: row.to,
      provider: providerName(row.provider),
      slotId: row.slot_id,
      machineId: row.machine_id === null ? null : machineId(row.machine_id),
    }));
}

async function readNewest(q: Queries, query: EventQuery) {
  const { limit } = query;
  if ('machineId' in query) {
    if (!isUuid(query.machineId)) return [];
    return q.rows(statements.ofMachine, { machine: query.machineId, limit });
  }
  return q.rows(statements.ofSlot, { provider: query.provider, slot: query.slotId, limit });
}
