import { afterEach, expect, test } from 'vitest';
import type { Wish } from '../../../src/domain/balancing/members.ts';
import { M1, M2, pool as poolOf } from '../../domain/balancing/pool.ts';
import { createBalancingStand, serve } from '../../support/balancing-stand.ts';
import { MEMBER_VECTORS } from './member-vectors.ts';
import { OBJECT_VECTORS } from './object-vectors.ts';
import { all as namesOf, MINUTE } from './vector-world.ts';
import type { Vector, VectorContext, VectorWorld } from './vector-world.ts';

type Means = keyof VectorWorld;

/** Inherent limits of a kind of balancer. */
export interface Lacks {
  /** What its world cannot do. */
  readonly means?: readonly Means[];
  readonly update?: true;
  /** Only vectors with these numbers run, and none of our own. */
  readonly numbers?: readonly number[];
}

/** Its numbers in the specification's table. */
export const numbersOf = ({ name }: Vector): readonly number[] =>
  [...(/^[^:]*(?=:)/.exec(name)?.[0] ?? '').matchAll(/\d+/g)].map(Number);

/** The vectors that such a balancer can show. */
export const vectorsOf = ({ means = [], update, numbers }: Lacks): readonly Vector[] =>
  [...OBJECT_VECTORS, ...MEMBER_VECTORS].filter((vector) => {
    const { needs = [], only = () => true } = vector;
    if (needs.some((each) => means.includes(each)) || !only({ update: update !== true }))
      return false;
    if (!numbers) return true;
    return !vector.isOurs && numbers.some((each) => numbersOf(vector).includes(each));
  });

/** Runs the vectors that such a balancer can show. An undeclared limit is a failure. */
export function balancingVectors(
  open: (needs: readonly Means[]) => Promise<VectorWorld>,
  lacks: Lacks = {},
): void {
  const ends: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).toReversed()) await end();
  });
  test.for(vectorsOf(lacks))('$name', async (vector) => {
    const { needs = [], only = () => true, run } = vector;
    const world = await open(needs);
    ends.push(() => world.end());
    expect(needs.filter((each) => world[each] === undefined)).toEqual([]);
    expect(only(world.balancer.capabilities)).toBe(true);
    await run(world, await contextOf(world, vector, ends));
  });
}

/** A vector's tools in a world. */
export async function contextOf(
  world: VectorWorld,
  vector: Pick<Vector, 'pool'>,
  ends: (() => Promise<unknown>)[],
): Promise<VectorContext> {
  const pool = poolOf({ ...world.pool, ...vector.pool });
  const other = pool.balancers.length > 1 ? await world.openOther?.() : undefined;
  const balancers = { edge: world.balancer, ...(other && { core: other }) };
  const made = createBalancingStand({ clock: world.clock, pools: [pool], balancers });
  const placed = (wish: Wish): Wish =>
    wish.want === 'serve'
      ? { ...wish, address: world.addresses?.get(wish.address) ?? wish.address }
      : wish;
  const wish = (...wishes: readonly Wish[]) => made.wish(...wishes.map(placed));
  const stand = { ...made, wish };
  const all: VectorContext['all'] = (ids, change) => namesOf(ids, { ...pool, ...change });
  const start: VectorContext['start'] = async (change = {}, how = {}) => {
    const life = await stand.life({ ...how, pools: [{ ...pool, ...change }] });
    ends.push(() => life.stop());
    return life;
  };
  const settle: VectorContext['settle'] = async (change) => {
    stand.wish(serve(M1), serve(M2));
    const life = await start(change);
    await world.pass(MINUTE);
    for (const machine of [M1, M2]) await world.makeWell?.(machine, true);
    await world.pass(2 * MINUTE);
    expect(world.names()).toEqual(all([M1, M2], change));
    expect(stand.states()).toEqual({ [M1]: 'active', [M2]: 'active' });
    return life;
  };
  return { stand, pool, all, start, settle };
}
