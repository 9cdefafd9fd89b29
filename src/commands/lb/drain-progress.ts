import { sameData } from '../../lib/data.ts';
import { EXIT_FAILED, EXIT_NOT_SETTLED } from '../remote/failures.ts';
import type { Batch, Request, RequestList } from '../remote/answers.ts';
import { requestsIn, type Follow, type Followed } from '../remote/submit.ts';
import type { Session } from '../remote/session.ts';
import { watchPools, type Member, type Pool, memberText } from './status.ts';

/** What to wait for after a hold no-serve was set or removed. */
export type LetGo = 'drained' | 'active';

/** The state of a machine in a pool at a load balancer. */
interface MemberState {
  readonly slot: string;
  readonly pool: string;
  readonly balancer: string;
  /** As `lb status` shows it. */
  readonly state: string;
  /** Connections; null: not known. */
  readonly sessions: number | null;
  readonly note: string | null;
  /** `over`: the wanted state is reached. `refused`: it cannot be reached. */
  readonly progress: 'over' | 'refused' | 'waits';
}

/**
 * Waits until all pools have released the machines, or until the machines serve again; until a pool
 * refuses; or until the time is over. A result must show twice in a row, because the first look may
 * still show the result of an earlier request.
 */
export const untilLetGo =
  (wanted: LetGo, session: Session): Follow =>
  async (submitted, endMs) => {
    const slots = new Set((await allIn(submitted, session)).flatMap(({ slot }) => slot ?? []));
    let before: readonly MemberState[] | null = null;
    // The request stays valid. When the wait ends, the command reports the progress.

    const last = await watchPools(session, endMs, (pools) => {
      const seen = standingsOf(wanted, slots, pools);
      const isSame = before !== null && sameData(before.map(kernel), seen.map(kernel));
      before = seen;
      return { seen, isOver: isSame && isDecided(seen) };
    });
    return told(wanted, slots, last);
  };

/** All requests of a batch. The answer to a large batch has only the first ones. */
async function allIn(
  submitted: Request | Batch,
  { client: { get } }: Session,
): Promise<readonly Request[]> {
  const first = requestsIn(submitted);
  if (!('counts' in submitted)) return first;
  const { open, done, refused } = submitted.counts;
  if (first.length === open + done + refused) return first;
  const all: Request[] = [];
  for (let after: string | null | undefined; after !== null;) {
    const page: RequestList = await get('/requests', { batch: submitted.key, limit: 1_000, after });
    all.push(...page.requests);
    after = page.next;
  }
  return all;
}

const isDecided = (standings: readonly MemberState[]): boolean =>
  standings.every(({ progress }) => progress !== 'waits');

const kernel = ({ slot, pool, balancer, progress }: MemberState) => ({
  ...{ slot, pool, balancer, progress },
});

const standingsOf = (
  wanted: LetGo,
  slots: ReadonlySet<string>,
  pools: readonly Pool[],
): readonly MemberState[] =>
  pools.flatMap((place) =>
    place.members.flatMap((member): MemberState[] => {
      const { slot, sessions, note } = member;
      if (slot === null || !slots.has(slot)) return [];
      const { pool, balancer, isConfigured, isTended, tornDown } = place;
      const strange = isConfigured || isTended ? [] : ['not configured here'];
      const hindrances = [note, ...strange, ...hindrancesOf(place)].filter((text) => text !== null);
      return [
        {
          ...{ slot, pool, balancer, sessions },
          state: memberText(member),
          note: hindrances.length === 0 ? null : hindrances.join('; '),
          progress: progressOf(wanted, member, isConfigured && tornDown === null),
        },
      ];
    }),
  );

/** @param isEntered the pool accepts machines at all. */
function progressOf(
  wanted: LetGo,
  { state, refused }: Member,
  isEntered: boolean,
): MemberState['progress'] {
  if (state === wanted) return 'over';
  if (wanted === 'drained') return refused ? 'refused' : 'waits';
  return state === 'drained' && !isEntered ? 'over' : 'waits';
}

/** What blocks changes of all members of a pool. */
const hindrancesOf = ({ balancer, paused, frozen, tornDown, isTended }: Pool): string[] => [
  ...(isTended ? [] : [`no daemon manages ${balancer} now`]),
  ...(paused === null ? [] : [`the pool is paused by ${paused.by}`]),
  ...(frozen === null ? [] : ['the pool is frozen']),
  ...(tornDown === null ? [] : [`the pool is torn down by ${tornDown.by}`]),
];

function told(
  wanted: LetGo,
  slots: ReadonlySet<string>,
  seen: readonly MemberState[] | null,
): Followed {
  const standings = seen ?? [];
  const isRefused = standings.some(({ progress }) => progress === 'refused');
  const isOver = seen?.every(({ progress }) => progress === 'over') === true;
  const outcome = isRefused ? 'refused' : isOver ? wanted : 'waits';
  const alone = seen ? [...slots].filter((slot) => !seen.some((each) => each.slot === slot)) : [];
  return {
    exitCode: isRefused ? EXIT_FAILED : isOver ? 0 : EXIT_NOT_SETTLED,
    lines: [
      ...standings.map(lineOf),
      ...alone.map((slot) => `${slot} is in no pool`),
      ...(outcome === 'waits' ? [STILL[wanted]] : []),
      ...(outcome === 'refused' ? [KEPT] : []),
    ],
    json: { outcome, members: standings },
  };
}

function lineOf({ slot, pool, balancer, state, sessions, note, progress }: MemberState): string {
  const open = sessions === null ? '' : `, ${sessions} connection${sessions === 1 ? '' : 's'}`;
  const why = note === null ? '' : `; ${note}`;
  const head = progress === 'refused' ? 'REFUSED: ' : '';
  return `${head}${slot} in ${pool} at ${balancer}: ${state}${open}${why}`;
}

const STILL: Readonly<Record<LetGo, string>> = {
  drained:
    'NOT DRAINED YET: the hold stays, and the drain goes on by itself. Repeat the command, see "shepherd lb ' +
    'status", or remove the hold with "shepherd lb undrain"',
  active: 'NOT ACTIVE YET: the undrain goes on by itself. See "shepherd lb status"',
};
const KEPT =
  'the machine may still get traffic, and the hold stays: remove it with "shepherd lb undrain", or ' +
  'remove the cause of the refusal';
