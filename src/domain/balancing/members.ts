import type { MachineId, Slot } from '../ids.ts';

/**
 * The life of a machine as a member of a pool at one balancer. The state is a row of the BMDB, so
 * that it outlives every daemon. A process that reboots a machine reads there whether the balancer
 * drained it. The daemon that manages the balancer writes there before it opens traffic and after it
 * stops it.
 */
export const MEMBER_STATES = ['joining', 'warming', 'active', 'draining', 'drained'] as const;
/**
 * - `joining`: its servers are being created; it has no traffic yet, but traffic may begin any
 * moment.
 * - `warming`: its servers exist and are checked; they get no traffic yet.
 * - `active`: it gets traffic.
 * - `draining`: it gets no new connections; existing ones may end until the deadline.
 * - `drained`: the balancer sends no traffic. Only now may the machine be interrupted.
 */
export type MemberState = (typeof MEMBER_STATES)[number];

/** How a drain ended. `gone`: the servers had already disappeared. */
export const DRAIN_ENDS = ['no-sessions', 'grace', 'forced', 'gone'] as const;
export type DrainEnd = (typeof DRAIN_ENDS)[number];

export interface MemberRow {
  readonly pool: string;
  readonly balancer: string;
  readonly machineId: MachineId;
  readonly state: MemberState;
  /** Time at which this state began, epoch ms of the database. */
  readonly sinceMs: number;
  /** Of `draining`: time at which the remaining connections are cut. Null otherwise. */
  readonly deadlineMs: number | null;
  /** Of `drained`: how the drain ended. Null otherwise. */
  readonly how: DrainEnd | null;
  /**
   * The machine may be interrupted undrained: the pool's policy is `best-effort`, and its balancer
   * cannot be reached.
   */
  readonly waived: boolean;
  /** The balancer cannot drain the member (see `note`): an order that waits for it is refused. */
  readonly refused: boolean;
  /** Why the member does not drain, or what is wrong with it, for people; null: nothing. */
  readonly note: string | null;
  /** Connections of the member at the last write of the row; null: unknown. */
  readonly sessions: number | null;
}

/** Whether, as far as is known, the balancer may send traffic to the machine. */
export const mayServe = ({ state, waived }: Pick<MemberRow, 'state' | 'waived'>): boolean =>
  state !== 'drained' && !waived;

/** The machine's memberships in other pools or at other balancers. */
export const otherPlaces = (
  members: readonly MemberRow[],
  place: Pick<MemberRow, 'pool' | 'balancer'>,
): readonly MemberRow[] =>
  members.filter(({ pool, balancer }) => pool !== place.pool || balancer !== place.balancer);

/** The part of a member that a view shows. */
export type Membership = Pick<MemberRow, 'pool' | 'balancer' | 'state' | 'note'>;

/** Nearly all machines have no membership, and share this list. */
const NONE: readonly Membership[] = [];
export const membershipsOf = (members: readonly MemberRow[] = []): readonly Membership[] =>
  members.length === 0
    ? NONE
    : members.map(({ pool, balancer, state, note }) => ({ pool, balancer, state, note }));

/** The states that may follow each state, besides itself. The first state is `joining`. */
export const SUCCESSORS: Readonly<Record<MemberState, readonly MemberState[]>> = {
  joining: ['warming', 'active', 'draining', 'drained'],
  warming: ['active', 'draining', 'drained'],
  active: ['draining', 'drained'],
  draining: ['active', 'drained'],
  drained: ['joining'],
};

/** A change of a member. Absent keys keep their value, except `waived` and `refused`. */
export interface MemberChange {
  readonly machineId: MachineId;
  /**
   * The new state (see `SUCCESSORS`); absent: no change. `gone` removes the row of a member that
   * does not serve. A change of state resets `waived` and `refused`, unless the change sets them.
   */
  readonly to?: MemberState | 'gone';
  /**
   * Required with `draining`: the deadline is this long from now (database clock). A member that
   * already drains keeps an earlier deadline, unless `newDeadline` is true.
   */
  readonly graceMs?: number;
  readonly newDeadline?: boolean;
  /** Required with `drained`. */
  readonly how?: DrainEnd;
  readonly waived?: boolean;
  readonly refused?: boolean;
  readonly note?: string | null;
  readonly sessions?: number | null;
}

/** The desired state of a machine in a pool, derived from rows, listing and clock. */
export type DesiredMember = { readonly slot: Slot; readonly machineId: MachineId } &
  /** The machine should be a member. */
  (
    | { readonly want: 'serve'; readonly address: string }
    /** The machine is healthy, but must be interrupted, or the pool no longer selects it. */
    | {
        readonly want: 'drain';
        readonly reason: string;
        /** Drain even below the least number of active members. */
        readonly force: boolean;
        /** When the waiting request was made, epoch ms of the database; null: none waits. */
        readonly askedAtMs: number | null;
        /** The machine stays away. Absent: it is interrupted and comes back. */
        readonly leaves?: true;
        /** No request asked for it: a listing, an address or the configuration has changed. */
        readonly isUnasked?: true;
      }
    /** The machine is unhealthy: it gets no new connections, and existing ones are lost anyway. */
    | {
        readonly want: 'drop';
        readonly reason: string;
        /** An order to interrupt the machine is under way, so that the loss is no surprise. */
        readonly isOrdered?: true;
      }
    /** The machine's health is unknown (the guard is frozen or in grace): it keeps its state. */
    | { readonly want: 'keep'; readonly reason: string }
  );

/**
 * Says, for people, which pools a machine still waits for, and why they have not drained it yet. At
 * least one of the members may serve.
 */
export const drainText = (members: readonly MemberRow[]): string =>
  `waits until ${members.filter(mayServe).map(letGoText).join(', and ')}`;

function letGoText(member: MemberRow): string {
  const { pool, balancer, note, refused } = member;
  // The text already names the purpose of the drain; only this part shows its progress.
  const why = member.state === 'draining' && !refused ? drainingText(member) : note;
  return `pool ${pool} drains it at ${balancer}${why === null ? '' : `: ${why}`}`;
}

function drainingText({ sessions, deadlineMs }: MemberRow): string {
  const until = `until ${timeText(deadlineMs!)}`;
  if (sessions === null) return until;
  return `${sessions} connection${sessions === 1 ? '' : 's'}, ${until}`;
}

/** The same text for recovery. @param endMs when recovery stops waiting; null: never. */
export const ladderWaitText = (members: readonly MemberRow[], endMs: number | null): string => {
  const end = endMs === null ? '' : `; recovery waits until ${timeText(endMs)} at most`;
  return `${drainText(members)}${end}`;
};

/** A time of today, or of a day close to it: `12:00:03 UTC`. */
const timeText = (atMs: number): string => `${new Date(atMs).toISOString().slice(11, 19)} UTC`;
