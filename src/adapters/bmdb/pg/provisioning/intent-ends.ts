import type { Outcome } from '../../../../lib/batcher.ts';
import { NotFound, WorkConflict } from '../../../../domain/errors.ts';
import { machineId } from '../../../../domain/ids.ts';
import type { MachineId, Witness } from '../../../../domain/ids.ts';
import type { Provided } from '../../../../domain/machine.ts';
import { PENALTY_MAX_MS } from '../../../../domain/policy.ts';
import { forTraits, TRAIT_NAMES, TRAITS } from '../../../../domain/traits.ts';
import { SLOT_ID } from '../eligibility.ts';
import { isUniqueViolation } from '../errors.ts';
import { liveSession } from '../live.ts';
import type { LiveSession } from '../live.ts';
import { ms } from '../sql.ts';
import { statement } from '../statement.ts';
import type { RowOf } from '../statement.ts';
import type { IntentBook } from '../../port.ts';
import { answerOf, doingTo, lockedIntents, notOurs, takeSteps } from './intent-steps.ts';

const traitColumns = TRAIT_NAMES.map((name) => TRAITS[name].column).join(', ');

export const statements = {
  /** The slot has proved itself: its next penalty starts small again. */
  adopt: statement({
    name: 'intents-adopt',
    params: {
      session: 'uuid',
      witnesses: 'uuid[]',
      providers: 'text[]',
      providerIds: 'text[]',
      reservationIds: 'text?[]',
      addresses: 'text?[]',
      statuses: 'provider_status?[]',
      ...forTraits(() => 'text?[]' as const),
    },
    columns: {
      alive: 'bool',
      witness: 'uuid?',
      machine_id: 'uuid?',
      state: 'intent_state?',
      ours: 'bool?',
    },
    text: ({ session, witnesses, providers, providerIds, ...told }) => {
      const { reservationIds, addresses, statuses, ...traits } = told;
      const texts = TRAIT_NAMES.map((name) => traits[name]).join(', ');
      return `
      WITH me AS MATERIALIZED (${liveSession(session)}),
      locked AS MATERIALIZED (${lockedIntents(`
        unnest(${witnesses}, ${providers}, ${providerIds}, ${reservationIds}, ${addresses},
            ${statuses}, ${texts})
          AS step (witness, told_by, provider_id, reservation_id, address, status,
            ${traitColumns})`)}),
      provided AS (
        INSERT INTO machine_provided AS p (machine_id, provider, provider_id,
          provider_reservation_id, provider_ip_address, provider_status, ${traitColumns})
        SELECT machine_id, told_by, provider_id, reservation_id, address, status, ${traitColumns}
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
      ${answerOf('SELECT witness, machine_id, state, ours FROM locked')}`;
    },
  }),
  /** Each penalty in a row lasts twice as long, at most a day; a later end is never shortened. */
  end: statement({
    name: 'intents-end',
    params: {
      session: 'uuid',
      witnesses: 'uuid[]',
      states: 'text[]',
      causes: 'text[]',
      penaltiesMs: 'float8?[]',
    },
    columns: { alive: 'bool', witness: 'uuid?', state: 'intent_state?', ours: 'bool?' },
    text: ({ session, witnesses, states, causes, penaltiesMs }) => `
      WITH me AS MATERIALIZED (${liveSession(session)}),
      locked AS MATERIALIZED (${lockedIntents(`
        unnest(${witnesses}, ${states}, ${causes}, ${penaltiesMs})
          AS step (witness, ended, cause, penalty_ms)`)}),
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
};

/** The device that an intent led to. */
export interface Adoption {
  readonly witness: Witness;
  readonly provided: Provided;
}

/** See `IntentBook.adopt`. */
export async function adopt(
  session: LiveSession,
  adoptions: readonly Adoption[],
): Promise<Outcome<MachineId>[]> {
  const doing = doingTo('adopt the devices of', adoptions, `intent ${adoptions[0]!.witness}`);
  const provided = adoptions.map((each) => each.provided);
  const args = {
    session: session.sessionId,
    witnesses: adoptions.map(({ witness }) => witness),
    providers: provided.map(({ provider }) => provider),
    providerIds: provided.map(({ providerId }) => providerId),
    reservationIds: provided.map(({ reservationId }) => reservationId),
    addresses: provided.map(({ address }) => address),
    statuses: provided.map(({ status }) => status),
    ...forTraits((name) => provided.map((each) => each[name])),
  };
  try {
    const told = await takeSteps(session, doing, [statements.adopt, args]);
    return adoptions.map(({ witness }) => adopted(witness, told.get(witness)));
  } catch (error) {
    if (adoptions.length > 1 || !isUniqueViolation(error)) throw error;
    const [{ provider, providerId }] = provided as [Provided];
    const device = `device ${provider}/${providerId}`;
    return [{ error: new WorkConflict(`${device} belongs to another machine`, { cause: error }) }];
  }
}

function adopted(
  witness: Witness,
  row: RowOf<(typeof statements.adopt)['columns']> | undefined,
): Outcome<MachineId> {
  if (!row) return { error: noIntent(witness) };
  const isAdopted = row.ours || row.state === 'adopted';
  return isAdopted ? { ok: machineId(row.machine_id!) } : { error: notOurs(witness) };
}

/** How an intent ends that led to nothing. */
export interface IntentEnd {
  readonly witness: Witness;
  readonly how: Parameters<IntentBook['end']>[1];
}

/** See `IntentBook.end`. */
export async function end(
  session: LiveSession,
  ends: readonly IntentEnd[],
): Promise<Outcome<void>[]> {
  const doing = doingTo('end', ends, `intent ${ends[0]!.witness}`);
  const args = {
    session: session.sessionId,
    witnesses: ends.map(({ witness }) => witness),
    states: ends.map(({ how }) => how.state),
    causes: ends.map(({ how }) => how.cause),
    penaltiesMs: ends.map(({ how }) => how.penaltyMs ?? null),
  };
  const told = await takeSteps(session, doing, [statements.end, args]);
  return ends.map(({ witness, how }) => {
    const row = told.get(witness);
    if (!row) return { error: noIntent(witness) };
    return row.ours || row.state === how.state ? { ok: undefined } : { error: notOurs(witness) };
  });
}

const noIntent = (witness: Witness) => new NotFound(`there is no intent ${witness}`);
