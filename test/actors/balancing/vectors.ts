import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Wish } from '../../../src/domain/balancing/members.ts';
import { M1, M2, pool as poolOf } from '../../domain/balancing/pool.ts';
import { createBalancingStand, serve, type StandLife } from '../../support/balancing-stand.ts';
import { MEMBER_VECTORS } from './member-vectors.ts';
import { OBJECT_VECTORS } from './object-vectors.ts';
import { all, MINUTE, type VectorWorld } from './vector-world.ts';

/** What a kind of balancer lacks by its nature. */
export interface Lacks {
  /** What its world cannot be made to do. */
  readonly means?: readonly (keyof VectorWorld)[];
  readonly update?: true;
  readonly adopt?: true;
}

/** Runs the vectors that such a balancer can show. What it lacks without saying so is a failure. */
export function balancingVectors(open: () => Promise<VectorWorld>, lacks: Lacks = {}): void {
  const { means = [], update = false, adopt = false } = lacks;
  const shown = [...OBJECT_VECTORS, ...MEMBER_VECTORS].filter(
    ({ needs = [], only = () => true }) =>
      !needs.some((each) => means.includes(each)) && only({ update: !update, adopt: !adopt }),
  );
  let world: VectorWorld;
  const placed = (wish: Wish): Wish =>
    wish.want === 'serve'
      ? { ...wish, address: world.addresses?.get(wish.address) ?? wish.address }
      : wish;
  const lives: StandLife[] = [];
  beforeEach(async () => {
    world = await open();
  });
  afterEach(async () => {
    for (const life of lives.splice(0)) await life.stop();
    await world.end();
  });
  test.for(shown)('$name', async ({ needs = [], only = () => true, pool, run }) => {
    expect(needs.filter((each) => world[each] === undefined)).toEqual([]);
    expect(only(world.balancer.capabilities)).toBe(true);
    const made = createBalancingStand({
      clock: world.clock,
      pools: [poolOf({ ...world.pool, ...pool })],
      balancers: { edge: world.balancer },
    });
    const wish = (...wishes: readonly Wish[]) => made.wish(...wishes.map(placed));
    const stand = { ...made, wish };
    const start = async () => {
      const life = await stand.life();
      lives.push(life);
      return life;
    };
    const settle = async () => {
      stand.wish(serve(M1), serve(M2));
      const life = await start();
      await world.pass(3 * MINUTE);
      expect(world.names()).toEqual(all());
      expect(stand.states()).toEqual({ [M1]: 'active', [M2]: 'active' });
      return life;
    };
    await run(world, { stand, start, settle });
  });
}
