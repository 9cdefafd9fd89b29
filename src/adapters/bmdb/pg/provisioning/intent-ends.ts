import { NotFound, WorkConflict } from '../../../../domain/errors.ts';
import { machineId } from '../../../../domain/ids.ts';
import type { MachineId, Witness } from '../../../../domain/ids.ts';
import type { Provided } from '../../../../domain/machine.ts';
import { PENALTY_MAX_MS } from '../../../../domain/policy.ts';
import { forTraits, TRAIT_NAMES, TRAITS } from '../../../../domain/traits.ts';
import { isUniqueViolation } from '../errors.ts';
import { notOurs, takeStep } from './intent-steps.ts';
import { writeEvent } from '../live.ts';
import type { LiveSession } from '../live.ts';
import type { Queries } from '../pool.ts';
import { statement } from '../statement.ts';
import type { RowOf } from '../statement.ts';
import type { IntentBook } from '../../port.ts';

export const statements = {
  lockIntent: statement({
    name: 'intent-lock',
    params: { witness: 'uuid' },
    columns: {
      machine_id: 'uuid',
      session_id: 'uuid',
      state: 'intent_state',
      provider: 'text',
      slot_id: 'text',
    },
    text: ({ witness }) =>
      `SELECT machine_id, session_id, state, provider, slot_id
       FROM provision_intents WHERE witness = ${witness} FOR UPDATE`,
  }),
  insertMachine: statement({
    name: 'machine-insert',
    params: { machine: 'uuid' },
    columns: {},
    text: ({ machine }) => `INSERT INTO machines (machine_id) VALUES (${machine})`,
  }),
  insertProvided: statement({
    name: 'provided-insert',
    params: {
      machine: 'uuid',
      provider: 'text',
      providerId: 'text',
      reservationId: 'text?',
      address: 'text?',
      ...forTraits(() => 'text?' as const),
      status: 'provider_status?',
    },
    columns: {},
    text: ({ machine, provider, providerId, reservationId, address, status, ...traits }) => {
      const columns = TRAIT_NAMES.map((name) => TRAITS[name].column).join(', ');
      const texts = TRAIT_NAMES.map((name) => traits[name]).join(', ');
      return `INSERT INTO machine_provided (machine_id, provider, provider_id,
         provider_reservation_id, provider_ip_address, provider_status, ${columns})
       VALUES (${machine}, ${provider}, ${providerId}, ${reservationId},
         ${address}, ${status}, ${texts})`;
    },
  }),
  markAdopted: statement({
    name: 'intent-adopted',
    params: { witness: 'uuid' },
    columns: {},
    text: ({ witness }) =>
      `UPDATE provision_intents SET state = 'adopted', updated_at = now()
       WHERE witness = ${witness}`,
  }),
  forgivePenalty: statement({
    name: 'penalty-forgive',
    params: { provider: 'text', slot: 'text' },
    columns: {},
    text: ({ provider, slot }) =>
      `DELETE FROM provider_holds
       WHERE provider = ${provider} AND kind = 'penalty' AND key = ${slot}`,
  }),
  endIntent: statement({
    name: 'intent-end',
    params: { witness: 'uuid', abandoned: 'bool', cause: 'text' },
    columns: {},
    text: ({ witness, abandoned, cause }) =>
      `UPDATE provision_intents
       SET state = CASE WHEN ${abandoned} THEN 'abandoned' ELSE 'failed' END::intent_state,
         last_error = ${cause}, updated_at = now()
       WHERE witness = ${witness}`,
  }),
  /** Each penalty in a row lasts twice as long, at most a day; a later end is never shortened. */
  penalise: statement({
    name: 'penalty-impose',
    params: {
      provider: 'text',
      slot: 'text',
      penaltyMs: 'float8',
      mostMs: 'float8',
      cause: 'text',
    },
    columns: {},
    text: ({ provider, slot, penaltyMs, mostMs, cause }) =>
      `INSERT INTO provider_holds AS h (provider, kind, key, until, level, cause)
       VALUES (${provider}, 'penalty', ${slot},
         now() + ${penaltyMs} * interval '1 millisecond', 1, ${cause})
       ON CONFLICT (provider, kind, key) DO UPDATE SET level = h.level + 1, cause = excluded.cause,
         until = greatest(h.until, now() + greatest(${penaltyMs},
           least(${mostMs}, ${penaltyMs} * 2 ^ least(h.level, 30))) * interval '1 millisecond')`,
  }),
};

/** See `IntentBook.adopt`. */
export async function adopt(
  session: LiveSession,
  witness: Witness,
  provided: Provided,
): Promise<MachineId> {
  const device = `${provided.provider}/${provided.providerId}`;
  try {
    return await takeStep(session, `adopt device ${device}`, async (q) => {
      const intent = await lockIntent(q, witness);
      const id = machineId(intent.machine_id);
      if (intent.state === 'adopted') return id;
      requireMine(session, witness, intent);
      await insertMachine(q, id, provided);
      await q.run(statements.markAdopted, { witness });
      // The slot has proved itself: its next penalty starts small again.
      const { provider } = provided;
      await q.run(statements.forgivePenalty, { provider, slot: intent.slot_id });
      const reason = `device ${provided.providerId}, intent ${witness}`;
      await writeEvent(q, session, { machineId: id, kind: 'adopted', reason });
      return id;
    });
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw new WorkConflict(`device ${device} belongs to another machine`, { cause: error });
  }
}

/** See `IntentBook.end`. */
export async function end(
  session: LiveSession,
  witness: Witness,
  how: Parameters<IntentBook['end']>[1],
): Promise<void> {
  const { state, cause, penaltyMs } = how;
  await takeStep(session, `end intent ${witness}`, async (q) => {
    const intent = await lockIntent(q, witness);
    if (intent.state === state) return;
    requireMine(session, witness, intent);
    await q.run(statements.endIntent, { witness, abandoned: state === 'abandoned', cause });
    if (penaltyMs === undefined) return;
    const { provider, slot_id: slot } = intent;
    await q.run(statements.penalise, { provider, slot, penaltyMs, mostMs: PENALTY_MAX_MS, cause });
  });
}

type LockedIntent = RowOf<(typeof statements.lockIntent)['columns']>;

async function lockIntent(q: Queries, witness: Witness): Promise<LockedIntent> {
  const [row] = await q.rows(statements.lockIntent, { witness });
  if (!row) throw new NotFound(`there is no intent ${witness}`);
  return row;
}

function requireMine(
  { sessionId }: LiveSession,
  witness: Witness,
  { state, session_id: owner }: LockedIntent,
): void {
  const isUnsettled = state === 'open' || state === 'unresolved';
  if (!isUnsettled || owner !== sessionId) throw notOurs(witness);
}

async function insertMachine(q: Queries, machine: MachineId, provided: Provided): Promise<void> {
  await q.run(statements.insertMachine, { machine });
  await q.run(statements.insertProvided, { machine, ...provided });
}
