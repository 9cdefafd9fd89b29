import { NoPermit, NothingToDo } from '../../../domain/errors.ts';
import { exclusionGroup, isLadder } from '../../../domain/eligibility.ts';
import type { Process, Rung } from '../../../domain/machine.ts';
import { PROCESSES } from '../../../domain/machine.ts';
import type { LossPolicy } from '../../../domain/policy.ts';
import { processorOf } from '../../../domain/processor.ts';
import { noteDeprovisionAsked } from './deprovision.ts';
import { askRefusalSql, FROM } from './eligibility.ts';
import { workLost } from './held.ts';
import type { Held } from './held.ts';
import { transactLive, writeEvent } from './live.ts';
import { refuseFrozen } from './permits.ts';
import type { Queries } from './pool.ts';
import { statement } from './statement.ts';
import type { WorkNote } from '../port.ts';

export const statements = {
  lockLease: statement({
    name: 'note-lock-lease',
    params: { machine: 'uuid', group: 'text', epoch: 'int8', session: 'uuid' },
    columns: { epoch: 'int8' },
    text: ({ machine, group, epoch, session }) =>
      `SELECT epoch FROM work WHERE machine_id = ${machine} AND exclusion_group = ${group}
         AND epoch = ${epoch} AND session_id = ${session} FOR UPDATE`,
  }),
  attempt: statement({
    name: 'note-attempt',
    params: { machine: 'uuid' },
    columns: {},
    text: ({ machine }) =>
      `INSERT INTO machine_agent_start_attempt (machine_id, attempted_at, count)
       VALUES (${machine}, now(), 0)
       ON CONFLICT (machine_id) DO UPDATE SET attempted_at = excluded.attempted_at`,
  }),
  asked: statement({
    name: 'note-asked',
    params: { machine: 'uuid', rung: 'recovery_rung' },
    columns: {},
    text: ({ machine, rung }) =>
      `INSERT INTO machine_recovery AS l (machine_id, rung, attempts, asked_at)
       VALUES (${machine}, ${rung}, 1, now())
       ON CONFLICT (machine_id) DO UPDATE SET
         attempts = CASE WHEN l.rung = excluded.rung THEN l.attempts + 1 ELSE 1 END,
         rung = excluded.rung, asked_at = excluded.asked_at, operation_ref = NULL`,
  }),
  refused: statement({
    name: 'note-refused',
    params: { machine: 'uuid', takenBack: 'int8' },
    columns: {},
    text: ({ machine, takenBack }) =>
      `UPDATE machine_recovery SET asked_at = NULL, operation_ref = NULL,
         attempts = greatest(0, attempts - ${takenBack})
       WHERE machine_id = ${machine}`,
  }),
  unclear: statement({
    name: 'note-unclear',
    params: { machine: 'uuid' },
    columns: {},
    text: ({ machine }) =>
      `UPDATE machine_recovery SET attempts = greatest(0, attempts - 1)
       WHERE machine_id = ${machine}`,
  }),
  accepted: statement({
    name: 'note-accepted',
    params: { machine: 'uuid', operation: 'text' },
    columns: {},
    text: ({ machine, operation }) =>
      `UPDATE machine_recovery SET operation_ref = ${operation} WHERE machine_id = ${machine}`,
  }),
};

const mayAsk = (process: Process, loss: LossPolicy) =>
  statement({
    name: `may-ask-${process}`,
    params: { machine: 'uuid' },
    columns: { refusal: 'text?', permitted: 'bool' },
    text: ({ machine }) =>
      `WITH permit AS MATERIALIZED (
         SELECT 1 FROM recovery_permits WHERE machine_id = ${machine} FOR KEY SHARE
       )
       SELECT ${askRefusalSql(process, loss)} AS refusal,
         ${isLadder(process) ? 'EXISTS (SELECT 1 FROM permit)' : 'true'} AS permitted
       ${FROM} WHERE m.machine_id = ${machine}`,
  });
export type NoteStatements = ReturnType<typeof statementsFor>;

/** Whether a request may still be made, by the process that is about to. */
export const statementsFor = (loss: LossPolicy): Record<Process, ReturnType<typeof mayAsk>> =>
  Object.fromEntries(PROCESSES.map((process) => [process, mayAsk(process, loss)])) as Record<
    Process,
    ReturnType<typeof mayAsk>
  >;

/** See `Work.note`. */
export async function writeNote(
  held: Held,
  note: WorkNote,
  conditions: NoteStatements,
): Promise<void> {
  const { session, process, machineId } = held;
  const doing = `note ${note.kind} of ${machineId}`;
  const processor = processorOf(process);
  await transactLive(session, { doing, processor, isolation: 'READ COMMITTED' }, async (q) => {
    await lockLease(q, held);
    await write(q, held, note, conditions);
  });
}

/** Until the transaction has ended, nobody else can take the machine. @throws {WorkLost} */
async function lockLease(q: Queries, held: Held): Promise<void> {
  const { machineId, process, epoch, session } = held;
  const found = await q.rows(statements.lockLease, {
    ...{ machine: machineId, group: exclusionGroup(process), epoch, session: session.sessionId },
  });
  if (found.length === 0) throw workLost(held);
}

async function write(
  q: Queries,
  held: Held,
  note: WorkNote,
  conditions: NoteStatements,
): Promise<void> {
  const { machineId: machine } = held;
  switch (note.kind) {
    case 'agentStartAttempt':
      await q.run(statements.attempt, { machine });
      return;
    case 'recoveryAsked':
      await noteAsked(q, held, note.rung, conditions);
      return;
    case 'recoveryRefused':
      await q.run(statements.refused, { machine, takenBack: note.counts ? 0 : 1 });
      return;
    case 'recoveryUnclear':
      await q.run(statements.unclear, { machine });
      return;
    case 'recoveryAccepted':
      await q.run(statements.accepted, { machine, operation: note.operationRef });
      return;
    case 'deprovisionAsked':
      await noteDeprovisionAsked(q, held);
  }
}

/**
 * @throws {NothingToDo} the machine came back or was put under a hold meanwhile.
 * @throws {NoPermit} the permit was taken back, or recovery is frozen.
 */
async function noteAsked(
  q: Queries,
  held: Held,
  rung: Rung,
  conditions: NoteStatements,
): Promise<void> {
  const { machineId, process, row, session } = held;
  const [found] = await q.rows(conditions[process], { machine: machineId });
  const refusal = found?.refusal ?? null;
  if (refusal) throw new NothingToDo(`${rung} of ${machineId} was not asked for: ${refusal}`);
  await refuseFrozen(q, row.provided?.provider ?? null);
  if (!found?.permitted) {
    throw new NoPermit(`${rung} of ${machineId} was not asked for: its permit was taken back`);
  }
  await q.run(statements.asked, { machine: machineId, rung });
  await writeEvent(q, session, { machineId, kind: 'recoveryAsked', reason: rung });
}
