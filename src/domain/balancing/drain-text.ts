import { mayServe } from './members.ts';
import type { MemberRow } from './members.ts';

/**
 * What a machine waits for that still serves, for people: which pools have not let it go, and why not
 * yet. At least one of the members may serve.
 */
export const drainText = (members: readonly MemberRow[]): string =>
  `waits until ${members.filter(mayServe).map(letGoText).join(', and ')}`;

function letGoText(member: MemberRow): string {
  const { pool, balancer, note, refused } = member;
  // What it drains for is what the text is about; how far it is, is not told by anybody else.
  const why = member.state === 'draining' && !refused ? drainingText(member) : note;
  return `pool ${pool} at ${balancer} lets it go${why === null ? '' : `: ${why}`}`;
}

function drainingText({ sessions, deadlineMs }: MemberRow): string {
  const until = `until ${timeText(deadlineMs!)}`;
  if (sessions === null) return until;
  return `${sessions} connection${sessions === 1 ? '' : 's'}, ${until}`;
}

/** The same of what nobody asked for. @param endMs it does not wait beyond that; null: it may. */
export const ladderWaitText = (members: readonly MemberRow[], endMs: number | null): string => {
  const end = endMs === null ? '' : `; recovery waits until ${timeText(endMs)} at most`;
  return `${drainText(members)}${end}`;
};

/** A time of today, or nearly: `12:00:03 UTC`. */
const timeText = (atMs: number): string => `${new Date(atMs).toISOString().slice(11, 19)} UTC`;
