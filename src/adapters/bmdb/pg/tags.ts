import { nextBackoffSeconds } from '../../../domain/backoff.ts';
import type { BackoffDescriptor } from '../../../domain/backoff.ts';
import { isLadder } from '../../../domain/eligibility.ts';
import { NothingToDo } from '../../../domain/errors.ts';
import type { Rung } from '../../../domain/machine.ts';
import { whyNotAsk } from './eligibility.ts';
import { writeEvent } from './live.ts';
import { refuseFrozen } from './permits.ts';
import type { Queries } from './pool.ts';
import type { Held } from './held.ts';
import type { FinishChange, Quarantine, WorkNote } from '../port.ts';

/** What a finished task makes true, in the transaction that ends it. */
export async function applyChange(q: Queries, held: Held, change: FinishChange): Promise<void> {
  switch (change.kind) {
    case 'agentStarted':
      return startAgent(q, held, change);
    case 'recovered':
      return recover(q, held, change.coolDown);
    case 'nothing':
  }
}

type AgentStarted = Extract<FinishChange, { kind: 'agentStarted' }>;

async function startAgent(q: Queries, held: Held, change: AgentStarted): Promise<void> {
  const { machineId, session } = held;
  await q.run(
    `INSERT INTO machine_agent_started (machine_id, agent_started_at, agent_public_key, boot_id)
     VALUES ($1, now(), $2, $3)
     ON CONFLICT (machine_id) DO UPDATE SET agent_started_at = excluded.agent_started_at,
       agent_public_key = excluded.agent_public_key, boot_id = excluded.boot_id`,
    [machineId, Buffer.from(change.publicKey), change.bootId],
  );
  await deleteTags(q, held, ['machine_agent_heartbeat', 'machine_agent_start_attempt']);
  await deleteTags(q, held, ['recovery_permits']);
  if (change.hostKey !== null) {
    await q.run(
      `INSERT INTO machine_ssh_host_key (machine_id, key) VALUES ($1, $2)
       ON CONFLICT (machine_id) DO UPDATE SET key = excluded.key`,
      [machineId, change.hostKey],
    );
  }
  const reason = change.warnings.join('; ');
  await writeEvent(q, session, { machineId, kind: 'agentStarted', reason });
}

async function recover(q: Queries, held: Held, descriptor: BackoffDescriptor): Promise<void> {
  await deleteTags(q, held, [
    'machine_agent_started',
    'machine_agent_heartbeat',
    'machine_agent_start_attempt',
    'recovery_permits',
  ]);
  const rung = await coolDown(q, held, descriptor);
  const { machineId, session } = held;
  await q.run(
    `UPDATE machine_recovery SET asked_at = NULL, operation_ref = NULL WHERE machine_id = $1`,
    [machineId],
  );
  await writeEvent(q, session, { machineId, kind: 'recovered', reason: rung ?? '' });
}

async function deleteTags(q: Queries, held: Held, tables: readonly string[]): Promise<void> {
  for (const table of tables) {
    await q.run(`DELETE FROM ${table} WHERE machine_id = $1`, [held.machineId]);
  }
}

/**
 * No rung starts again before the cool-down, which grows over the whole episode. Nothing to cool
 * down from while nothing was asked of the provider.
 * @returns the rung the machine is on.
 */
export async function coolDown(
  q: Queries,
  held: Held,
  descriptor: BackoffDescriptor,
): Promise<Rung | null> {
  const { process, machineId, session } = held;
  if (!isLadder(process)) return null;
  const [ladder] = await q.rows<{ rung: Rung; cool_down_seconds: string | null }>(
    `SELECT rung, cool_down_seconds FROM machine_recovery WHERE machine_id = $1`,
    [machineId],
  );
  if (!ladder) return null;
  const previous = ladder.cool_down_seconds === null ? null : Number(ladder.cool_down_seconds);
  const seconds = nextBackoffSeconds(descriptor, previous);
  const waitSeconds = seconds * (1 + session.random.next() * session.jitter);
  await q.run(
    `UPDATE machine_recovery
     SET next_at = now() + $2::float8 * interval '1 second', cool_down_seconds = $3
     WHERE machine_id = $1`,
    [machineId, waitSeconds, seconds],
  );
  return ladder.rung;
}

/** Parks the machine; its permit is given back. */
export async function quarantineMachine(
  q: Queries,
  held: Held,
  { kind, reason }: Quarantine,
): Promise<void> {
  const { machineId, session } = held;
  await q.run(
    `INSERT INTO machine_quarantined (machine_id, kind, reason, set_by) VALUES ($1, $2, $3, $4)
     ON CONFLICT (machine_id) DO UPDATE SET kind = excluded.kind, reason = excluded.reason,
       until = NULL, set_by = excluded.set_by`,
    [machineId, kind, reason, session.component],
  );
  await deleteTags(q, held, ['recovery_permits']);
  await writeEvent(q, session, { machineId, kind: 'quarantined', reason: `${kind}: ${reason}` });
}

/** @throws {NothingToDo} before asking: the machine came back or was put under a hold meanwhile. */
export async function writeNote(q: Queries, held: Held, note: WorkNote): Promise<void> {
  switch (note.kind) {
    case 'agentStartAttempt':
      return noteAttempt(q, held);
    case 'recoveryAsked':
      return noteAsked(q, held, note.rung);
    case 'recoveryRefused':
      return noteRefused(q, held, note.counts);
    case 'recoveryUnclear':
      await q.run(
        `UPDATE machine_recovery SET attempts = greatest(0, attempts - 1) WHERE machine_id = $1`,
        [held.machineId],
      );
      return;
    case 'recoveryAccepted':
      await q.run(`UPDATE machine_recovery SET operation_ref = $2 WHERE machine_id = $1`, [
        held.machineId,
        note.operationRef,
      ]);
  }
}

async function noteAttempt(q: Queries, { machineId }: Held): Promise<void> {
  await q.run(
    `INSERT INTO machine_agent_start_attempt (machine_id, attempted_at, count)
     VALUES ($1, now(), 0)
     ON CONFLICT (machine_id) DO UPDATE SET attempted_at = excluded.attempted_at`,
    [machineId],
  );
}

async function noteAsked(q: Queries, held: Held, rung: Rung): Promise<void> {
  const { machineId, process, session } = held;
  const reason = await whyNotAsk(q, process, machineId, session.loss);
  if (reason) throw new NothingToDo(`${rung} of ${machineId} was not asked for: ${reason}`);
  await refuseFrozen(q, machineId);
  await q.run(
    `INSERT INTO machine_recovery AS l (machine_id, rung, attempts, asked_at)
     VALUES ($1, $2, 1, now())
     ON CONFLICT (machine_id) DO UPDATE SET
       attempts = CASE WHEN l.rung = excluded.rung THEN l.attempts + 1 ELSE 1 END,
       rung = excluded.rung, asked_at = excluded.asked_at, operation_ref = NULL`,
    [machineId, rung],
  );
  await writeEvent(q, session, { machineId, kind: 'recoveryAsked', reason: rung });
}

async function noteRefused(q: Queries, held: Held, counts: boolean): Promise<void> {
  await q.run(
    `UPDATE machine_recovery
     SET asked_at = NULL, operation_ref = NULL, attempts = greatest(0, attempts - $2)
     WHERE machine_id = $1`,
    [held.machineId, counts ? 0 : 1],
  );
}
