import { NotFound, UsageError } from '../../domain/errors.ts';
import type { Pools } from '../remote/answers.ts';
import type { Client } from '../remote/client.ts';
import { isAway } from '../remote/failures.ts';
import type { Session } from '../remote/session.ts';
import { printable } from '../text-table.ts';

/** A pool at one of its balancers, as the API tells of it. */
export type Pool = Pools['pools'][number];
export type Member = Pool['members'][number];

/** Which pool is meant, and whether only at one of its balancers. */
export interface PoolNamed {
  readonly pool: string;
  readonly balancer?: string | undefined;
}

export const readPools = (client: Client): Promise<Pools> => client.get<Pools>('/pools');

/** All of them, while something is waited for; null: the console is away for now. */
export async function seePools({ client, signal }: Session): Promise<readonly Pool[] | null> {
  try {
    return (await readPools(client)).pools;
  } catch (error) {
    if (signal.aborted || isAway(error)) return null;
    throw error;
  }
}

const LOOK_MS = 1_000;

/** Until the next look: of many members a look costs the console something, and it has others to answer. */
export const restAfterLook = ({ monotonic, sleep }: Session, beganMs: number): Promise<void> =>
  sleep(Math.max(LOOK_MS, 10 * (monotonic() - beganMs)));

/** The places of one pool, or of all. @throws {NotFound} there is no such pool. */
export function placesOf<Place extends { readonly pool: string }>(
  wanted: string | undefined,
  all: readonly Place[],
): readonly Place[] {
  if (wanted === undefined) return all;
  const own = all.filter(({ pool }) => pool === wanted);
  if (own.length > 0) return own;
  const known = [...new Set(all.map(({ pool }) => pool))].join(', ') || 'none';
  throw new NotFound(`no pool is named ${printable(wanted)}; there is ${known}`);
}

/**
 * Where it is meant: at all balancers of which something is configured or recorded, or at one.
 * @throws {NotFound} there is no such pool. @throws {UsageError} it is not at that balancer.
 */
export function placesNamed({ pool, balancer }: PoolNamed, all: readonly Pool[]): readonly Pool[] {
  const own = placesOf(pool, all);
  const places = own.filter((each) => balancer === undefined || each.balancer === balancer);
  if (places.length > 0) return places;
  const known = own.map((each) => each.balancer).join(', ');
  throw new UsageError(`pool ${pool} is not at ${printable(balancer ?? '')}, but at ${known}`);
}
