import type { SessionId, Slot } from './ids.ts';

/**
 * Parts of the program that a daemon may run alone. Every daemon has a session, assesses the guard,
 * and serves health and metrics.
 *
 * - `loops`: starts, recovers, provisions and gives back machines. Only these daemons are ranked.
 * - `agent-server`: receives the reports of agents.
 * - `balancer`: manages the pools at load balancers.
 * - `stats`: counts the fleet for statistics.
 * - `console`: serves the page, the API and the streams.
 * - `janitor`: removes what dead sessions left behind.
 */
export const DAEMON_ROLES = [
  'loops',
  'agent-server',
  'balancer',
  'stats',
  'console',
  'janitor',
] as const;
export type DaemonRole = (typeof DAEMON_ROLES)[number];
export type DaemonRoles = ReadonlySet<DaemonRole>;

export const ALL_ROLES: DaemonRoles = new Set(DAEMON_ROLES);

/** Whether these roles need all machines. The other roles read rows one by one. */
export const needsMirror = (roles: DaemonRoles): boolean =>
  roles.has('loops') || roles.has('balancer') || roles.has('console');

/** Its session's component. Daemons named `shepherd` share the machines among themselves. */
export const componentOf = (roles: DaemonRoles): string =>
  roles.has('loops') ? 'shepherd' : 'srv';

/** A job that one daemon does at a time. */
export interface LeaseRow {
  readonly name: string;
  readonly sessionId: SessionId;
  /** Its session is alive: no other session may take the job. */
  readonly held: boolean;
}

/** A repeated activity of a daemon and its last result. Times: epoch ms, database clock. */
export interface LoopSummary {
  /** The activity and its object, such as `listing equinix`. */
  readonly name: string;
  /** Interval between two runs when all goes well. */
  readonly periodMs: number;
  /** Null: no success since the daemon started. */
  readonly lastSuccessAtMs: number | null;
  /** Failures since the last success; null: none. */
  readonly failure: {
    readonly count: number;
    readonly lastAtMs: number;
    readonly cause: string;
  } | null;
  /** The job that only one daemon has at a time; null: each daemon does it. */
  readonly job: string | null;
}

/**
 * Ranks this daemon for a machine by rendezvous hashing: every daemon computes the same order of
 * the live sessions without communication. Rank 0 acts at once, rank n waits n head starts. The
 * ranking only saves conflicts; the claim in the BMDB makes it safe.
 */
export function rankOf(self: SessionId, sessions: readonly SessionId[], slot: Slot): number {
  const own = weight(self, slot);
  let rank = 0;
  for (const other of sessions) {
    if (other === self) continue;
    const theirs = weight(other, slot);
    if (theirs > own || (theirs === own && other < self)) rank += 1;
  }
  return rank;
}

/** FNV-1a (32 bit) with the finisher of MurmurHash3, which spreads similar names. */
function weight(session: string, slot: string): number {
  let hash = 0x811c9dc5;
  const text = `${session}|${slot}`;
  for (let at = 0; at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
