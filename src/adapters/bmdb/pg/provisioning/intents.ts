import { machineId, witness as asWitness } from '../../../../domain/ids.ts';
import type { MachineId, Witness } from '../../../../domain/ids.ts';
import type { IntentRow } from '../../../../domain/machine.ts';
import { createPatientBatches } from '../batches.ts';
import { note, open, slotOf } from './intent-begins.ts';
import type { Note, Opening } from './intent-begins.ts';
import { adopt, end } from './intent-ends.ts';
import type { Adoption, IntentEnd } from './intent-ends.ts';
import { notOurs, PROCESSOR } from './intent-steps.ts';
import { transactLive } from '../live.ts';
import type { LiveSession } from '../live.ts';
import { repeatedOnce } from '../repeat.ts';
import { LIVE } from '../sql.ts';
import { statement } from '../statement.ts';
import { INTENT, INTENT_COLUMNS, toIntent } from '../reading/surroundings.ts';
import type { IntentBook } from '../../port.ts';

export const statements = {
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
};

/**
 * See `IntentBook`. Only the session named in an intent may change it. The steps of many intents
 * share statements: those of one kind that are asked for meanwhile go together.
 */
export function createIntentBook(session: LiveSession): IntentBook {
  const keyOf = (step: { readonly witness: Witness }) => step.witness;
  const openings = createPatientBatches<Opening, IntentRow>(session, {
    keyOf: slotOf,
    run: (batch) => open(session, batch),
  });
  const notes = createPatientBatches<Note, void>(session, {
    keyOf,
    run: (batch) => note(session, batch),
  });
  const adoptions = createPatientBatches<Adoption, MachineId>(session, {
    keyOf,
    run: (batch) => adopt(session, batch),
  });
  const ends = createPatientBatches<IntentEnd, void>(session, {
    keyOf,
    run: (batch) => end(session, batch),
  });
  const { random } = session;
  const names = () => ({ witness: asWitness(random.uuid()), machineId: machineId(random.uuid()) });
  return {
    open: (input) => openings.submit({ ...input, ...names() }),
    resume: (witness) => resume(session, witness),
    progress: (witness, change) => notes.submit({ witness, change }),
    adopt: (witness, provided) => adoptions.submit({ witness, provided }),
    end: (witness, how) => ends.submit({ witness, how }),
  };
}

/** By itself, since it is rare: only what a dead session left is taken up. */
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
