import type { MemberSummary, PoolSummary } from '../../api/types.ts';
import { texts } from '../../texts.ts';

const MEMBER_STATES = ['active', 'warming', 'joining', 'draining', 'drained'] as const;
const told = (text: string | false | null): text is string => text !== null && text !== false;

/** The state of a member, in the words of the command line. */
export const wordsOf = ({ state, how, waived, refused }: MemberSummary): string =>
  [state + (how === null ? '' : ` (${how})`), waived && 'waived', refused && 'refused']
    .filter(told)
    .join(', ');

/** Number of members in each state, and the minimum of active members. */
export function countsOf({ members, minActive }: PoolSummary): string {
  const counts = MEMBER_STATES.map(
    (state) => [members.filter((member) => member.state === state).length, state] as const,
  ).filter(([count]) => count > 0);
  const counted = counts.map(([count, state]) => `${count} ${state}`).join(', ');
  return texts.balancers.counts(counted, minActive);
}

/** Conditions that keep a pool from its desired state. */
export const troublesOf = ({ state, frozen, paused, tornDown }: PoolSummary): readonly string[] =>
  [frozen !== null && 'frozen', paused !== null && 'paused', tornDown !== null && 'torn down']
    .filter(told)
    .filter((text) => text !== state);

/** The reasons, one sentence each. */
export function whyOf(pool: PoolSummary): readonly string[] {
  const { balancer, isTended, reason, frozen, paused, tornDown } = pool;
  return [
    !isTended && texts.balancers.nobodyTends(balancer),
    frozen && reason?.includes(frozen.reason) ? null : reason,
    frozen && texts.balancers.frozen(frozen.reason),
    paused && texts.balancers.paused(paused.by, paused.reason),
    tornDown && texts.balancers.tornDown(tornDown.by, tornDown.reason),
  ].filter(told);
}
