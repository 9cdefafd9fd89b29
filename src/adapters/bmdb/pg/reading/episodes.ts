import { EPISODES_MAX } from '../../port.ts';
import type { EpisodesQuery, EpisodesReading } from '../../port.ts';
import type { Queries } from '../pool.ts';
import { ms } from '../sql.ts';
import { selection, statement } from '../statement.ts';

const EPISODE = selection({
  provider: ['provider', 'z.provider'],
  slotId: ['text', 'z.slot_id'],
  machineId: ['machine', 'z.machine_id'],
  location: ['text?', 'z.location'],
  silentSinceMs: ['float8', ms('z.silent_since')],
  beganAtMs: ['float8', ms('z.began_at')],
  rung: ['text', 'z.rung'],
  attempts: ['float8', 'z.attempts::float8'],
  healedAtMs: ['float8?', ms('z.healed_at')],
  endedAtMs: ['float8?', ms('z.ended_at')],
});

export const statements = {
  since: statement({
    name: 'inspect-episodes',
    params: { since: 'float8', limit: 'int8' },
    columns: EPISODE.columns,
    text: ({ since, limit }) =>
      `SELECT ${EPISODE.sql} FROM recovery_episodes z
       WHERE z.began_at >= to_timestamp(${since} / 1000)
       ORDER BY z.began_at DESC, z.episode DESC LIMIT ${limit}`,
  }),
};

/** See `BmdbInspection.episodes`. */
export async function readEpisodes(
  q: Pick<Queries, 'rows'>,
  { sinceMs, limit = EPISODES_MAX }: EpisodesQuery,
): Promise<EpisodesReading> {
  const size = Math.max(0, Math.min(limit, EPISODES_MAX));
  // One extra row shows whether there are more.
  const rows = await q.rows(statements.since, { since: sinceMs, limit: size + 1 });
  return { episodes: rows.slice(0, size), isCut: rows.length > size };
}
