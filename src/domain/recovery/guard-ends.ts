import { FLEET, graceEndsAtMs, thawObstacle } from './guard-judgement.ts';
import type { GuardMoment, GuardPicture, GuardStanding } from './standing.ts';

/** What ends the state of a scope in which nothing, or not everything, is recovered. */
export interface GuardEnd {
  /** For people; one sentence. */
  readonly text: string;
  /** When the clock ends it if nothing else changes, epoch ms of the database; null: no clock does. */
  readonly atMs: number | null;
}

/** How a scope comes to be watched again; null: it is. Counts that are not known are left out. */
export function guardEnd(
  { scope, state }: Pick<GuardStanding, 'scope' | 'state'>,
  picture: GuardPicture,
  { nowMs, policy, heartbeatMs }: GuardMoment,
): GuardEnd | null {
  const row = picture.rows.find((each) => each.scope === scope);
  switch (state) {
    case 'watching':
      return null;
    case 'blind':
      return { text: 'It ends when a daemon reads the fleet from the database.', atMs: null };
    case 'suspicious':
      return { text: 'It ends by itself when fewer are late or silent.', atMs: null };
    case 'grace': {
      const upSinceMs = picture.rows.find((each) => each.scope === FLEET)?.ingestUpSinceMs ?? null;
      const atMs = graceEndsAtMs({ upSinceMs }, { heartbeatMs });
      const text =
        atMs === null
          ? 'It does not end before a daemon takes heartbeats in.'
          : 'It ends by itself while heartbeats are taken in.';
      return { text, atMs };
    }
    case 'frozen':
      break;
  }
  if (row?.frozen?.kind === 'manual') {
    return { text: 'Only a person ends it: shepherd fleet thaw.', atMs: null };
  }
  const counts = picture.counts.find((each) => each.scope === scope);
  const obstacle = row?.frozen && counts && thawObstacle(row.frozen.kind, counts, policy);
  if (obstacle) {
    const text = `It cannot end by itself while ${obstacle}; none is recovered until then. Mend what they share, or say that they are gone: shepherd fleet thaw.`;
    return { text, atMs: null };
  }
  const calmSinceMs = row?.calmSinceMs ?? null;
  const text = 'It ends by itself if no more machines fall silent.';
  return {
    text,
    atMs: calmSinceMs === null ? null : Math.max(nowMs, calmSinceMs + policy.calmForMs),
  };
}
