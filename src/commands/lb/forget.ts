import { poolJob } from '../../actors/balancing/deps.ts';
import type { PoolForgetter } from '../../adapters/bmdb/balancing-port.ts';
import type { Bmdb, BmdbSession } from '../../adapters/bmdb/port.ts';
import { mayServe } from '../../domain/balancing/members.ts';
import { UsageError } from '../../domain/errors.ts';
import { poolsOf, type Config } from '../../config.ts';
import { poolSummaries } from '../../daemon/views/pool-summaries.ts';
import { slotOfRow } from '../../domain/filing/named-fleet.ts';
import { asOperator, underLease } from '../database.ts';
import type { Told } from '../remote/output.ts';
import { noteLines, paragraph } from '../layout.ts';
import { placesNamed, type Pool } from './status.ts';

export interface ForgetOptions {
  readonly pool: string;
  /** Only at this one; wherever it is recorded when absent. */
  readonly balancer?: string | undefined;
  readonly by: string;
  readonly reason: string;
  /** Agrees; otherwise it is only told what would be forgotten. */
  readonly yes: boolean;
}

export interface ForgetMeans {
  readonly bmdb: Pick<Bmdb, 'scan' | 'openSession'>;
  readonly config: Pick<Config, 'balancers' | 'pools' | 'fleet'>;
}

/** What became of a pool at a balancer. */
interface Forgotten {
  readonly balancer: string;
  /** Machines that the balancer may send traffic to, as was recorded. */
  readonly serving: number;
  /** Why it was not forgotten; null: it was, or would be. */
  readonly refusal: string | null;
}

const REFUSED = 1;

/**
 * `shepherd lb forget`: removes what is recorded of a pool that no daemon tends any more, so that
 * nothing waits for it. No balancer is asked for anything.
 * @throws {NotFound} nothing is recorded of it. @throws {UsageError} it is in this configuration.
 */
export async function forgetPool(options: ForgetOptions, means: ForgetMeans): Promise<Told> {
  if (options.reason.trim() === '' || options.by.trim() === '') {
    throw new UsageError('say who asks and why: --by and --reason must not be empty');
  }
  const { pool, balancer = null, yes } = options;
  const places = placesNamed(options, await recordedPools(means));
  const ours = places.filter(({ isConfigured }) => isConfigured);
  if (ours.length > 0) {
    const names = ours.map(({ balancer }) => balancer).join(', ');
    throw new UsageError(
      `pool ${pool} is configured at ${names}: only what no configuration has is forgotten; ` +
        `"shepherd lb teardown ${pool}" lets its members go, and removes it from there`,
    );
  }
  const told = yes ? await forgetAll(options, places, means) : places.map(wouldForget);
  const isDone = told.every(({ refusal }) => refusal === null);
  const head = yes ? `pool ${pool}:` : `all that is recorded of pool ${pool} would be forgotten:`;
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
  'What is at the balancer is not touched: it may go on sending traffic to these machines, which are ' +
  'from then on interrupted without being let go. Whoever wants it removed there configures the pool ' +
  'again, and tears it down.';

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
  asOperator(bmdb, `${by} has pool ${pool} forgotten: ${reason}`, async (session) => {
    const told: Forgotten[] = [];
    for (const place of places) told.push(await forgetOne(session, place, { by, reason }));
    return told;
  });

/**
 * Under the lease of tending the pool there: a daemon that has the pool in its configuration has that,
 * and does not begin meanwhile. Daemons that tend other pools at the balancer know nothing of this one.
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
  `a daemon tends it there now, since its configuration has it: have it torn down instead ` +
  `("shepherd lb teardown ${pool} --balancer ${balancer}"), or start that daemon anew without it`;
