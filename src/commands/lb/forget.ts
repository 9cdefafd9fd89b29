import { poolJob } from '../../actors/balancing/deps.ts';
import type { PoolForgetter } from '../../adapters/bmdb/balancing-port.ts';
import type { Bmdb, BmdbSession } from '../../adapters/bmdb/port.ts';
import { mayServe } from '../../domain/balancing/members.ts';
import { UsageError } from '../../domain/errors.ts';
import { poolsOf, type Config } from '../../config.ts';
import { poolSummaries } from '../../daemon/views/pool-summaries.ts';
import { slotOfRow } from '../../domain/submission/named-fleet.ts';
import { asOperator, underLease } from '../database.ts';
import type { CommandOutput } from '../remote/output.ts';
import { noteLines, paragraph } from '../layout.ts';
import { placesNamed, type Pool } from './status.ts';

export interface ForgetOptions {
  readonly pool: string;
  /** Only at this load balancer; absent: everywhere. */
  readonly balancer?: string | undefined;
  readonly by: string;
  readonly reason: string;
  /** Confirms. Without it the command only shows what would happen. */
  readonly yes: boolean;
}

export interface ForgetMeans {
  readonly bmdb: Pick<Bmdb, 'scan' | 'openSession'>;
  readonly config: Pick<Config, 'balancers' | 'pools' | 'fleet'>;
}

/** The result for a pool at one load balancer. */
interface Forgotten {
  readonly balancer: string;
  /** Recorded members to which the load balancer may send traffic. */
  readonly serving: number;
  /** Why the records stay; null: they are deleted, or would be. */
  readonly refusal: string | null;
}

const REFUSED = 1;

/**
 * `shepherd lb forget`: deletes the records of a pool that no daemon manages any more, so that no order
 * waits for the pool. Asks no load balancer.
 * @throws {NotFound} the pool has no records. @throws {UsageError} the pool is in this configuration.
 */
export async function forgetPool(
  options: ForgetOptions,
  means: ForgetMeans,
): Promise<CommandOutput> {
  if (options.reason.trim() === '' || options.by.trim() === '') {
    throw new UsageError('--by and --reason must not be empty; give your name and a reason');
  }
  const { pool, balancer = null, yes } = options;
  const places = placesNamed(options, await recordedPools(means));
  const ours = places.filter(({ isConfigured }) => isConfigured);
  if (ours.length > 0) {
    const names = ours.map(({ balancer }) => balancer).join(', ');
    throw new UsageError(
      `pool ${pool} is configured at ${names}; only records of an unconfigured pool can be deleted; ` +
        `"shepherd lb teardown ${pool}" releases its members, and removes it from there`,
    );
  }
  const told = yes ? await forgetAll(options, places, means) : places.map(wouldForget);
  const isDone = told.every(({ refusal }) => refusal === null);
  const head = yes ? `pool ${pool}:` : `all records of pool ${pool} would be deleted:`;
  const tail = yes ? [] : ['nothing was done; confirm with --yes'];
  return {
    document: { verb: 'forget-pool', pool, balancer, dryRun: !yes, at: told },
    text(width) {
      const lines = told.map((each) => noteLines(inWords(each, yes), width));
      return [head, ...lines, paragraph(UNTOUCHED, width), ...tail].join('\n');
    },
    exitCode: isDone ? 0 : REFUSED,
  };
}

async function recordedPools({ bmdb, config }: ForgetMeans): Promise<readonly Pool[]> {
  const { pools: rows, leases, machines } = await bmdb.scan(new AbortController().signal);
  return poolSummaries({
    ...{ pools: poolsOf(config), balancers: config.balancers, rows, leases },
    machines: machines.map((row) => ({ slot: slotOfRow(row), members: row.members })),
  });
}

const UNTOUCHED =
  'Objects at the balancer stay, so it may go on sending traffic to these machines. Shepherd will then ' +
  'interrupt the machines without draining them. To remove the objects, configure the pool ' +
  'again, and tear it down.';

const inWords = ({ balancer, serving, refusal }: Forgotten, isDone: boolean): string =>
  refusal === null
    ? `at ${balancer}, with ${serving} members that may serve${isDone ? ': forgotten' : ''}`
    : `at ${balancer}: NOT FORGOTTEN: ${refusal}`;

const servingAt = ({ members }: Pool): number => members.filter(mayServe).length;
const wouldForget = (place: Pool): Forgotten => ({
  balancer: place.balancer,
  serving: servingAt(place),
  refusal: null,
});

const forgetAll = (
  { pool, by, reason }: ForgetOptions,
  places: readonly Pool[],
  { bmdb }: Pick<ForgetMeans, 'bmdb'>,
): Promise<readonly Forgotten[]> =>
  asOperator(bmdb, `${by} deletes the records of pool ${pool}: ${reason}`, async (session) => {
    const told: Forgotten[] = [];
    for (const place of places) told.push(await forgetOne(session, place, { by, reason }));
    return told;
  });

/**
 * Works under the lease for this pool at this load balancer, which a daemon with the pool in its configuration
 * holds. Daemons that manage other pools there do not know this pool.
 */
async function forgetOne(
  session: BmdbSession,
  place: Pool,
  who: PoolForgetter,
): Promise<Forgotten> {
  const { pool, balancer } = place;
  const isDone = await underLease(session, poolJob(place), async (lease) => {
    await session.balancing.forget(lease, { pool, balancer }, who);
    return true;
  });
  return isDone ? wouldForget(place) : { ...wouldForget(place), refusal: heldText(pool, balancer) };
}

const heldText = (pool: string, balancer: string): string =>
  `a daemon manages it there now, because its configuration has the pool: tear it down instead ` +
  `("shepherd lb teardown ${pool} --balancer ${balancer}"), or restart that daemon without it`;
