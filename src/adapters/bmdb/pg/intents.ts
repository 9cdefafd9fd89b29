import { AmbiguousCommit, NotFound, NothingToDo, WorkConflict } from '../../../domain/errors.ts';
import { machineId } from '../../../domain/ids.ts';
import type { MachineId, Witness } from '../../../domain/ids.ts';
import type { IntentRow, Provided } from '../../../domain/machine.ts';
import { PENALTY_MAX_MS } from '../../../domain/policy.ts';
import { isUniqueViolation } from './errors.ts';
import { transactLive, writeEvent } from './live.ts';
import type { LiveSession } from './live.ts';
import type { Queries } from './pool.ts';
import { INTENT, toIntent } from './rows.ts';
import type { FlatIntent } from './rows.ts';
import type { IntentBook } from '../port.ts';

/** See `IntentBook`. Only the session named in an intent may change it. */
export const createIntentBook = (session: LiveSession): IntentBook => ({
  open: (input) => open(session, input),
  resume: (witness) => resume(session, witness),
  progress: (witness, change) => progress(session, witness, change),
  adopt: (witness, provided) => adopt(session, witness, provided),
  end: (witness, how) => end(session, witness, how),
});

const MINE = `session_id = $2 AND state IN ('open', 'unresolved')`;

/** Repeats a body that may safely run twice after the answer to its COMMIT was lost. */
async function idempotently<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof AmbiguousCommit)) throw error;
    return run();
  }
}

async function open(
  session: LiveSession,
  input: Parameters<IntentBook['open']>[0],
): Promise<IntentRow> {
  const slot = `${input.provider}/${input.slotId}`;
  const witness = session.random.uuid();
  const values = [witness, session.random.uuid(), input.provider, input.slotId, input.hostname];
  try {
    return await idempotently(() =>
      transactLive(session, `open an intent for ${slot}`, async (q) => {
        const [before] = await q.rows<FlatIntent>(
          `SELECT ${INTENT} FROM provision_intents i WHERE i.witness = $1`,
          [witness],
        );
        if (before) return toIntent(before);
        await refuseOccupied(q, input);
        const [row] = await q.rows<FlatIntent>(
          `INSERT INTO provision_intents AS i
             (witness, machine_id, provider, slot_id, hostname, session_id)
           VALUES ($1, $2, $3, $4, $5, $6) RETURNING ${INTENT}`,
          [...values, session.sessionId],
        );
        return toIntent(row!);
      }),
    );
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw new WorkConflict(`${slot} has an intent already`, { cause: error });
  }
}

async function refuseOccupied(
  q: Queries,
  { provider, slotId }: { readonly provider: string; readonly slotId: string },
): Promise<void> {
  const machines = await q.rows(
    `SELECT 1 FROM machine_provided
     WHERE provider = $1 AND coalesce(provider_reservation_id, provider_id) = $2`,
    [provider, slotId],
  );
  if (machines.length > 0) throw new WorkConflict(`${provider}/${slotId} has a machine already`);
  const [barred] = await q.rows<{ cause: string }>(
    `SELECT reason AS cause FROM slot_holds WHERE provider = $1 AND slot_id = $2
       AND kind = 'no-allocate' AND (until IS NULL OR until > now())
     UNION ALL
     SELECT cause FROM provider_holds WHERE provider = $1 AND key = $2
       AND kind = 'penalty' AND until > now()`,
    [provider, slotId],
  );
  if (barred) throw new NothingToDo(`${provider}/${slotId} must not be used: ${barred.cause}`);
}

function resume(session: LiveSession, witness: Witness): Promise<IntentRow> {
  return idempotently(() =>
    transactLive(session, `resume intent ${witness}`, async (q) => {
      const [row] = await q.rows<FlatIntent>(
        `UPDATE provision_intents i SET session_id = $2, updated_at = now()
         WHERE i.witness = $1 AND i.state IN ('open', 'unresolved')
           AND (i.session_id = $2 OR NOT EXISTS (SELECT 1 FROM sessions s
             WHERE s.session_id = i.session_id AND s.session_deadline > now()))
         RETURNING ${INTENT}`,
        [witness, session.sessionId],
      );
      if (!row) throw notOurs(witness);
      // The subquery of RETURNING still sees the session before the update.
      return { ...toIntent(row), sessionAlive: true };
    }),
  );
}

async function progress(
  session: LiveSession,
  witness: Witness,
  change: Parameters<IntentBook['progress']>[1],
): Promise<void> {
  await idempotently(() =>
    transactLive(session, `note progress of intent ${witness}`, async (q) => {
      const changed = await q.run(
        `UPDATE provision_intents SET attempts = coalesce($3, attempts),
           ambiguous = coalesce($4, ambiguous), last_error = coalesce($6, last_error),
           state = CASE $5::boolean WHEN true THEN 'unresolved' WHEN false THEN 'open'
             ELSE state END,
           updated_at = now()
         WHERE witness = $1 AND ${MINE}`,
        [
          witness,
          session.sessionId,
          change.attempts ?? null,
          change.ambiguous ?? null,
          change.unresolved ?? null,
          change.lastError ?? null,
        ],
      );
      if (changed !== 1) throw notOurs(witness);
    }),
  );
}

async function adopt(
  session: LiveSession,
  witness: Witness,
  provided: Provided,
): Promise<MachineId> {
  const device = `${provided.provider}/${provided.providerId}`;
  try {
    return await idempotently(() =>
      transactLive(session, `adopt device ${device}`, async (q) => {
        const intent = await lockIntent(q, witness);
        if (intent.state === 'adopted') return intent.machineId;
        if (!isUnsettled(intent.state) || intent.sessionId !== session.sessionId) {
          throw notOurs(witness);
        }
        await insertMachine(q, intent.machineId, provided);
        await q.run(
          `UPDATE provision_intents SET state = 'adopted', updated_at = now() WHERE witness = $1`,
          [witness],
        );
        // The slot has proved itself: its next penalty starts small again.
        await q.run(
          `DELETE FROM provider_holds WHERE provider = $1 AND kind = 'penalty' AND key = $2`,
          [provided.provider, intent.slotId],
        );
        const reason = `device ${provided.providerId}, intent ${witness}`;
        await writeEvent(q, session, { machineId: intent.machineId, kind: 'adopted', reason });
        return intent.machineId;
      }),
    );
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw new WorkConflict(`device ${device} belongs to another machine`, { cause: error });
  }
}

const isUnsettled = (state: string) => state === 'open' || state === 'unresolved';

interface LockedIntent {
  readonly machineId: MachineId;
  readonly sessionId: string;
  readonly state: string;
  readonly provider: string;
  readonly slotId: string;
}

async function lockIntent(q: Queries, witness: Witness): Promise<LockedIntent> {
  const [row] = await q.rows<{
    machine_id: string;
    session_id: string;
    state: string;
    provider: string;
    slot_id: string;
  }>(
    `SELECT machine_id, session_id, state, provider, slot_id
     FROM provision_intents WHERE witness = $1 FOR UPDATE`,
    [witness],
  );
  if (!row) throw new NotFound(`there is no intent ${witness}`);
  return {
    machineId: machineId(row.machine_id),
    sessionId: row.session_id,
    state: row.state,
    provider: row.provider,
    slotId: row.slot_id,
  };
}

async function insertMachine(q: Queries, id: MachineId, provided: Provided): Promise<void> {
  await q.run(`INSERT INTO machines (machine_id) VALUES ($1)`, [id]);
  await q.run(
    `INSERT INTO machine_provided (machine_id, provider, provider_id, provider_reservation_id,
       provider_ip_address, provider_location, provider_status)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [
      id,
      provided.provider,
      provided.providerId,
      provided.reservationId,
      provided.address,
      provided.location,
      provided.status,
    ],
  );
}

async function end(
  session: LiveSession,
  witness: Witness,
  how: Parameters<IntentBook['end']>[1],
): Promise<void> {
  await idempotently(() =>
    transactLive(session, `end intent ${witness}`, async (q) => {
      const intent = await lockIntent(q, witness);
      if (intent.state === how.state) return;
      if (!isUnsettled(intent.state) || intent.sessionId !== session.sessionId) {
        throw notOurs(witness);
      }
      await q.run(
        `UPDATE provision_intents SET state = $2, last_error = $3, updated_at = now()
         WHERE witness = $1`,
        [witness, how.state, how.cause],
      );
      if (how.penaltyMs !== undefined) await penalise(q, intent, how.penaltyMs, how.cause);
    }),
  );
}

/** Each penalty in a row lasts twice as long, at most a day; a later end is never shortened. */
async function penalise(
  q: Queries,
  { provider, slotId }: LockedIntent,
  penaltyMs: number,
  cause: string,
): Promise<void> {
  await q.run(
    `INSERT INTO provider_holds AS h (provider, kind, key, until, level, cause)
     VALUES ($1, 'penalty', $2, now() + $3::float8 * interval '1 millisecond', 1, $4)
     ON CONFLICT (provider, kind, key) DO UPDATE SET level = h.level + 1, cause = excluded.cause,
       until = greatest(h.until, now() + greatest($3::float8,
         least($5::float8, $3::float8 * 2 ^ least(h.level, 30))) * interval '1 millisecond')`,
    [provider, slotId, penaltyMs, cause, PENALTY_MAX_MS],
  );
}

const notOurs = (witness: Witness) =>
  new WorkConflict(`intent ${witness} is settled or worked on by another session`);
