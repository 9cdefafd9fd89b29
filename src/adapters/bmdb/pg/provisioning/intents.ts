import { LeaseLost, NotFound, NothingToDo, WorkConflict } from '../../../../domain/errors.ts';
import { BARRING_CREATION } from '../../../../domain/eligibility.ts';
import { machineId, witness as asWitness } from '../../../../domain/ids.ts';
import type { Witness } from '../../../../domain/ids.ts';
import type { IntentRow } from '../../../../domain/machine.ts';
import { PENALTY_MAX_MS } from '../../../../domain/policy.ts';
import { forTraits, TRAIT_NAMES, TRAITS } from '../../../../domain/traits.ts';
import { createPatientBatches } from '../batches.ts';
import { holdsNow, SLOT_ID } from '../eligibility.ts';
import { isUniqueViolation } from '../errors.ts';
import { commitAlive, liveSession, transactLive } from '../live.ts';
import type { LiveSession } from '../live.ts';
import { repeatedOnce } from '../repeat.ts';
import { LIVE, ms, texts } from '../sql.ts';
import { named, statement } from '../statement.ts';
import type { ArgsOf, Columns, Fields, RowOf, Statement } from '../statement.ts';
import { INTENT } from '../reading/surroundings.ts';
import type { IntentRepository } from '../../port.ts';

/**
 * Whether a slot has a machine; over `at`, with `provider` and `slot_id`. Without EXISTS, which the
 * server may answer by scanning all machines.
 */
const OCCUPIED = `coalesce(
  (SELECT true FROM machine_provided p
    WHERE p.provider = at.provider AND p.provider_reservation_id = at.slot_id),
  (SELECT true FROM machine_provided p
    WHERE p.provider = at.provider AND p.provider_id = at.slot_id
      AND p.provider_reservation_id IS NULL), false)`;

/** Why nothing may be created on a slot: a hold, or a penalty; null if it may. Over `at`. */
const BARRED = `coalesce(
  (SELECT h.reason FROM slot_holds h
    WHERE h.provider = at.provider AND h.slot_id = at.slot_id
      AND h.kind IN (${texts(BARRING_CREATION)})
      AND ${holdsNow('h')}),
  (SELECT h.cause FROM provider_holds h
    WHERE h.provider = at.provider AND h.key = at.slot_id AND h.kind = 'penalty'
      AND (h.until IS NULL OR h.until > now())))`;

/**
 * CTEs: `me`, the session if alive, and `locked`, the intents of the steps as they are now. Waits
 * for concurrent changes of an intent; an intent that another session took over meanwhile is not
 * ours.
 */
const lockedIntents = ({ session, steps }: Readonly<Record<'session' | 'steps', string>>) => `
  me AS MATERIALIZED (${liveSession(session)}),
  locked AS MATERIALIZED (
    SELECT steps.*, i.machine_id, i.provider, i.slot_id, i.state,
      i.session_id = me.session_id AND i.state IN ('open', 'unresolved') AS ours
    FROM me CROSS JOIN ${steps} JOIN provision_intents i ON i.witness = steps.witness
    ORDER BY i.witness FOR UPDATE OF i
  )`;

/**
 * The answer of steps: whether the session was alive when they began, and the result for each
 * intent. The caller finds missing intents; a join with the steps would compare each with each.
 */
const answerOf = (told: string): string => `
  SELECT EXISTS (SELECT 1 FROM me) AS alive, told.*
  FROM (SELECT) AS always LEFT JOIN (${told}) AS told ON true`;

const ANSWER = { alive: 'bool', witness: 'uuid?' } as const;
const TRAIT_COLUMNS = TRAIT_NAMES.map((name) => TRAITS[name].column).join(', ');
/** Parameters of steps in the lives of intents. */
const stepParams = <const F extends Fields>(steps: F) =>
  ({ session: 'uuid', steps: { witness: 'uuid', ...steps } }) as const;

/**
 * Nothing is created on a slot that has a machine. An earlier intent for the slot may have ended,
 * with a machine or a penalty, after the snapshot of `open`. Then the slot's key is free and a new
 * intent is opened nevertheless. So `note` checks again before each attempt. A slot has at most one
 * unsettled intent, so all earlier ones ended before the new one existed, with all their writes.
 * `note` is sent after that, so its snapshot sees them all.
 */
export const statements = named('intents', {
  /**
   * If the answer was lost, the repeated call finds its intent by the creation key. If the job was
   * lost or the slot barred in between, the intent stays open and the next planner takes it up.
   */
  open: statement({
    params: stepParams({
      ...{ machineId: 'uuid', provider: 'text', slotId: 'text', hostname: 'text' },
      ...{ replaces: 'bool', lease: 'text?', epoch: 'int8?' },
    }),
    /** Machines whose slot already has an intent are missing from the answer. */
    columns: {
      ...{ ...ANSWER, created_at: 'float8?' },
      ...{ leased: 'bool?', occupied: 'bool?', barred: 'text?' },
    },
    text: ({ session, steps }) => `
      WITH me AS MATERIALIZED (${liveSession(session)}),
      step AS MATERIALIZED (SELECT * FROM ${steps}),
      lease AS MATERIALIZED (
        SELECT l.name, l.epoch FROM me JOIN leases l ON l.session_id = me.session_id
        WHERE l.name = ANY (ARRAY(SELECT step.lease FROM step)) ORDER BY l.name FOR SHARE OF l
      ), wanted AS MATERIALIZED (
        SELECT at.*, ${OCCUPIED} AS occupied, ${BARRED} AS barred,
          at.lease IS NULL OR EXISTS (SELECT 1 FROM lease l
            WHERE l.name = at.lease AND l.epoch = at.epoch) AS leased
        FROM step AS at
      ), opened AS (
        INSERT INTO provision_intents AS i
          (witness, machine_id, provider, slot_id, hostname, session_id, replaces)
        SELECT w.witness, w.machine_id, w.provider, w.slot_id, w.hostname, me.session_id,
          w.replaces
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
    params: stepParams({
      ...{ attempts: 'int8?', ambiguous: 'bool?', unresolved: 'bool?' },
      ...{ lastError: 'text?', empty: 'bool?' },
    }),
    columns: { ...ANSWER, ours: 'bool?', obstacle: 'text?' },
    text: (of) => `
      WITH ${lockedIntents(of)},
      looked AS MATERIALIZED (
        SELECT at.*, CASE WHEN at.attempts IS NOT NULL AND at.ours THEN
            CASE WHEN ${OCCUPIED} THEN 'it has a machine' ELSE ${BARRED} END
          END AS obstacle
        FROM locked at
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
  /** The slot has proved itself: its next penalty starts small again. */
  adopt: statement({
    params: stepParams({
      ...{ toldBy: 'text', providerId: 'text', reservationId: 'text?', address: 'text?' },
      ...{ status: 'provider_status?', ...forTraits(() => 'text?' as const) },
    }),
    columns: { ...ANSWER, machine_id: 'machine?', state: 'intent_state?', ours: 'bool?' },
    text: (of) => `
      WITH ${lockedIntents(of)},
      provided AS (
        INSERT INTO machine_provided AS p (machine_id, provider, provider_id,
          provider_reservation_id, provider_ip_address, provider_status, ${TRAIT_COLUMNS})
        SELECT machine_id, told_by, provider_id, reservation_id, address, status,
          ${TRAIT_NAMES.map((name) => `"${name}"`).join(', ')}
        FROM locked WHERE ours ORDER BY told_by, provider_id
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
      ${answerOf('SELECT witness, machine_id, state, ours FROM locked')}`,
  }),
  /** Each consecutive penalty doubles, up to a day; a later end is never shortened. */
  end: statement({
    params: stepParams({ ended: 'text', cause: 'text', penaltyMs: 'float8?' }),
    columns: { ...ANSWER, state: 'intent_state?', ours: 'bool?' },
    text: (of) => `
      WITH ${lockedIntents(of)},
      ended AS (
        UPDATE provision_intents i SET state = e.ended::intent_state, last_error = e.cause,
          updated_at = now()
        FROM locked e WHERE i.witness = e.witness AND e.ours
        RETURNING i.provider, i.slot_id, e.cause, e.penalty_ms
      ), penalised AS (
        INSERT INTO provider_holds AS h (provider, kind, key, until, level, cause)
        SELECT provider, 'penalty', slot_id, now() + penalty_ms * interval '1 millisecond', 1, cause
        FROM ended WHERE penalty_ms IS NOT NULL ORDER BY provider, slot_id
        ON CONFLICT (provider, kind, key) DO UPDATE SET level = h.level + 1, cause = excluded.cause,
          until = greatest(h.until, excluded.until, now() + interval '1 millisecond' *
            least(${PENALTY_MAX_MS}, 2 ^ least(h.level, 30) * ${ms('excluded.until - now()')}))
      )
      ${answerOf('SELECT witness, state, ours FROM locked')}`,
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
    columns: INTENT.columns,
    text: ({ witness, session }) =>
      `UPDATE provision_intents i SET session_id = ${session}, updated_at = now()
       WHERE i.witness = ${witness} AND i.state IN ('open', 'unresolved')
         AND (i.session_id = ${session} OR NOT EXISTS (SELECT 1 FROM sessions s
           WHERE s.session_id = i.session_id AND ${LIVE}))
       RETURNING ${INTENT.sql}`,
  }),
});

/** Component that the steps are counted for. */
const PROCESSOR = 'shepherd-provisioner';

/**
 * See `IntentRepository`. Only the session named in an intent may change it. Concurrent steps of one kind
 * share a statement.
 */
export function createIntentRepository(session: LiveSession): IntentRepository {
  const { sessionId, random } = session;
  const slotOf = (at: { readonly provider: string; readonly slotId: string }) =>
    `${at.provider}/${at.slotId}`;
  const openings = stepsOf(session, 'open', statements.open, slotOf);
  const notes = stepsOf(session, 'note progress of', statements.note);
  const adoptions = stepsOf(session, 'adopt the device of', statements.adopt);
  const ends = stepsOf(session, 'end', statements.end);
  return {
    open: async ({ lease, replaces = false, ...input }) => {
      const names = { witness: asWitness(random.uuid()), machineId: machineId(random.uuid()) };
      const held = { lease: lease?.name, epoch: lease?.epoch };
      const row = await openings({ ...input, ...names, replaces, ...held });
      const slot = slotOf(input);
      if (!row) throw new WorkConflict(`${slot} already has an intent`);
      if (!row.leased) {
        throw new LeaseLost(`${lease!.name} (lease ${lease!.epoch}) is no longer ours`);
      }
      if (row.occupied) throw new WorkConflict(`${slot} already has a machine`);
      if (row.barred !== null) throw new NothingToDo(`${slot} is barred: ${row.barred}`);
      const fresh = { state: 'open', ambiguous: false, attempts: 0, lastError: null } as const;
      const ours = { sessionId, sessionAlive: true, createdAtMs: row.created_at! };
      return { ...input, ...names, ...fresh, ...ours, emptySinceMs: null };
    },
    resume: (witness) => resume(session, witness),
    progress: async (witness, change) => {
      const row = await notes({ ...change, witness });
      if (!row?.ours) throw notOurs(witness);
      if (row.obstacle === null) return;
      throw new NothingToDo(`the slot is barred: ${row.obstacle}`);
    },
    adopt: async (witness, provided) => {
      const { provider, providerId } = provided;
      const step = { ...provided, witness, toldBy: provider };
      const row = await adoptions(step).catch((error: unknown) => {
        if (!isUniqueViolation(error)) throw error;
        const device = `device ${provider}/${providerId}`;
        throw new WorkConflict(`${device} belongs to another machine`, { cause: error });
      });
      if (!row) throw noIntent(witness);
      if (!row.ours && row.state !== 'adopted') throw notOurs(witness);
      return row.machine_id!;
    },
    end: async (witness, { state: ended, cause, penaltyMs }) => {
      const row = await ends({ witness, ended, cause, penaltyMs });
      if (!row) throw noIntent(witness);
      if (!row.ours && row.state !== ended) throw notOurs(witness);
    },
  };
}

/** The caller may not change the intent. */
const notOurs = (witness: Witness) =>
  new WorkConflict(`intent ${witness} has ended, or another session works on it`);
const noIntent = (witness: Witness) => new NotFound(`there is no intent ${witness}`);

type IntentStep = Fields & { readonly witness: 'uuid' };
type Item<F extends IntentStep> = ArgsOf<F> & { readonly witness: string };
type IntentSteps<F extends IntentStep> = { readonly session: 'uuid'; readonly steps: F };

/**
 * Takes steps of one kind in the lives of intents. A step is idempotent. It is repeated if the
 * reply was lost, and then waits for the first attempt if the server still executes it. A step that
 * arrives late cannot change a settled intent; at most it records the progress of an open one
 * again.
 * @returns a function that takes a step and returns the answer for its intent, if any.
 */
function stepsOf<F extends IntentStep, C extends Columns & typeof ANSWER>(
  session: LiveSession,
  verb: string,
  step: Statement<IntentSteps<F>, C>,
  keyOf: (item: Item<F>) => string = ({ witness }) => witness,
): (item: Item<F>) => Promise<RowOf<C> | undefined> {
  const { submit } = createPatientBatches<Item<F>, RowOf<C> | undefined>(session, {
    keyOf,
    run: async (items) => {
      const what = items.length === 1 ? `intent ${keyOf(items[0]!)}` : `${items.length} intents`;
      const doing = `${verb} ${what}`;
      const args = { session: session.sessionId, steps: items } as unknown as ArgsOf<
        IntentSteps<F>
      >;
      const rows = await repeatedOnce(() =>
        commitAlive(session, { doing, processor: PROCESSOR }, [step, args]),
      );
      const told = new Map<unknown, RowOf<C>>(rows.map((row) => [row.witness, row]));
      return items.map(({ witness }) => ({ ok: told.get(witness) }));
    },
  });
  return submit;
}

async function resume(session: LiveSession, witness: Witness): Promise<IntentRow> {
  const doing = `resume intent ${witness}`;
  const options = { doing, processor: PROCESSOR, isolation: 'READ COMMITTED' } as const;
  const run = () =>
    transactLive(session, options, async (q) => {
      // The session that resumed the intent first may be younger than an earlier snapshot.
      await q.rows(statements.awaitIntent, { witness });
      const args = { witness, session: session.sessionId };
      const [row] = await q.rows(statements.resumeIntent, args);
      if (!row) throw notOurs(witness);
      // The subquery of RETURNING still sees the session from before the update.
      return { ...row, sessionAlive: true };
    });
  return repeatedOnce(run);
}
