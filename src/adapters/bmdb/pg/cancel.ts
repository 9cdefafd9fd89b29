import type { Queries } from './pool.ts';

/**
 * Removes work rows, each with a Canceled line in the history, and gives back permits under which
 * nothing was asked of a provider yet.
 * @param which a condition over `work w JOIN sessions s`, with `$2` and on as its values.
 * @returns how many rows were removed.
 */
export async function cancelWork(
  q: Queries,
  cause: string,
  which: string,
  values: readonly unknown[],
): Promise<number> {
  const gone = await q.rows<{ machine_id: string }>(
    `WITH gone AS (
       DELETE FROM work w USING sessions s WHERE s.session_id = w.session_id AND ${which}
       RETURNING w.machine_id, w.process, w.session_id, w.epoch, s.session_component_name
     )
     INSERT INTO work_history
       (machine_id, process, event, failed_cause, session_id, component, epoch)
     SELECT machine_id, process, 'Canceled', $1::text, session_id, session_component_name, epoch
     FROM gone RETURNING machine_id`,
    [cause, ...values],
  );
  if (gone.length > 0) {
    await returnUnusedPermits(
      q,
      gone.map((row) => row.machine_id),
    );
  }
  return gone.length;
}

/** A permit is used once a provider was asked for something after it was granted. */
async function returnUnusedPermits(q: Queries, machineIds: readonly string[]): Promise<void> {
  await q.run(
    `DELETE FROM recovery_permits e WHERE e.machine_id = ANY($1) AND NOT EXISTS (
       SELECT 1 FROM machine_recovery l
       WHERE l.machine_id = e.machine_id
         AND (l.asked_at >= e.granted_at OR l.next_at > now())
     )`,
    [machineIds],
  );
}
