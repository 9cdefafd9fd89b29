import { NoPermit, NothingToDo } from '../../../../domain/errors.ts';
import { exclusionGroup } from '../../../../domain/eligibility.ts';
import { processorOf } from '../../../../domain/processor.ts';
import { FROM, giveBackRefusalSql } from '../eligibility.ts';
import { workLost } from '../claims/held-claim.ts';
import type { HeldClaim } from '../claims/held-claim.ts';
import { transactLive, writeEvent } from '../live.ts';
import type { NoteStatements } from '../claims/may-ask.ts';
import { refuseGuarded } from '../guard/guard-book.ts';
import { orderedText } from '../../preconditions.ts';
import type { Queries } from '../pool.ts';
import { statement } from '../statement.ts';
import type { WorkNote } from '../../port.ts';

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
    params: { machine: 'uuid', rung: 'recovery_rung', boot: 'text?', order: 'text?' },
    columns: {},
    text: ({ machine, rung, boot, order }) =>
      // The permit is used from now on, even where the clock has gone back since it was granted.
      `WITH permit AS (
         UPDATE recovery_permits SET granted_at = now()
         WHERE machine_id = ${machine} AND granted_at > now()
       )
       INSERT INTO machine_recovery AS l (machine_id, rung, attempts, asked_at, asked_rung,
         order_key, boot_id_before, host_key_before, power_off_asked_at)
       VALUES (${machine},
         CASE WHEN ${order} IS NULL THEN ${rung} ELSE 'restartingAgent' END,
         CASE WHEN ${order} IS NULL THEN 1 ELSE 0 END, now(), ${rung}, ${order}, ${boot},
         (SELECT k.key FROM machine_ssh_host_key k WHERE k.machine_id = ${machine}),
         CASE WHEN ${rung} = 'powerCycling' THEN now() END)
       ON CONFLICT (machine_id) DO UPDATE SET
         attempts = CASE WHEN excluded.order_key IS NOT NULL THEN l.attempts
           WHEN l.rung = excluded.rung THEN l.attempts + 1 ELSE 1 END,
         rung = CASE WHEN excluded.order_key IS NULL THEN excluded.rung ELSE l.rung END,
         asked_at = excluded.asked_at, asked_rung = excluded.asked_rung,
         order_key = excluded.order_key, boot_id_before = excluded.boot_id_before,
         host_key_before = coalesce(excluded.host_key_before, l.host_key_before),
         operation_ref = NULL, off_seen_at = NULL,
         power_off_asked_at = coalesce(l.power_off_asked_at, excluded.power_off_asked_at)`,
  }),
  unpin: statement({
    name: 'note-unpin',
    params: { machine: 'uuid' },
    columns: {},
    text: ({ machine }) => `DELETE FROM machine_ssh_host_key WHERE machine_id = ${machine}`,
  }),
  pin: statement({
    name: 'note-pin',
    params: { machine: 'uuid', key: 'text' },
    columns: {},
    text: ({ machine, key }) =>
      `INSERT INTO machine_ssh_host_key (machine_id, key) VALUES (${machine}, ${key})
       ON CONFLICT (machine_id) DO UPDATE SET key = excluded.key
         WHERE machine_ssh_host_key.key <> excluded.key`,
  }),
  /**
   * A reinstallation that was refused for certain changed no key, so the old one is pinned again;
   * unless an earlier one was asked for, of which that cannot be said.
   */
  repin: statement({
    name: 'note-repin',
    params: { machine: 'uuid' },
    columns: {},
    text: ({ machine }) =>
      `INSERT INTO machine_ssh_host_key (machine_id, key)
       SELECT l.machine_id, l.host_key_before FROM machine_recovery l
       WHERE l.machine_id = ${machine} AND l.asked_rung = 'reinstalling'
         AND l.host_key_before IS NOT NULL AND NOT (l.rung = 'reinstalling'
           AND l.attempts > CASE WHEN l.order_key IS NULL THEN 1 ELSE 0 END)
       ON CONFLICT (machine_id) DO NOTHING`,
  }),
  refused: statement({
    name: 'note-refused',
    params: { machine: 'uuid', takenBack: 'int8' },
    columns: {},
    text: ({ machine, takenBack }) =>
      `UPDATE machine_recovery SET asked_at = NULL, asked_rung = NULL, operation_ref = NULL,
         order_key = NULL, boot_id_before = NULL, off_seen_at = NULL,
         attempts = CASE WHEN order_key IS NULL THEN greatest(0, attempts - ${takenBack})
           ELSE attempts END
       WHERE machine_id = ${machine}`,
  }),
  accepted: statement({
    name: 'note-accepted',
    params: { machine: 'uuid', operation: 'text' },
    columns: {},
    text: ({ machine, operation }) =>
      `UPDATE machine_recovery SET operation_ref = ${operation} WHERE machine_id = ${machine}`,
  }),
  seenOff: statement({
    name: 'note-seen-off',
    params: { machine: 'uuid' },
    columns: {},
    text: ({ machine }) =>
      `UPDATE machine_recovery SET off_seen_at = coalesce(off_seen_at, now())
       WHERE machine_id = ${machine} AND asked_rung = 'powerCycling'`,
  }),
  poweredOn: statement({
    name: 'note-powered-on',
    params: { machine: 'uuid' },
    columns: {},
    text: ({ machine }) =>
      `UPDATE machine_recovery SET power_off_asked_at = NULL
       WHERE machine_id = ${machine} AND power_off_asked_at IS NOT NULL`,
  }),
  /** It stays open until the transaction has ended. */
  lockOrder: statement({
    name: 'note-lock-order',
    params: { order: 'text', machine: 'uuid' },
    columns: { key: 'text' },
    text: ({ order, machine }) =>
      `SELECT idempotency_key AS key FROM operator_intents
       WHERE idempotency_key = ${order} AND machine_id = ${machine} AND state = 'open'
         AND expires_at > now() FOR SHARE`,
  }),
  deprovisionAsked: statement({
    name: 'note-deprovision-asked',
    params: { machine: 'uuid' },
    columns: { attempts: 'int8' },
    text: ({ machine }) =>
      `UPDATE machine_deprovision_request SET attempts = attempts + 1, asked_at = now()
       WHERE machine_id = ${machine} RETURNING attempts`,
  }),
  mayGiveBack: statement({
    name: 'deprovision-may-ask',
    params: { machine: 'uuid' },
    columns: { refusal: 'text?' },
    text: ({ machine }) =>
      `SELECT ${giveBackRefusalSql()} AS refusal ${FROM} WHERE m.machine_id = ${machine}`,
  }),
};

/** See `Work.note`. */
export async function writeNote(
  held: HeldClaim,
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
async function lockLease(q: Queries, held: HeldClaim): Promise<void> {
  const { machineId, process, epoch, session } = held;
  const found = await q.rows(statements.lockLease, {
    machine: machineId,
    group: exclusionGroup(process),
    epoch,
    session: session.sessionId,
  });
  if (found.length === 0) throw workLost(held);
}

async function write(
  q: Queries,
  held: HeldClaim,
  note: WorkNote,
  conditions: NoteStatements,
): Promise<void> {
  const { machineId: machine } = held;
  switch (note.kind) {
    case 'agentStartAttempt':
      await q.run(statements.attempt, { machine });
      return;
    case 'hostKeyProved':
      await q.run(statements.pin, { machine, key: note.hostKey });
      return;
    case 'recoveryAsked':
      await noteAsked(q, held, note, conditions);
      return;
    case 'recoveryRefused':
      await q.run(statements.repin, { machine });
      await q.run(statements.refused, { machine, takenBack: note.counts ? 0 : 1 });
      return;
    case 'recoveryAccepted':
      await q.run(statements.accepted, { machine, operation: note.operationRef });
      return;
    case 'powerSeenOff':
      await q.run(statements.seenOff, { machine });
      return;
    case 'powerOnAccepted':
      await q.run(statements.poweredOn, { machine });
      return;
    case 'deprovisionAsked':
      await noteDeprovisionAsked(q, held);
  }
}

type Asked = Extract<WorkNote, { kind: 'recoveryAsked' }>;

/**
 * @throws {NothingToDo} the machine came back or was put under a hold meanwhile, or nobody orders it
 *   any more.
 * @throws {NoPermit} the permit was taken back, recovery is frozen, or silence means nothing now.
 */
async function noteAsked(
  q: Queries,
  held: HeldClaim,
  asked: Asked,
  conditions: NoteStatements,
): Promise<void> {
  const { machineId: machine, process, row, session } = held;
  const { rung, bootId } = asked;
  const order = asked.order ?? null;
  const notAsked = `${rung} of ${machine} was not asked for`;
  if (order !== null && (await q.rows(statements.lockOrder, { order, machine })).length === 0) {
    throw new NothingToDo(`${notAsked}: the order is no longer open`);
  }
  const [found] = await q.rows(conditions[process], { machine });
  const refusal = found?.refusal ?? null;
  if (refusal) throw new NothingToDo(`${notAsked}: ${refusal}`);
  await refuseGuarded(q, session, { provider: row.provided?.provider ?? null, order });
  if (!found?.permitted) throw new NoPermit(`${notAsked}: its permit was taken back`);
  await q.run(statements.asked, { machine, rung, boot: bootId, order });
  if (rung === 'reinstalling') await q.run(statements.unpin, { machine });
  const reason = orderedText(rung, row, order);
  await writeEvent(q, session, { machineId: machine, kind: 'recoveryAsked', reason });
}

/**
 * What forbids it is looked for once the request is locked.
 * @throws {NothingToDo} the request was taken back, or a hold preserves the machine now.
 */
async function noteDeprovisionAsked(q: Queries, held: HeldClaim): Promise<void> {
  const { machineId: machine, session } = held;
  const [asked] = await q.rows(statements.deprovisionAsked, { machine });
  const [found] = await q.rows(statements.mayGiveBack, { machine });
  if (!asked || found?.refusal) {
    const why = found?.refusal ?? 'nobody asked to deprovision it';
    throw new NothingToDo(`machine ${machine} was not given back: ${why}`);
  }
  const reason = `attempt ${asked.attempts}`;
  await writeEvent(q, session, { machineId: machine, kind: 'deprovisionAsked', reason });
}
