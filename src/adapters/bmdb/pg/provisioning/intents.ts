import { NothingToDo, WorkConflict } from '../../../../domain/errors.ts';
import type { Witness } from '../../../../domain/ids.ts';
import type { IntentRow } from '../../../../domain/machine.ts';
import { isUniqueViolation } from '../errors.ts';
import { adopt, end } from './intent-ends.ts';
import { notOurs, takeStep } from './intent-steps.ts';
import { requireLease } from './leases.ts';
import type { LiveSession } from '../live.ts';
import type { Queries } from '../pool.ts';
import { LIVE } from '../sql.ts';
import { statement } from '../statement.ts';
import { INTENT, INTENT_COLUMNS, toIntent } from '../reading/surroundings.ts';
import type { IntentBook } from '../../port.ts';

export const statements = {
  readIntent: statement({
    name: 'intent-read',
    params: { witness: 'uuid' },
    columns: INTENT_COLUMNS,
    text: ({ witness }) => `SELECT ${INTENT} FROM provision_intents i WHERE i.witness = ${witness}`,
  }),
  openIntent: statement({
    name: 'intent-open',
    params: {
      witness: 'uuid',
      machine: 'uuid',
      provider: 'text',
      slot: 'text',
      hostname: 'text',
      session: 'uuid',
    },
    columns: INTENT_COLUMNS,
    text: ({ witness, machine, provider, slot, hostname, session }) =>
      `INSERT INTO provision_intents AS i
         (witness, machine_id, provider, slot_id, hostname, session_id)
       VALUES (${witness}, ${machine}, ${provider}, ${slot}, ${hostname}, ${session})
       RETURNING ${INTENT}`,
  }),
  /** One row for each thing that stands in the way. */
  obstacles: statement({
    name: 'intent-obstacles',
    params: { provider: 'text', slot: 'text' },
    columns: { is_machine: 'bool', cause: 'text' },
    text: ({ provider, slot }) =>
      `SELECT true AS is_machine, 'it has a machine' AS cause FROM machine_provided
       WHERE provider = ${provider} AND provider_reservation_id = ${slot}
       UNION ALL
       SELECT true, 'it is a machine' FROM machine_provided
       WHERE provider = ${provider} AND provider_id = ${slot} AND provider_reservation_id IS NULL
       UNION ALL
       SELECT false, reason FROM slot_holds WHERE provider = ${provider} AND slot_id = ${slot}
         AND kind = 'no-allocate' AND (until IS NULL OR until > now())
       UNION ALL
       SELECT false, cause FROM provider_holds WHERE provider = ${provider} AND key = ${slot}
         AND kind = 'penalty' AND (until IS NULL OR until > now())`,
  }),
  awaitIntent: statement({
    name: 'intent-await',
    params: { witness: 'uuid' },
    columns: { witness: 'uuid' },
    text: ({ witness }) =>
      `SELECT witness FROM provision_intents WHERE witness = ${witness} FOR UPDATE`,
  }),
  resumeIntent: statement({
    name: 'intent-resume',
    params: { witness: 'uuid', session: 'uuid' },
    columns: INTENT_COLUMNS,
    text: ({ witness, session }) =>
      `UPDATE provision_intents i SET session_id = ${session}, updated_at = now()
       WHERE i.witness = ${witness} AND i.state IN ('open', 'unresolved')
         AND (i.session_id = ${session} OR NOT EXISTS (SELECT 1 FROM sessions s
           WHERE s.session_id = i.session_id AND ${LIVE}))
       RETURNING ${INTENT}`,
  }),
  /** Of a creation that is under way: a machine or a penalty on its slot is its own. */
  barring: statement({
    name: 'intent-barring',
    params: { witness: 'uuid' },
    columns: { cause: 'text' },
    text: ({ witness }) =>
      `SELECT h.reason AS cause FROM provision_intents i
       JOIN slot_holds h ON h.provider = i.provider AND h.slot_id = i.slot_id
       WHERE i.witness = ${witness} AND h.kind = 'no-allocate'
         AND (h.until IS NULL OR h.until > now())`,
  }),
  noteProgress: statement({
    name: 'intent-progress',
    params: {
      witness: 'uuid',
      session: 'uuid',
      attempts: 'int8?',
      ambiguous: 'bool?',
      unresolved: 'bool?',
      lastError: 'text?',
      empty: 'bool?',
    },
    columns: {},
    text: ({ witness, session, attempts, ambiguous, unresolved, lastError, empty }) =>
      `UPDATE provision_intents SET attempts = coalesce(${attempts}, attempts),
         ambiguous = coalesce(${ambiguous}, ambiguous),
         last_error = coalesce(${lastError}, last_error),
         state = CASE ${unresolved} WHEN true THEN 'unresolved' WHEN false THEN 'open'
           ELSE state END,
         empty_since = CASE ${empty} WHEN true THEN coalesce(empty_since, now())
           WHEN false THEN NULL ELSE empty_since END,
         updated_at = now()
       WHERE witness = ${witness} AND session_id = ${session} AND state IN ('open', 'unresolved')`,
  }),
};

/** See `IntentBook`. Only the session named in an intent may change it. */
export const createIntentBook = (session: LiveSession): IntentBook => ({
  open: (input) => open(session, input),
  resume: (witness) => resume(session, witness),
  progress: (witness, change) => progress(session, witness, change),
  adopt: (witness, provided) => adopt(session, witness, provided),
  end: (witness, how) => end(session, witness, how),
});

type Slot = Pick<IntentRow, 'provider' | 'slotId'>;

async function open(
  session: LiveSession,
  input: Parameters<IntentBook['open']>[0],
): Promise<IntentRow> {
  const { provider, slotId, hostname, lease } = input;
  const slot = `${provider}/${slotId}`;
  const witness = session.random.uuid();
  const names = { witness, machine: session.random.uuid(), session: session.sessionId };
  try {
    return await takeStep(session, `open an intent for ${slot}`, async (q) => {
      const [before] = await q.rows(statements.readIntent, { witness });
      if (before) return toIntent(before);
      if (lease) await requireLease(q, session, lease);
      const args = { ...names, provider, slot: slotId, hostname };
      const [row] = await q.rows(statements.openIntent, args);
      await refuseOccupied(q, input);
      return toIntent(row!);
    });
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw new WorkConflict(`${slot} has an intent already`, { cause: error });
  }
}

/**
 * Asked once the slot is ours: an earlier intent for it has ended by now, and if it led to a machine
 * or to a penalty, that is seen.
 */
async function refuseOccupied(q: Queries, { provider, slotId }: Slot): Promise<void> {
  const obstacles = await q.rows(statements.obstacles, { provider, slot: slotId });
  const slot = `${provider}/${slotId}`;
  if (obstacles.some((each) => each.is_machine)) {
    throw new WorkConflict(`${slot} has a machine already`);
  }
  const [barred] = obstacles;
  if (barred) throw new NothingToDo(`${slot} must not be used: ${barred.cause}`);
}

function resume(session: LiveSession, witness: Witness): Promise<IntentRow> {
  return takeStep(session, `resume intent ${witness}`, async (q) => {
    // Whoever resumed it first may have a session that is younger than a snapshot from before.
    await q.rows(statements.awaitIntent, { witness });
    const args = { witness, session: session.sessionId };
    const [row] = await q.rows(statements.resumeIntent, args);
    if (!row) throw notOurs(witness);
    // The subquery of RETURNING still sees the session before the update.
    return { ...toIntent(row), sessionAlive: true };
  });
}

async function progress(
  session: LiveSession,
  witness: Witness,
  change: Parameters<IntentBook['progress']>[1],
): Promise<void> {
  await takeStep(session, `note progress of intent ${witness}`, async (q) => {
    const changed = await q.run(statements.noteProgress, {
      witness,
      session: session.sessionId,
      attempts: change.attempts ?? null,
      ambiguous: change.ambiguous ?? null,
      unresolved: change.unresolved ?? null,
      lastError: change.lastError ?? null,
      empty: change.empty ?? null,
    });
    if (changed !== 1) throw notOurs(witness);
    if (change.attempts !== undefined) await refuseBarred(q, witness);
  });
}

async function refuseBarred(q: Queries, witness: Witness): Promise<void> {
  const [barred] = await q.rows(statements.barring, { witness });
  if (barred) throw new NothingToDo(`the slot must not be used: ${barred.cause}`);
}
