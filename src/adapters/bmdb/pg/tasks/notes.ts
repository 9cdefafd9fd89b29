import { NothingToDo } from '../../../../domain/errors.ts';
import { processorOf } from '../../../../domain/processor.ts';
import { interrupts } from '../../../../domain/recovery/rungs.ts';
import type { Outcome } from '../../../../lib/batcher.ts';
import { createPatientBatches, patiently } from '../batches.ts';
import { describeMachines, statementsFor, workLost } from '../claims/held-claim.ts';
import type { HeldClaim } from '../claims/held-claim.ts';
import { refuseGuarded } from '../guard/guard-repository.ts';
import { lockGuard } from '../guard/guard-rows.ts';
import { requireInTime, transactFenced, writeEvent } from '../live.ts';
import type { LiveSession } from '../live.ts';
import type { Queries } from '../pool.ts';
import { noteReset } from '../recovery/controller-resets.ts';
import { COUNT_EPISODES } from '../recovery/episodes.ts';
import { grantPermit } from '../recovery/permits.ts';
import { named, statement } from '../statement.ts';
import type { WorkNote } from '../../port.ts';
import { orderedText } from '../../preconditions.ts';
import {
  HELD_ANSWER,
  HELD_COLUMNS,
  heldArgs,
  heldEpochs,
  heldParams,
  heldSql,
  writeHeld,
} from './held-works.ts';

/**
 * A note that is one statement.
 * @param writes CTEs over `held h`, whose `value` is the content of the note besides its kind.
 */
const note = <const Name extends string>(name: Name, writes: string) =>
  statement({
    name: `note-${name}`,
    params: heldParams({ value: 'text?' }),
    columns: HELD_COLUMNS,
    text: (of) => `WITH ${heldSql(of)}, ${writes} ${HELD_ANSWER}`,
  });

const simple = {
  agentStartAttempt: note(
    'attempt',
    `attempted AS (
      INSERT INTO machine_agent_start_attempt (machine_id, attempted_at, count)
      SELECT h.machine_id, now(), 0 FROM held h ORDER BY 1
      ON CONFLICT (machine_id) DO UPDATE SET attempted_at = excluded.attempted_at
    ), pinned AS (
      INSERT INTO machine_ssh_host_key (machine_id, key)
      SELECT h.machine_id, h.value FROM held h WHERE h.value IS NOT NULL ORDER BY 1
      ON CONFLICT (machine_id) DO UPDATE SET key = excluded.key
        WHERE machine_ssh_host_key.key <> excluded.key
    )`,
  ),
  /**
   * A refused reinstallation changed no host key, so the old key is pinned again; unless an earlier
   * reinstallation was requested, whose result is uncertain.
   */
  recoveryRefused: note(
    'refused',
    `pinned AS (
      INSERT INTO machine_ssh_host_key (machine_id, key)
      SELECT l.machine_id, l.host_key_before
      FROM held h JOIN machine_recovery l ON l.machine_id = h.machine_id
      WHERE l.asked_rung = 'reinstalling'
        AND l.host_key_before IS NOT NULL AND NOT (l.rung = 'reinstalling'
          AND l.attempts > CASE WHEN l.order_key IS NULL THEN 1 ELSE 0 END)
      ORDER BY 1 ON CONFLICT (machine_id) DO NOTHING
    ), refused AS (
      UPDATE machine_recovery l SET asked_at = NULL, asked_rung = NULL, operation_ref = NULL,
        order_key = NULL, boot_id_before = NULL, off_seen_at = NULL,
        attempts = CASE WHEN l.order_key IS NULL THEN greatest(0, l.attempts - h.value::int8)
          ELSE l.attempts END
      FROM held h WHERE l.machine_id = h.machine_id
    ), uncounted AS (
      UPDATE recovery_episodes z SET attempts = greatest(0, z.attempts - h.value::int8)
      FROM held h JOIN machine_recovery l ON l.machine_id = h.machine_id
      WHERE z.machine_id = h.machine_id AND z.ended_at IS NULL AND l.order_key IS NULL
    )`,
  ),
  /** Takes back nothing that belongs to another machine's request. */
  controllerResetRefused: note(
    'reset-refused',
    `refused AS (
      DELETE FROM controller_resets r USING held h
      WHERE r.controller = h.value AND r.machine_id = h.machine_id
    )`,
  ),
  recoveryAccepted: note(
    'accepted',
    `accepted AS (
      UPDATE machine_recovery l SET operation_ref = h.value
      FROM held h WHERE l.machine_id = h.machine_id
    )`,
  ),
  powerSeenOff: note(
    'seen-off',
    `seen AS (
      UPDATE machine_recovery l SET off_seen_at = coalesce(l.off_seen_at, now())
      FROM held h WHERE l.machine_id = h.machine_id AND l.asked_rung = 'powerCycling'
    )`,
  ),
  /** The next attempt requests a new permit. */
  permitReturned: note(
    'permit-returned',
    `returned AS (
      DELETE FROM recovery_permits e USING held h WHERE e.machine_id = h.machine_id
    )`,
  ),
  powerOnAccepted: note(
    'powered-on',
    `powered AS (
      UPDATE machine_recovery l SET power_off_asked_at = NULL
      FROM held h WHERE l.machine_id = h.machine_id AND l.power_off_asked_at IS NOT NULL
    )`,
  ),
};

export const statements = named('note', {
  ...simple,
  lockLease: statement({
    params: heldParams(),
    columns: HELD_COLUMNS,
    text: (work) => `WITH ${heldSql(work)} ${HELD_ANSWER}`,
  }),
  asked: statement({
    params: { machine: 'uuid', rung: 'recovery_rung', boot: 'text?', order: 'text?' },
    text: ({ machine, rung, boot, order }) =>
      // The permit is in use from now on, even if the clock has gone back since the grant.
      `WITH permit AS (
         UPDATE recovery_permits SET granted_at = now()
         WHERE machine_id = ${machine} AND granted_at > now()
       ), ladders AS (
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
         power_off_asked_at = coalesce(l.power_off_asked_at, excluded.power_off_asked_at)
       RETURNING l.machine_id, l.rung,
         CASE WHEN ${order} IS NULL THEN l.attempts ELSE 0 END AS attempts
       ) ${COUNT_EPISODES}`,
  }),
  unpin: statement({
    params: { machine: 'uuid' },
    text: ({ machine }) => `DELETE FROM machine_ssh_host_key WHERE machine_id = ${machine}`,
  }),
  /** The order stays open until the transaction ends. */
  lockOrder: statement({
    params: { order: 'text', machine: 'uuid' },
    columns: { key: 'text' },
    text: ({ order, machine }) =>
      `SELECT idempotency_key AS key FROM operator_intents
       WHERE idempotency_key = ${order} AND machine_id = ${machine} AND state = 'open'
         AND expires_at > now() FOR SHARE`,
  }),
  deprovisionAsked: statement({
    params: { machine: 'uuid' },
    columns: { attempts: 'int8' },
    text: ({ machine }) =>
      `UPDATE machine_deprovision_request SET attempts = attempts + 1, asked_at = now()
       WHERE machine_id = ${machine} RETURNING attempts`,
  }),
});

type Simple = Extract<WorkNote, { readonly kind: keyof typeof simple }>;
type Asking = Exclude<WorkNote, Simple>;

interface Noted {
  readonly held: HeldClaim;
  readonly note: Simple;
}

/**
 * See `Work.note`. Notes of requests first check conditions under locks. Of the others, only those
 * that every agent start writes share statements.
 */
export function createNotes(
  session: LiveSession,
): (held: HeldClaim, note: WorkNote) => Promise<void> {
  const attempts = createPatientBatches<Noted, void>(session, {
    keyOf: ({ held }) => held.machineId,
    run: (noted) => writeTogether(session, noted),
  });
  return async (held, note) => {
    if (!isSimple(note)) return writeAsking(held, note);
    if (note.kind === 'agentStartAttempt') return attempts.submit({ held, note });
    const [outcome] = await patiently(session, () => writeTogether(session, [{ held, note }]));
    if ('error' in outcome!) throw outcome.error;
  };
}

const isSimple = (note: WorkNote): note is Simple => note.kind in simple;

/** Writes notes of one kind. */
async function writeTogether(
  session: LiveSession,
  noted: readonly Noted[],
): Promise<Outcome<void>[]> {
  const { kind } = noted[0]!.note;
  const works = noted.map(({ held }) => held);
  const args = heldArgs(
    session,
    noted.map(({ held, note }) => [held, { value: valueOf(note) }] as const),
  );
  const doing = `note ${kind} of ${describeMachines(works.map(({ machineId }) => machineId))}`;
  const what = { doing, processor: processorOf(works[0]!.process) };
  const epochs = await writeHeld(session, what, [simple[kind], args]);
  requireInTime(session, doing);
  return works.map((held) =>
    epochs.has(held.epoch) ? { ok: undefined } : { error: workLost(held) },
  );
}

/** Content of the note besides its kind. */
function valueOf(note: Simple): string | null {
  switch (note.kind) {
    case 'agentStartAttempt':
      return note.hostKey ?? null;
    case 'recoveryRefused':
      return note.counts ? '0' : '1';
    case 'controllerResetRefused':
      return note.controller;
    case 'recoveryAccepted':
      return note.operationRef;
    case 'powerSeenOff':
    case 'powerOnAccepted':
    case 'permitReturned':
      return null;
  }
}

async function writeAsking(held: HeldClaim, note: Asking): Promise<void> {
  const { session, process, machineId } = held;
  const doing = `note ${note.kind} of ${machineId}`;
  const options = { doing, processor: processorOf(process), isolation: 'READ COMMITTED' } as const;
  await transactFenced(session, options, async (q) => {
    await lockLease(q, held, doing);
    switch (note.kind) {
      case 'recoveryAsked':
        return noteAsked(q, held, note);
      case 'controllerResetAsked':
        return noteControllerReset(q, held, note.controller);
      case 'deprovisionAsked':
        return noteDeprovisionAsked(q, held);
    }
  });
  requireInTime(session, doing);
}

/** Until the transaction ends, nobody else can take the machine. @throws {WorkLost} */
async function lockLease(q: Queries, held: HeldClaim, doing: string): Promise<void> {
  const rows = await q.rows(statements.lockLease, heldArgs(held.session, [[held, {}]]));
  if (heldEpochs(held.session, doing, rows).size === 0) throw workLost(held);
}

type RecoveryNote = Extract<WorkNote, { kind: 'recoveryAsked' }>;

/**
 * @throws {NothingToDo} the machine came back or was put under a hold meanwhile, or its order
 *   ended.
 * @throws {NoPermit} recovery is frozen, silence means nothing now, or the budget is used up.
 */
async function noteAsked(q: Queries, held: HeldClaim, asked: RecoveryNote): Promise<void> {
  const { machineId: machine, row, session } = held;
  const { rung, bootId } = asked;
  const order = asked.order ?? null;
  const notAsked = `${rung} of ${machine} was not requested`;
  if (order !== null && (await q.rows(statements.lockOrder, { order, machine })).length === 0) {
    throw new NothingToDo(`${notAsked}: the order is no longer open`);
  }
  await requireMay(q, held, { notAsked, order, interrupts: interrupts(rung) });
  await q.run(statements.asked, { machine, rung, boot: bootId, order });
  if (rung === 'reinstalling') await q.run(statements.unpin, { machine });
  const reason = orderedText(rung, row, order);
  await writeEvent(q, session, { machineId: machine, kind: 'recoveryAsked', reason });
}

interface OrderKey {
  readonly notAsked: string;
  /** Key of the operator's order; null for the ladder's own request. */
  readonly order: string | null;
  /** Interrupts the machine, so it needs a permit. */
  readonly interrupts: boolean;
}

/** Checks the conditions now, and grants a permit if one is missing. @throws see `noteAsked`. */
async function requireMay(
  q: Queries,
  { machineId: machine, process, row, session }: HeldClaim,
  { notAsked, order, interrupts: needsPermit }: OrderKey,
): Promise<void> {
  // Locked before the machine is checked: it may come back while this waits for the guard.
  if (needsPermit) await lockGuard(q);
  const [found] = await q.rows(statementsFor(session.loss)[process], { machine });
  const refusal = found?.refusal ?? null;
  if (refusal) throw new NothingToDo(`${notAsked}: ${refusal}`);
  const { provided } = row;
  if (!needsPermit || found?.permitted || !provided) {
    await refuseGuarded(q, session, { provider: provided?.provider ?? null, order });
    return;
  }
  const { provider, location } = provided;
  const place = { provider, location };
  await grantPermit(q, { session, machine, place, isOrder: order !== null });
}

/** @throws {Throttled} the last reset was too recent. See `noteAsked`. */
async function noteControllerReset(q: Queries, held: HeldClaim, controller: string): Promise<void> {
  const { machineId: machine, row, session } = held;
  const notAsked = `a reset of controller ${controller} of ${machine} was not requested`;
  await requireMay(q, held, { notAsked, order: null, interrupts: true });
  const { provided } = row;
  if (!provided) throw new NothingToDo(`${notAsked}: it has no hardware`);
  await noteReset(q, { provider: provided.provider, controller, machine });
  const event = { machineId: machine, kind: 'controllerResetAsked', reason: controller };
  await writeEvent(q, session, event);
}

/**
 * Checks what forbids the request after locking it.
 * @throws {NothingToDo} the request was withdrawn, or a hold preserves the machine now.
 */
async function noteDeprovisionAsked(q: Queries, held: HeldClaim): Promise<void> {
  const { machineId: machine, process, session } = held;
  const [asked] = await q.rows(statements.deprovisionAsked, { machine });
  const [found] = await q.rows(statementsFor(session.loss)[process], { machine });
  if (!asked || found?.refusal) {
    const why = found?.refusal ?? 'nobody asked to deprovision it';
    throw new NothingToDo(`machine ${machine} was not given back: ${why}`);
  }
  const reason = `attempt ${asked.attempts}`;
  await writeEvent(q, session, { machineId: machine, kind: 'deprovisionAsked', reason });
}
