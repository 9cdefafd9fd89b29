import type { NewEvent } from '../../../../domain/events/fleet-event.ts';
import type { RollFailure, RollRow, RollSlot, RollState } from '../../../../domain/rolling.ts';
import { CONTROLLED, rollEvent, ROLLS_KEPT_DAYS, type RollRepository } from '../../rolls-port.ts';
import { writeFleetEvents } from '../events/write.ts';
import type { Database, Queries } from '../pool.ts';
import { ms } from '../sql.ts';
import { type As, named, selection, statement } from '../statement.ts';

/** The table must have the alias `r`. */
const ROLL = selection({
  id: ['uuid', 'r.roll_id'],
  action: ['text' as As<'text', RollRow['action']>, 'r.action'],
  drain: ['text?' as As<'text?', RollRow['drain']>, 'r.drain'],
  filter: ['text', 'r.filter'],
  slots: ['jsonb' as As<'jsonb', readonly RollSlot[]>, 'r.slots'],
  canary: ['float8', 'r.canary::float8'],
  batch: ['float8', 'r.batch::float8'],
  pauseMs: ['float8', 'r.pause_ms'],
  stopOnFailure: ['bool', 'r.stop_on_failure'],
  by: ['text', 'r.actor'],
  role: ['text', 'r.role'],
  proven: ['bool', 'r.proven'],
  reason: ['text', 'r.reason'],
  createdAtMs: ['float8', ms('r.created_at')],
  state: ['text' as As<'text', RollState>, 'r.state'],
  note: ['text?', 'r.note'],
  position: ['float8', 'r.position::float8'],
  nextAtMs: ['float8?', ms('r.next_at')],
  failures: ['jsonb' as As<'jsonb', readonly RollFailure[]>, 'r.failures'],
});
/** Condition of rows of `fleet_rolls` that are too old to be kept. */
export const OLD_ROLL = `state NOT IN ('running', 'paused')
  AND created_at < now() - interval '${ROLLS_KEPT_DAYS} days'`;
const ROLL_ID = { roll: 'uuid' } as const;

export const statements = named('rolls', {
  /** Inserts nothing if there is a roll with the id. */
  create: statement({
    params: {
      ...{ id: 'uuid', action: 'text', drain: 'text?', filter: 'text', slots: 'jsonb' },
      ...{ canary: 'int8', batch: 'int8', pauseMs: 'float8', stopOnFailure: 'bool' },
      ...{ by: 'text', role: 'text', proven: 'bool', reason: 'text' },
    },
    columns: { roll_id: 'uuid' },
    text: (of) =>
      `INSERT INTO fleet_rolls (roll_id, action, drain, filter, slots, canary, batch, pause_ms,
         stop_on_failure, actor, role, proven, reason)
       VALUES (${of.id}, ${of.action}, ${of.drain}, ${of.filter}, ${of.slots}, ${of.canary},
         ${of.batch}, ${of.pauseMs}, ${of.stopOnFailure}, ${of.by}, ${of.role}, ${of.proven},
         ${of.reason})
       ON CONFLICT (roll_id) DO NOTHING RETURNING roll_id`,
  }),
  trim: statement({
    params: { limit: 'int8' },
    text: ({ limit }) =>
      `DELETE FROM fleet_rolls WHERE roll_id IN (
         SELECT roll_id FROM fleet_rolls WHERE ${OLD_ROLL} LIMIT ${limit} FOR UPDATE SKIP LOCKED)`,
  }),
  running: statement({
    params: { limit: 'int8' },
    columns: ROLL.columns,
    text: ({ limit }) =>
      `SELECT ${ROLL.sql} FROM fleet_rolls r WHERE r.state = 'running'
       ORDER BY r.created_at DESC LIMIT ${limit}`,
  }),
  list: statement({
    params: { limit: 'int8' },
    columns: ROLL.columns,
    text: ({ limit }) =>
      `SELECT ${ROLL.sql} FROM fleet_rolls r ORDER BY r.created_at DESC LIMIT ${limit}`,
  }),
  read: statement({
    params: ROLL_ID,
    columns: ROLL.columns,
    text: ({ roll }) => `SELECT ${ROLL.sql} FROM fleet_rolls r WHERE r.roll_id = ${roll}`,
  }),
  /** Nothing if it no longer runs, or another daemon carried it on. */
  step: statement({
    params: {
      ...{ ...ROLL_ID, before: 'int8', state: 'text', note: 'text?', position: 'int8' },
      ...{ nextAtMs: 'float8?', failures: 'jsonb' },
    },
    columns: ROLL.columns,
    text: (of) =>
      `UPDATE fleet_rolls r SET state = ${of.state}, note = ${of.note}, position = ${of.position},
         next_at = to_timestamp(${of.nextAtMs} / 1000), failures = ${of.failures}
       WHERE r.roll_id = ${of.roll} AND r.state = 'running' AND r.position = ${of.before}
       RETURNING ${ROLL.sql}`,
  }),
  control: statement({
    params: { ...ROLL_ID, from: 'text[]', to: 'text', note: 'text' },
    columns: ROLL.columns,
    text: ({ roll, from, to, note }) =>
      `UPDATE fleet_rolls r SET state = ${to}, note = ${note}
       WHERE r.roll_id = ${roll} AND r.state = ANY (${from}) RETURNING ${ROLL.sql}`,
  }),
});

/** The driver would send an array as one of PostgreSQL's. */
const json = (list: readonly unknown[]): string => JSON.stringify(list);

const tell = (q: Queries, event: NewEvent | null) => writeFleetEvents(q, event ? [event] : []);

/** See `RollRepository`. */
export function createRolls(db: Database): RollRepository {
  const inOne = <Result>(doing: string, task: (q: Queries) => Promise<Result>) =>
    db.transact({ doing, isolation: 'READ COMMITTED' }, task);
  const readIn = async (q: Queries, roll: string) => (await q.rows(statements.read, { roll }))[0];
  return {
    create: (roll) =>
      inOne('begin a rolling action', async (q) => {
        const { id, action, by, reason } = roll;
        const made = await q.rows(statements.create, { ...roll, slots: json(roll.slots) });
        const details = { roll: id, action, machines: roll.slots.length };
        if (made.length > 0) await tell(q, { type: 'roll.started', actor: by, reason, details });
        return (await readIn(q, id))!;
      }),
    list: ({ running = false, limit }, signal) => {
      const which = running ? statements.running : statements.list;
      return db.once({ doing: 'list rolling actions', signal }, which, { limit });
    },
    read: async (roll) => (await inOne('read a rolling action', (q) => readIn(q, roll))) ?? null,
    step: ({ id, position: before }, change) =>
      inOne('carry on a rolling action', async (q) => {
        const [row] = await q.rows(statements.step, {
          ...{ ...change, roll: id, before },
          failures: json(change.failures),
        });
        if (!row) return false;
        const told = { by: row.by, reason: change.note ?? row.reason };
        await tell(q, rollEvent(row, change.state, told));
        return true;
      }),
    control: (roll, verb, by) =>
      inOne(`${verb} a rolling action`, async (q) => {
        const { from, to } = CONTROLLED[verb];
        const note = `${by} asked to ${verb} it`;
        const [row] = await q.rows(statements.control, { roll, from, to, note });
        if (row) await tell(q, rollEvent(row, to, { by, reason: note }));
        return row ?? (await readIn(q, roll)) ?? null;
      }),
  };
}
