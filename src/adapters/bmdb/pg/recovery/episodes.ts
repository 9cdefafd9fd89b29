import { EPISODES_KEPT_DAYS } from '../../port.ts';
import { SLOT_ID } from '../eligibility.ts';
import { named, statement } from '../statement.ts';

/**
 * Counts the attempts that a change of ladders adds, in the same statement: `ladders` is a CTE with
 * the machines, rungs and attempts of the changed rows. The first attempt begins an episode.
 */
export const COUNT_EPISODES = `
  INSERT INTO recovery_episodes AS z
    (provider, slot_id, machine_id, location, silent_since, rung)
  SELECT p.provider, ${SLOT_ID}, p.machine_id, p.provider_location,
    coalesce((SELECT s.silent_since FROM silent_machines s WHERE s.machine_id = p.machine_id),
      now()), ladders.rung::text
  FROM ladders JOIN machine_provided p ON p.machine_id = ladders.machine_id
  WHERE ladders.attempts > 0 ORDER BY p.machine_id
  ON CONFLICT (machine_id) WHERE ended_at IS NULL DO UPDATE SET rung = excluded.rung,
    attempts = z.attempts + 1`;

/** An episode is too old to be kept. */
export const OUTDATED = `began_at < now() - interval '${EPISODES_KEPT_DAYS} days'`;

export const statements = named('episodes', {
  trim: statement({
    params: { limit: 'int8' },
    text: ({ limit }) =>
      `DELETE FROM recovery_episodes WHERE episode IN (
         SELECT episode FROM recovery_episodes WHERE ${OUTDATED}
         LIMIT ${limit} FOR UPDATE SKIP LOCKED)`,
  }),
  /** A person has released the machine: what happened before makes it chronic no more. */
  forgive: statement({
    params: { provider: 'text', slot: 'text' },
    text: ({ provider, slot }) =>
      `UPDATE recovery_episodes SET counted = false, ended_at = coalesce(ended_at, now())
       WHERE provider = ${provider} AND slot_id = ${slot} AND counted`,
  }),
  /** The machines are given back, so nothing heals them any more. */
  endOfTenancies: statement({
    params: { machines: 'uuid[]' },
    text: ({ machines }) =>
      `UPDATE recovery_episodes SET ended_at = now()
       WHERE machine_id = ANY (${machines}) AND ended_at IS NULL`,
  }),
});
