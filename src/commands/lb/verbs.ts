import { GONE } from '../../domain/balancing/pool-row.ts';
import type { PoolVerb } from '../../domain/verbs.ts';
import { paragraph } from '../layout.ts';
import type { Pools } from '../remote/answers.ts';
import { EXIT_NOT_SETTLED } from '../remote/failures.ts';
import { submit, type AskFlags, type Follow } from '../remote/submit.ts';
import type { CommandOutput } from '../remote/output.ts';
import type { Session } from '../remote/session.ts';
import { placesNamed, watchPools, type Pool, type PoolNamed } from './status.ts';

export interface PoolVerbFlags extends AskFlags {
  /** Only at this load balancer; absent: at all load balancers of the pool. */
  readonly balancer?: string | undefined;
  /** Confirms a tear-down. Without it the command only shows what would happen. */
  readonly yes?: boolean;
}

const WAIT_MS = 30_000;
/** A tear-down takes longer, because the command waits until everything is removed. */
const TEARDOWN_WAIT_MS = 120_000;

/**
 * `shepherd lb pause|resume|thaw|teardown POOL`: sends a request to the daemon that manages the pool, and
 * waits for it. A tear-down also waits until everything of the pool is gone.
 * @throws {NotFound} no pool has this name. @throws {UsageError} the pool is not at that load balancer.
 */
export const runPoolVerb =
  (verb: PoolVerb) =>
  async (session: Session, flags: PoolVerbFlags, pool: string): Promise<CommandOutput> => {
    const { balancer, yes = false } = flags;
    const { pools } = await session.client.get<Pools>('/pools');
    const places = placesNamed({ pool, balancer }, pools);
    const body = { verb, pool, ...(balancer !== undefined && { balancer }) };
    if (verb !== 'teardown-pool') return submit(session, body, { ...flags, waitMs: WAIT_MS });
    if (!yes) return wouldTearDown(pool, places);
    const follow = untilGone({ pool, balancer }, session);
    return submit(session, body, { ...flags, waitMs: TEARDOWN_WAIT_MS, follow });
  };

function wouldTearDown(pool: string, places: readonly Pool[]): CommandOutput {
  const at = places.map(({ balancer, members }) => ({ balancer, members: members.length }));
  const head = `all of pool ${pool} would be removed; clients could no longer reach it at:`;
  const lines = at.map(({ balancer, members }) => `    ${balancer}, with ${members} members`);
  return {
    document: { dryRun: true, verb: 'teardown-pool', pool, at },
    names: [pool],
    text: (width) =>
      [paragraph(head, width), ...lines, 'nothing was done; confirm with --yes'].join('\n'),
  };
}

interface Left {
  readonly balancer: string;
  readonly state: string | null;
  readonly reason: string | null;
  readonly isTended: boolean;
  readonly pausedBy: string | null;
  readonly members: number;
}

/** Waits until nothing of the pool is left. When the time is over it reports what is left. */
const untilGone =
  (meant: PoolNamed, session: Session): Follow =>
  async (_, endMs) => {
    const left = await watchPools(session, endMs, (pools) => {
      const found = leftOf(meant, pools);
      return { seen: found, isOver: found.length === 0 };
    });
    const exitCode = left?.length === 0 ? 0 : EXIT_NOT_SETTLED;
    return { exitCode, lines: left ? leftText(left) : [], json: { left } };
  };

const leftOf = ({ pool, balancer }: PoolNamed, all: readonly Pool[]): readonly Left[] =>
  all
    .filter((each) => each.pool === pool && (balancer ?? each.balancer) === each.balancer)
    .filter((place) => !isGone(place))
    .map(({ members, paused, ...place }) => ({
      balancer: place.balancer,
      state: place.state,
      reason: place.reason,
      isTended: place.isTended,
      pausedBy: paused?.by ?? null,
      members: members.filter(({ state }) => state !== 'drained').length,
    }));

/** A daemon has looked after the request, and found nothing of the pool at the load balancer. */
const isGone = ({ state, tornDown, settledAtMs }: Pool): boolean =>
  state === GONE && tornDown !== null && settledAtMs !== null && settledAtMs >= tornDown.atMs;

const leftText = (left: readonly Left[]): string[] =>
  left.length === 0
    ? ['everything is removed']
    : left.map(({ balancer, state, reason, members, isTended, pausedBy }) =>
        state === null
          ? `NOT TORN DOWN at ${balancer}: no daemon has managed it there yet, and a daemon that does would create ` +
            'it: remove the pool from the configuration, or repeat the command then'
          : [
              `NOT GONE YET at ${balancer}: ${state}, ${members} members left`,
              ...(reason === null ? [] : [reason]),
              ...(isTended ? [] : [`no daemon manages ${balancer} now`]),
              pausedBy === null
                ? 'the tear-down goes on by itself; repeat the command, or see "shepherd lb status"'
                : `the pool is paused by ${pausedBy}: resume it, and repeat the command`,
            ].join('; '),
      );
