import type { DrainEnd, MemberRow, MemberState } from '../../../../domain/balancing/members.ts';
import { machineId } from '../../../../domain/ids.ts';
import { ms } from '../sql.ts';

/** A member as JSON, over a row of `pool_members g`: what `FlatMember` says. */
export const MEMBER = `jsonb_build_object('pool', g.pool, 'balancer', g.balancer,
  'state', g.state, 'since', ${ms('g.since')}, 'deadline', ${ms('g.deadline')}, 'how', g.how,
  'waived', g.waived, 'refused', g.refused, 'note', g.note, 'sessions', g.sessions)`;
/** All of them, always in one order, so that equal ones are told to be equal; null: none. */
export const MEMBER_LIST = `jsonb_agg(${MEMBER} ORDER BY g.pool, g.balancer)`;

export interface FlatMember {
  readonly pool: string;
  readonly balancer: string;
  readonly state: string;
  readonly since: number;
  readonly deadline: number | null;
  readonly how: string | null;
  readonly waived: boolean;
  readonly refused: boolean;
  readonly note: string | null;
  readonly sessions: number | null;
}

/** A state that this program does not know is one that may serve: only `drained` does not. */
export const toMember = (machine: string, row: FlatMember): MemberRow => ({
  pool: row.pool,
  balancer: row.balancer,
  machineId: machineId(machine),
  state: row.state as MemberState,
  sinceMs: row.since,
  deadlineMs: row.deadline,
  how: row.how as DrainEnd | null,
  waived: row.waived,
  refused: row.refused,
  note: row.note,
  sessions: row.sessions,
});
