import { LeaseLost, NotFound, NothingToDo, WorkConflict } from '../../../../domain/errors.ts';
import { machineId, witness as asWitness } from '../../../../domain/ids.ts';
import type { Witness } from '../../../../domain/ids.ts';
import type { IntentRow, Provided } from '../../../../domain/machine.ts';
import { PENALTY_MAX_MS } from '../../../../domain/policy.ts';
import { forTraits, TRAIT_NAMES, TRAITS } from '../../../../domain/traits.ts';
import { patiently } from '../batches.ts';
import { SLOT_ID } from '../eligibility.ts';
import { isUniqueViolation } from '../errors.ts';
import { commitFenced, declareDead, liveSession, requireInTime, transactLive } from '../live.ts';
import type { LiveSession } from '../live.ts';
import { repeatedOnce } from '../repeat.ts';
import { LIVE, ms } from '../sql.ts';
import { statement } from '../statement.ts';
import type { ArgsOf, Params, RowOf, Statement } from '../statement.ts';
import { INTENT, INTENT_COLUMNS, toIntent } from '../reading/surroundings.ts';
import type { IntentBook } from '../../port.ts';

/**
 * Whether a slot has a machine; over `at`, with `provider` and `slot_id`. Not with EXISTS, which may
 * be answered by reading all machines once.
 */
const OCCUPIED = `coalesce(
  (SELECT true FROM machine_provided p
    WHERE p.provider = at.provider AND p.provider_reservation_id = at.slot_id),
  (SELECT true FROM machine_provided p
    WHERE p.provider = at.provider AND p.provider_id = at.slot_id
      AND p.provider_reservation_id IS NULL), false)`;

/** Why nothing may be made on a slot: a hold, or it is on the shelf; null: it may. Over `at`. */
const BARRED = `coalesce(
  (SELECT h.reason FROM slot_holds h
    WHERE h.provider = at.provider AND h.slot_id = at.slot_id AND h.kind = 'no-allocate'
      AND (h.until IS NULL OR h.until > now())),
  (SELECT h.cause FROM provider_holds h
    WHERE h.provider = at.provider AND h.key = at.slot_id AND h.kind = 'penalty'
      AND (h.until IS NULL OR h.until > now())))`;

/**
 * CTEs: `me`, the session if it lives, and `locked`, the intent, of which is read what is true now.
 * Whoever is just changing it is waited for; one that another session took over meanwhile is not ours.
 */
const lockedIntent = ({ session, witness }: Readonly<Record<'session' | 'witness', string>>) => `
  me AS MATERIALIZED (${liveSession(session)}),
  locked AS MATERIALIZED (
    SELECT i.witness, i.machine_id, i.provider, i.slot_id, i.state,
      i.session_id = me.session_id AND i.state IN ('open', 'unresolved') AS ours
    FROM me CROSS JOIN provision_intents i WHERE i.witness = ${witness} FOR UPDATE OF i
  )`;

/** The answer of a step: whether the session was alive when it began, and what `told` says. */
const answerOf = (told: string): string => `
  SELECT EXISTS (SELECT 1 FROM me) AS alive, told.*
  FROM (SELECT) AS always LEFT JOIN (${told}) AS told ON true`;

const STEP = { session: 'uuid', witness: 'uuid' } as const;
const TRAIT_COLUMNS = TRAIT_NAMES.map((name) => TRAITS[name].column).join(', ');

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
    name: 'intent-open',
    params: {
      ...{ ...STEP, machine: 'uuid', provider: 'text', slot: 'text', hostname: 'text' },
      ...{ lease: 'text?', epoch: 'int8?' },
    },
    /** `created_at` is null where the slot has an intent, or the rest says why there is none. */
    columns: {
      ...{ alive: 'bool', leased: 'bool?', occupied: 'bool?', barred: 'text?' },
      created_at: 'float8?',
    },
    text: ({ session, witness, machine, provider, slot, hostname, lease, epoch }) => `
      WITH me AS MATERIALIZED (${liveSession(session)}),
      lease AS MATERIALIZED (
        SELECT l.name FROM me JOIN leases l ON l.session_id = me.session_id
        WHERE l.name = ${lease} AND l.epoch = ${epoch} FOR SHARE OF l
      ), wanted AS MATERIALIZED (
        SELECT at.*, ${OCCUPIED} AS occupied, ${BARRED} AS barred,
          ${lease} IS NULL OR EXISTS (SELECT 1 FROM lease) AS leased
        FROM (SELECT ${provider} AS provider, ${slot} AS slot_id) AS at
      ), opened AS (
        INSERT INTO provision_intents AS i
          (witness, machine_id, provider, slot_id, hostname, session_id)
        SELECT ${witness}, ${machine}, w.provider, w.slot_id, ${hostname}, me.session_id
        FROM wanted w, me WHERE w.leased AND NOT w.occupied AND w.barred IS NULL
        ON CONFLICT (provider, slot_id) WHERE state IN ('open', 'unresolved')
          DO UPDATE SET hostname = excluded.hostname WHERE i.witness = excluded.witness
        RETURNING ${ms('i.created_at')} AS created_at
      )
      ${answerOf(`SELECT w.leased, w.occupied, w.barred, o.created_at
        FROM wanted w LEFT JOIN opened o ON true`)}`,
  }),
  note: statement({
    name: 'intent-note',
    params: {
      ...{ ...STEP, attempts: 'int8?', ambiguous: 'bool?', unresolved: 'bool?' },
      ...{ lastError: 'text?', empty: 'bool?' },
    },
    columns: { alive: 'bool', ours: 'bool?', obstacle: 'text?' },
    text: ({ attempts, ambiguous, unresolved, lastError, empty, ...step }) => `
      WITH ${lockedIntent(step)},
      looked AS MATERIALIZED (
        SELECT at.witness, at.ours, CASE WHEN ${attempts} IS NOT NULL AND at.ours THEN
            CASE WHEN ${OCCUPIED} THEN 'it has a machine' ELSE ${BARRED} END
          END AS obstacle
        FROM locked at
      ), noted AS (
        UPDATE provision_intents i SET attempts = coalesce(${attempts}, i.attempts),
          ambiguous = coalesce(${ambiguous}, i.ambiguous),
          last_error = coalesce(${lastError}, i.last_error),
          state = CASE ${unresolved} WHEN true THEN 'unresolved' WHEN false THEN 'open'
            ELSE i.state END,
          empty_since = CASE ${empty} WHEN true THEN coalesce(i.empty_since, now())
            WHEN false THEN NULL ELSE i.empty_since END,
          updated_at = now()
        FROM looked n WHERE i.witness = n.witness AND n.ours AND n.obstacle IS NULL
      )
      ${answerOf('SELECT ours, obstacle FROM looked')}`,
  }),
  /** The slot has proved itself: its next penalty starts small again. */
  adopt: statement({
    name: 'intent-adopt',
    params: {
      ...{ ...STEP, provider: 'text', providerId: 'text', reservationId: 'text?' },
      ...{ address: 'text?', status: 'provider_status?', ...forTraits(() => 'text?' as const) },
    },
    columns: { alive: 'bool', machine_id: 'uuid?', state: 'intent_state?', ours: 'bool?' },
    text: ({
      session,
      witness,
      provider,
      providerId,
      reservationId,
      address,
      status,
      ...traits
    }) => `
      WITH ${lockedIntent({ session, witness })},
      provided AS (
        INSERT INTO machine_provided AS p (machine_id, provider, provider_id,
          provider_reservation_id, provider_ip_address, provider_status, ${TRAIT_COLUMNS})
        SELECT machine_id, ${provider}, ${providerId}, ${reservationId}, ${address}, ${status},
          ${TRAIT_NAMES.map((name) => traits[name]).join(', ')}
        FROM locked WHERE ours
        RETURNING p.machine_id, p.provider, p.provider_id, ${SLOT_ID} AS slot_id
      ), made AS (
        INSERT INTO machines (machine_id) SELECT machine_id FROM provided
      ), adopted AS (
        UPDATE provision_intents i SET state = 'adopted', updated_at = now()
        FROM provided p WHERE i.machine_id = p.machine_id
        RETURNING i.witness, i.slot_id AS key, p.*
      ), forgiven AS (
        DELETE FROM provider_holds h USING adopted a
        WHERE h.provider = a.provider AND h.kind = 'penalty' AND h.key = a.key
      ), written AS (
        INSERT INTO slot_events (provider, slot_id, machine_id, kind, actor, reason, session_id)
        SELECT a.provider, a.slot_id, a.machine_id, 'adopted', me.session_component_name,
          'device ' || a.provider_id || ', intent ' || a.witness, me.session_id
        FROM adopted a, me
      )
      ${answerOf('SELECT machine_id, state, ours FROM locked')}`,
  }),
  /** Each penalty in a row lasts twice as long, at most a day; a later end is never shortened. */
  end: statement({
    name: 'intent-end',
    params: { ...STEP, ended: 'text', cause: 'text', penaltyMs: 'float8?' },
    columns: { alive: 'bool', state: 'intent_state?', ours: 'bool?' },
    text: ({ ended, cause, penaltyMs, ...step }) => `
      WITH ${lockedIntent(step)},
      ended AS (
        UPDATE provision_intents i SET state = ${ended}::intent_state, last_error = ${cause},
          updated_at = now()
        FROM locked e WHERE i.witness = e.witness AND e.ours
        RETURNING i.provider, i.slot_id
      ), penalised AS (
        INSERT INTO provider_holds AS h (provider, kind, key, until, level, cause)
        SELECT provider, 'penalty', slot_id, now() + ${penaltyMs} * interval '1 millisecond', 1,
          ${cause}
        FROM ended WHERE ${penaltyMs} IS NOT NULL
        ON CONFLICT (provider, kind, key) DO UPDATE SET level = h.level + 1, cause = excluded.cause,
          until = greatest(h.until, excluded.until, now() + interval '1 millisecond' *
            least(${PENALTY_MAX_MS}, 2 ^ least(h.level, 30) * ${ms('excluded.until - now()')}))
      )
      ${answerOf('SELECT state, ours FROM locked')}`,
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
    params: STEP,
    columns: INTENT_COLUMNS,
    text: ({ witness, session }) =>
      `UPDATE provision_intents i SET session_id = ${session}, updated_at = now()
       WHERE i.witness = ${witness} AND i.state IN ('open', 'unresolved')
         AND (i.session_id = ${session} OR NOT EXISTS (SELECT 1 FROM sessions s
           WHERE s.session_id = i.session_id AND ${LIVE}))
       RETURNING ${INTENT}`,
  }),
};

/** Whom the steps are counted for. */
const PROCESSOR = 'shepherd-provisioner';

/** See `IntentBook`. Only the session named in an intent may change it; each step is one statement. */
export const createIntentBook = (session: LiveSession): IntentBook => ({
  open: (input) => open(session, input),
  resume: (witness) => resume(session, witness),
  progress: async (witness, change) => {
    const { attempts = null, ambiguous = null, unresolved = null } = change;
    const { lastError = null, empty = null } = change;
    const args = { attempts, ambiguous, unresolved, lastError, empty };
    const doing = `note progress of intent ${witness}`;
    const { ours, obstacle } = await takeStep(session, doing, statements.note, {
      ...{ ...args, session: session.sessionId, witness },
    });
    if (!ours) throw notOurs(witness);
    if (obstacle !== null) throw new NothingToDo(`the slot must not be used: ${obstacle}`);
  },
  adopt: async (witness, provided) => {
    const { machine_id: id, state, ours } = await adopt(session, witness, provided);
    if (state === null) throw noIntent(witness);
    if (!ours && state !== 'adopted') throw notOurs(witness);
    return machineId(id!);
  },
  end: async (witness, { state: ended, cause, penaltyMs = null }) => {
    const args = { session: session.sessionId, witness, ended, cause, penaltyMs };
    const { state, ours } = await takeStep(session, `end intent ${witness}`, statements.end, args);
    if (state === null) throw noIntent(witness);
    if (!ours && state !== ended) throw notOurs(witness);
  },
});

/** The intent cannot be changed by the caller. */
const notOurs = (witness: Witness) =>
  new WorkConflict(`intent ${witness} is settled or worked on by another session`);
const noIntent = (witness: Witness) => new NotFound(`there is no intent ${witness}`);

/**
 * Takes one step in the life of an intent. A step may safely be taken twice: it is repeated when the
 * answer was lost, and then waits for the first one, if the server is still busy with it. One that
 * reaches the server only later changes what is settled no more; at most it tells again how far an
 * open intent had come.
 * @throws {SessionExpired} @throws {Locked}
 */
async function takeStep<P extends Params, C extends { readonly alive: 'bool' }>(
  session: LiveSession,
  doing: string,
  step: Statement<P, C & Statement['columns']>,
  args: ArgsOf<P>,
): Promise<RowOf<C & Statement['columns']>> {
  const what = { doing, processor: PROCESSOR } as const;
  const [row] = await patiently(session, () =>
    repeatedOnce(() => commitFenced(session, what, [step, args])),
  );
  if (!row!.alive) throw declareDead(session, doing);
  requireInTime(session, doing);
  return row!;
}

async function open(
  session: LiveSession,
  { lease, ...input }: Parameters<IntentBook['open']>[0],
): Promise<IntentRow> {
  const { random, sessionId } = session;
  const names = { witness: asWitness(random.uuid()), machineId: machineId(random.uuid()) };
  const { provider, slotId, hostname } = input;
  const slot = `${provider}/${slotId}`;
  const row = await takeStep(session, `open an intent for ${slot}`, statements.open, {
    ...{ session: sessionId, witness: names.witness, machine: names.machineId },
    ...{ provider, slot: slotId, hostname },
    ...{ lease: lease?.name ?? null, epoch: lease?.epoch ?? null },
  });
  if (!row.leased) {
    throw new LeaseLost(`${lease!.name} (lease ${lease!.epoch}) is no longer ours`);
  }
  if (row.occupied) throw new WorkConflict(`${slot} has a machine already`);
  if (row.barred !== null) throw new NothingToDo(`${slot} must not be used: ${row.barred}`);
  if (row.created_at === null) throw new WorkConflict(`${slot} has an intent already`);
  const fresh = { state: 'open', ambiguous: false, attempts: 0, lastError: null } as const;
  const ours = { sessionId, sessionAlive: true, createdAtMs: row.created_at, emptySinceMs: null };
  return { ...input, ...names, ...fresh, ...ours };
}

async function adopt(session: LiveSession, witness: Witness, provided: Provided) {
  const { provider, providerId, reservationId, address, status } = provided;
  const args = {
    ...{
      session: session.sessionId,
      witness,
      provider,
      providerId,
      reservationId,
      address,
      status,
    },
    ...forTraits((name) => provided[name]),
  };
  const doing = `adopt the device of intent ${witness}`;
  try {
    return await takeStep(session, doing, statements.adopt, args);
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    const device = `device ${provider}/${providerId}`;
    throw new WorkConflict(`${device} belongs to another machine`, { cause: error });
  }
}

async function resume(session: LiveSession, witness: Witness): Promise<IntentRow> {
  const doing = `resume intent ${witness}`;
  const options = { doing, processor: PROCESSOR, isolation: 'READ COMMITTED' } as const;
  const run = () =>
    transactLive(session, options, async (q) => {
      // Whoever resumed it first may have a session that is younger than a snapshot from before.
      await q.rows(statements.awaitIntent, { witness });
      const args = { witness, session: session.sessionId };
      const [row] = await q.rows(statements.resumeIntent, args);
      if (!row) throw notOurs(witness);
      // The subquery of RETURNING still sees the session before the update.
      return { ...toIntent(row), sessionAlive: true };
    });
  return repeatedOnce(run);
}
