import type { MachineId, Slot } from '../ids.ts';

/**
 * The life of a machine as a member of a pool at one balancer. It is a row of the BMDB, so that it
 * outlives every daemon: who reboots a machine reads there whether the balancer let it go, and who
 * tends the balancer writes there before it lets traffic in, and after it has taken it away.
 */
export const MEMBER_STATES = ['joining', 'warming', 'active', 'draining', 'drained'] as const;
/**
 * - `joining`: its servers are being made; no traffic yet, but it may come any moment.
 * - `warming`: its servers are there and are checked; they get no traffic yet.
 * - `active`: it gets traffic.
 * - `draining`: it gets no new connections; those it has may end, until the deadline.
 * - `drained`: the balancer let it go. Only then may it be interrupted.
 */
export type MemberState = (typeof MEMBER_STATES)[number];

/** How a member was let go. `gone`: its servers were not there any more. */
export const DRAIN_ENDS = ['no-sessions', 'grace', 'forced', 'gone'] as const;
export type DrainEnd = (typeof DRAIN_ENDS)[number];

export interface MemberRow {
  readonly pool: string;
  readonly balancer: string;
  readonly machineId: MachineId;
  readonly state: MemberState;
  /** In this state since, epoch ms of the database. */
  readonly sinceMs: number;
  /** Of `draining`: connections that are left then are cut. Null otherwise. */
  readonly deadlineMs: number | null;
  /** Of `drained`: how it came to it. Null otherwise. */
  readonly how: DrainEnd | null;
  /**
   * The member may be interrupted though it was not drained: the pool's policy is `best-effort`, and
   * its balancer cannot be reached.
   */
  readonly waived: boolean;
  /** It is not let go, for the reason that `note` gives: an order that waits for it is refused. */
  readonly refused: boolean;
  /** Why it is not let go, or what is wrong with it, for people; null: nothing. */
  readonly note: string | null;
  /** Connections that it had when the row was written last; null: not known. */
  readonly sessions: number | null;
}

/** Whether the balancer may be sending traffic to the machine, as far as is known. */
export const mayServe = ({ state, waived }: Pick<MemberRow, 'state' | 'waived'>): boolean =>
  state !== 'drained' && !waived;

/** Members that the machine is besides: in other pools, or at other balancers. */
export const otherPlaces = (
  members: readonly MemberRow[],
  place: Pick<MemberRow, 'pool' | 'balancer'>,
): readonly MemberRow[] =>
  members.filter(({ pool, balancer }) => pool !== place.pool || balancer !== place.balancer);

/** What a view shows of a member. */
export type Membership = Pick<MemberRow, 'pool' | 'balancer' | 'state' | 'note'>;

/** Nearly all machines have none, and share that. */
const NONE: readonly Membership[] = [];
export const membershipsOf = (members: readonly MemberRow[] = []): readonly Membership[] =>
  members.length === 0
    ? NONE
    : members.map(({ pool, balancer, state, note }) => ({ pool, balancer, state, note }));

/** What a member may become; itself, too. One without a row may only be `joining`. */
export const SUCCESSORS: Readonly<Record<MemberState, readonly MemberState[]>> = {
  joining: ['warming', 'active', 'draining', 'drained'],
  warming: ['active', 'draining', 'drained'],
  active: ['draining', 'drained'],
  draining: ['active', 'drained'],
  drained: ['joining'],
};

/** What becomes of a member. Absent keys stay as they are, but for `waived` and `refused`. */
export interface MemberChange {
  readonly machineId: MachineId;
  /**
   * Absent: what it is. See `SUCCESSORS`; `gone` removes the row, of one that does not serve. One that
   * comes to another state is neither waived nor refused any more, unless that is said, too.
   */
  readonly to?: MemberState | 'gone';
  /**
   * To be given with `draining`: the deadline is so long from now (database clock). One that is
   * draining already keeps its deadline when that is earlier, unless `newDeadline` is true.
   */
  readonly graceMs?: number;
  readonly newDeadline?: boolean;
  /** To be given with `drained`. */
  readonly how?: DrainEnd;
  readonly waived?: boolean;
  readonly refused?: boolean;
  readonly note?: string | null;
  readonly sessions?: number | null;
}

/** What is to become of a machine in a pool, as rows, listing and clock say. */
export type Wish = { readonly slot: Slot; readonly machineId: MachineId } &
  /** It is to be a member. */
  (
    | { readonly want: 'serve'; readonly address: string }
    /** It is well, and somebody wants to interrupt it, or it was deselected: let it go with patience. */
    | {
        readonly want: 'drain';
        readonly reason: string;
        /** Even below the least number of active members. */
        readonly force: boolean;
        /** Since when somebody waits for it, epoch ms of the database; null: nobody waits. */
        readonly askedAtMs: number | null;
        /** It stays away: nobody means to bring it back soon. Absent: it is interrupted, and comes back. */
        readonly leaves?: true;
        /** Nobody asked for it: a listing, an address or a configuration says other things than before. */
        readonly isUnasked?: true;
      }
    /** It is not well: no new connection may go there, and those it has are lost anyway. */
    | {
        readonly want: 'drop';
        readonly reason: string;
        /** Somebody ordered that it be interrupted, and that is being done: it is no surprise. */
        readonly isOrdered?: true;
      }
    /** Nobody can tell (the guard is frozen or in grace): it stays what it is. */
    | { readonly want: 'keep'; readonly reason: string }
  );

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
