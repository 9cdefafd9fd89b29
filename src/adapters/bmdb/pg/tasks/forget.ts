import { exclusionGroup } from '../../../../domain/eligibility.ts';
import type { MachineId } from '../../../../domain/ids.ts';
import { PROCESSES } from '../../../../domain/machine.ts';
import { deprovisionedLines, type Deprovisioned } from '../../preconditions.ts';
import { cancelOnMachines } from '../claims/cancel.ts';
import { SLOT_ID } from '../eligibility.ts';
import { deleteTags, statements as tags } from '../delete-tags.ts';
import type { Finish } from '../claims/held-claim.ts';
import { writeEvents } from '../live.ts';
import type { LiveSession } from '../live.ts';
import type { Queries } from '../pool.ts';
import { statements as episodes } from '../recovery/episodes.ts';
import { named, statement } from '../statement.ts';
import { readTagTypes } from '../reading/tag-types.ts';

export const statements = named('forget', {
  /** Creates missing leases, so that nobody can claim them from here on. */
  addLeases: statement({
    params: { machines: 'uuid[]', groups: 'text[]' },
    text: ({ machines, groups }) =>
      `INSERT INTO work (machine_id, exclusion_group)
       SELECT m.id, g.name FROM unnest(${machines}) AS m (id), unnest(${groups}) AS g (name)
       ORDER BY 1, 2 ON CONFLICT DO NOTHING`,
  }),
  lockLeases: statement({
    params: { machines: 'uuid[]' },
    columns: { machine_id: 'uuid' },
    text: ({ machines }) =>
      `SELECT machine_id FROM work WHERE machine_id = ANY (${machines})
       ORDER BY machine_id, exclusion_group FOR UPDATE`,
  }),
  /** From here on nothing can refer to the machines, because a reference locks its machine, too. */
  lockMachines: statement({
    params: { machines: 'uuid[]' },
    columns: { machine_id: 'uuid' },
    text: ({ machines }) =>
      `SELECT machine_id FROM machines WHERE machine_id = ANY (${machines})
       ORDER BY machine_id FOR UPDATE`,
  }),
  /** A hold without begin and end stays as it is. */
  bar: statement({
    params: { barred: { machineId: 'uuid', setBy: 'text', reason: 'text' } },
    text: ({ barred }) =>
      `INSERT INTO slot_holds AS h (provider, slot_id, kind, set_by, reason)
       SELECT p.provider, ${SLOT_ID}, 'no-allocate', barred.set_by, barred.reason
       FROM ${barred} JOIN machine_provided p ON p.machine_id = barred.machine_id
       ORDER BY 1, 2
       ON CONFLICT (provider, slot_id, kind) DO UPDATE SET set_by = excluded.set_by,
         reason = excluded.reason, set_at = now(), from_at = NULL, until = NULL
         WHERE h.until IS NOT NULL OR h.from_at IS NOT NULL`,
  }),
  removeLeases: statement({
    name: 'forget-leases',
    params: { machines: 'uuid[]' },
    text: ({ machines }) => `DELETE FROM work WHERE machine_id = ANY (${machines})`,
  }),
  /** Backoffs are deleted with the machines. */
  removeMachines: statement({
    name: 'forget-machines',
    params: { machines: 'uuid[]' },
    text: ({ machines }) => `DELETE FROM machines WHERE machine_id = ANY (${machines})`,
  }),
});

/** Nothing is created on these slots until a person lifts the hold. */
async function barSlots(q: Queries, finished: readonly Finish[]): Promise<void> {
  const barred = finished.flatMap(({ held, change }) => {
    const { bar } = change as Deprovisioned;
    return bar ? [{ machineId: held.machineId, ...bar }] : [];
  });
  if (barred.length > 0) await q.run(statements.bar, { barred });
}

const GROUPS = [...new Set(PROCESSES.map(exclusionGroup))];

/**
 * Rows that others lock before they wait for another row of the machine, in their order. Agents
 * lock the start and the heartbeat, an updater the hardware; both then lock the permit. Once the
 * row is gone they stop.
 */
const BEFORE = [
  ...[tags.forgetAgents, tags.forgetHeartbeats, tags.forgetProvided],
  tags.returnPermits,
] as const;

/**
 * Deletes machines that were given back, except for their histories, in the transaction that ends
 * the work on them. The order is leases, then rows that agents and updaters lock, then machines:
 * nobody who waits for one of these holds a later one. Within each, in machine order.
 *
 * The schema defines which tags exist, so that a newer program's tag is deleted, too.
 */
export async function forgetMachines(
  q: Queries,
  session: LiveSession,
  finished: readonly Finish[],
): Promise<void> {
  if (finished.length === 0) return;
  const machines: MachineId[] = finished.map(({ held }) => held.machineId);
  await q.run(statements.addLeases, { machines, groups: GROUPS });
  await q.rows(statements.lockLeases, { machines });
  await writeEvents(
    q,
    session,
    finished.flatMap(({ held: { machineId, row }, change }) =>
      deprovisionedLines(row, change as Deprovisioned).map((line) => ({ machineId, ...line })),
    ),
  );
  await barSlots(q, finished);
  for (const forgetting of BEFORE) await q.run(forgetting, { machines });
  await q.rows(statements.lockMachines, { machines });
  await cancelOnMachines(q, machines, 'deprovisioned');
  await q.run(statements.removeLeases, { machines });
  for (const { table } of await readTagTypes(q)) await q.run(deleteTags(table), { machines });
  await q.run(episodes.endOfTenancies, { machines });
  await q.run(statements.removeMachines, { machines });
}
