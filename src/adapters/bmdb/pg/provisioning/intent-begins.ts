import type { Outcome } from '../../../../lib/batcher.ts';
import { LeaseLost, NothingToDo, WorkConflict } from '../../../../domain/errors.ts';
import type { MachineId, Witness } from '../../../../domain/ids.ts';
import type { IntentRow } from '../../../../domain/machine.ts';
import { liveSession } from '../live.ts';
import type { LiveSession } from '../live.ts';
import { ms } from '../sql.ts';
import { statement } from '../statement.ts';
import type { RowOf } from '../statement.ts';
import type { IntentBook } from '../../port.ts';
import { answerOf, doingTo, lockedIntents, notOurs, takeSteps } from './intent-steps.ts';

/**
 * Whether a slot has a machine; `at` is an alias with `provider` and `slot_id`. Not with EXISTS, which
 * may be answered by reading all machines once.
 */
const occupied = (at: string): string => `coalesce(
  (SELECT true FROM machine_provided p
    WHERE p.provider = ${at}.provider AND p.provider_reservation_id = ${at}.slot_id),
  (SELECT true FROM machine_provided p
    WHERE p.provider = ${at}.provider AND p.provider_id = ${at}.slot_id
      AND p.provider_reservation_id IS NULL), false)`;

/** Why nothing may be made on a slot: a hold, or it is on the shelf; null: it may. */
const barred = (at: string): string => `coalesce(
  (SELECT h.reason FROM slot_holds h
    WHERE h.provider = ${at}.provider AND h.slot_id = ${at}.slot_id AND h.kind = 'no-allocate'
      AND (h.until IS NULL OR h.until > now())),
  (SELECT h.cause FROM provider_holds h
    WHERE h.provider = ${at}.provider AND h.key = ${at}.slot_id AND h.kind = 'penalty'
      AND (h.until IS NULL OR h.until > now())))`;

/**
 * Nothing is made on a slot that has a machine. An intent for it may have ended with one, or with a
 * penalty, after the snapshot of `open` was taken: the key of the slot is then free, and a new intent
 * is opened in spite of them. So `note` looks again before each attempt. At most one intent of a slot
 * is unsettled, so all earlier ones ended before the new one was there, with all that their ends
 * wrote; and `note` is sent after that, so its snapshot has all of it.
 */
export const statements = {
  /**
   * One that is opened once more, since the answer was lost, is found by its witness; unless the job
   * was lost or the slot barred in between: then it stays open, and whoever plans next takes it up.
   */
  open: statement({
    name: 'intents-open',
    params: {
      session: 'uuid',
      witnesses: 'uuid[]',
      machines: 'uuid[]',
      providers: 'text[]',
      slots: 'text[]',
      hostnames: 'text[]',
      leases: 'text?[]',
      epochs: 'int8?[]',
    },
    /** Nothing is told of one whose slot has an intent. */
    columns: {
      alive: 'bool',
      witness: 'uuid?',
      created_at: 'float8?',
      leased: 'bool?',
      occupied: 'bool?',
      barred: 'text?',
    },
    text: ({ session, witnesses, machines, providers, slots, hostnames, leases, epochs }) => `
      WITH me AS MATERIALIZED (${liveSession(session)}),
      lease AS MATERIALIZED (
        SELECT l.name, l.epoch FROM me JOIN leases l ON l.session_id = me.session_id
        WHERE l.name = ANY (${leases}) ORDER BY l.name FOR SHARE OF l
      ), wanted AS MATERIALIZED (
        SELECT o.*, ${occupied('o')} AS occupied, ${barred('o')} AS barred,
          o.lease IS NULL OR EXISTS (SELECT 1 FROM lease l
            WHERE l.name = o.lease AND l.epoch = o.epoch) AS leased
        FROM unnest(${witnesses}, ${machines}, ${providers}, ${slots}, ${hostnames}, ${leases},
          ${epochs}) AS o (witness, machine_id, provider, slot_id, hostname, lease, epoch)
      ), opened AS (
        INSERT INTO provision_intents AS i
          (witness, machine_id, provider, slot_id, hostname, session_id)
        SELECT w.witness, w.machine_id, w.provider, w.slot_id, w.hostname, me.session_id
        FROM wanted w, me WHERE w.leased AND NOT w.occupied AND w.barred IS NULL
        ORDER BY w.provider, w.slot_id
        ON CONFLICT (provider, slot_id) WHERE state IN ('open', 'unresolved')
          DO UPDATE SET hostname = excluded.hostname WHERE i.witness = excluded.witness
        RETURNING i.witness, ${ms('i.created_at')} AS created_at
      )
      ${answerOf(`
        SELECT witness, created_at, true AS leased, false AS occupied, NULL AS barred FROM opened
        UNION ALL
        SELECT witness, NULL, leased, occupied, barred FROM wanted
        WHERE NOT leased OR occupied OR barred IS NOT NULL`)}`,
  }),
  note: statement({
    name: 'intents-note',
    params: {
      session: 'uuid',
      witnesses: 'uuid[]',
      attempts: 'int8?[]',
      ambiguous: 'bool?[]',
      unresolved: 'bool?[]',
      lastErrors: 'text?[]',
      empty: 'bool?[]',
    },
    columns: { alive: 'bool', witness: 'uuid?', ours: 'bool?', obstacle: 'text?' },
    text: ({ session, witnesses, attempts, ambiguous, unresolved, lastErrors, empty }) => `
      WITH me AS MATERIALIZED (${liveSession(session)}),
      locked AS MATERIALIZED (${lockedIntents(`
        unnest(${witnesses}, ${attempts}, ${ambiguous}, ${unresolved}, ${lastErrors}, ${empty})
          AS step (witness, attempts, ambiguous, unresolved, last_error, empty)`)}),
      looked AS MATERIALIZED (
        SELECT n.*, CASE WHEN n.attempts IS NOT NULL AND n.ours THEN
            CASE WHEN ${occupied('n')} THEN 'it has a machine' ELSE ${barred('n')} END
          END AS obstacle
        FROM locked n
      ), noted AS (
        UPDATE provision_intents i SET attempts = coalesce(n.attempts, i.attempts),
          ambiguous = coalesce(n.ambiguous, i.ambiguous),
          last_error = coalesce(n.last_error, i.last_error),
          state = CASE n.unresolved WHEN true THEN 'unresolved' WHEN false THEN 'open'
            ELSE i.state END,
          empty_since = CASE n.empty WHEN true THEN coalesce(i.empty_since, now())
            WHEN false THEN NULL ELSE i.empty_since END,
          updated_at = now()
        FROM looked n WHERE i.witness = n.witness AND n.ours AND n.obstacle IS NULL
      )
      ${answerOf('SELECT witness, ours, obstacle FROM looked')}`,
  }),
};

/** An intent that is to be opened, with the names that are chosen for it. */
export type Opening = Parameters<IntentBook['open']>[0] & {
  readonly witness: Witness;
  readonly machineId: MachineId;
};

export const slotOf = ({ provider, slotId }: Pick<Opening, 'provider' | 'slotId'>): string =>
  `${provider}/${slotId}`;

/** See `IntentBook.open`. */
export async function open(
  session: LiveSession,
  openings: readonly Opening[],
): Promise<Outcome<IntentRow>[]> {
  const doing = doingTo('open', openings, `an intent for ${slotOf(openings[0]!)}`);
  const args = {
    session: session.sessionId,
    witnesses: openings.map(({ witness }) => witness),
    machines: openings.map(({ machineId }) => machineId),
    providers: openings.map(({ provider }) => provider),
    slots: openings.map(({ slotId }) => slotId),
    hostnames: openings.map(({ hostname }) => hostname),
    leases: openings.map(({ lease }) => lease?.name ?? null),
    epochs: openings.map(({ lease }) => lease?.epoch ?? null),
  };
  const told = await takeSteps(session, doing, [statements.open, args]);
  return openings.map((opening) => opened(session, opening, told.get(opening.witness)));
}

function opened(
  { sessionId }: LiveSession,
  { lease, ...names }: Opening,
  row: RowOf<(typeof statements.open)['columns']> | undefined,
): Outcome<IntentRow> {
  const slot = slotOf(names);
  if (!row) return { error: new WorkConflict(`${slot} has an intent already`) };
  if (!row.leased) {
    return { error: new LeaseLost(`${lease!.name} (lease ${lease!.epoch}) is no longer ours`) };
  }
  if (row.occupied) return { error: new WorkConflict(`${slot} has a machine already`) };
  if (row.barred !== null) {
    return { error: new NothingToDo(`${slot} must not be used: ${row.barred}`) };
  }
  const fresh = { state: 'open', ambiguous: false, attempts: 0, lastError: null } as const;
  const ours = { sessionId, sessionAlive: true, createdAtMs: row.created_at!, emptySinceMs: null };
  return { ok: { ...names, ...fresh, ...ours } };
}

/** What has become of an intent. */
export interface Note {
  readonly witness: Witness;
  readonly change: Parameters<IntentBook['progress']>[1];
}

/** See `IntentBook.progress`. */
export async function note(session: LiveSession, notes: readonly Note[]): Promise<Outcome<void>[]> {
  const doing = doingTo('note progress of', notes, `intent ${notes[0]!.witness}`);
  const args = {
    session: session.sessionId,
    witnesses: notes.map(({ witness }) => witness),
    attempts: notes.map(({ change }) => change.attempts ?? null),
    ambiguous: notes.map(({ change }) => change.ambiguous ?? null),
    unresolved: notes.map(({ change }) => change.unresolved ?? null),
    lastErrors: notes.map(({ change }) => change.lastError ?? null),
    empty: notes.map(({ change }) => change.empty ?? null),
  };
  const told = await takeSteps(session, doing, [statements.note, args]);
  return notes.map(({ witness }) => {
    const { ours, obstacle } = told.get(witness) ?? { ours: false, obstacle: null };
    if (!ours) return { error: notOurs(witness) };
    if (obstacle === null) return { ok: undefined };
    return { error: new NothingToDo(`the slot must not be used: ${obstacle}`) };
  });
}
