import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createBalancerStage, desiredOf } from '../../src/conformance/balancer/stage.ts';
import type { BalancerStage, BalancerSubject } from '../../src/conformance/balancer/stage.ts';
import { BALANCER_STEPS } from '../../src/conformance/balancer/steps.ts';
import type { PoolRef, Ref } from '../../src/domain/balancing/objects.ts';

/** A balancer without pools, and the function that ends its environment. */
export interface BalancerUnderTest extends BalancerSubject {
  end(): Promise<void>;
}

const live = () => ({ signal: new AbortController().signal });

/**
 * The contract of every load balancer driver: the steps of `shepherd lb test` in order, and the
 * steps that need two pools.
 */
export function balancerContract(open: () => Promise<BalancerUnderTest>): void {
  describe('steps of shepherd lb test', () => {
    let subject: BalancerUnderTest;
    let stage: BalancerStage;
    beforeAll(async () => {
      subject = await open();
      stage = createBalancerStage(subject);
    });
    afterAll(async () => {
      await subject.balancer.close();
      await subject.end();
    });
    test.for(BALANCER_STEPS.map((step) => [step.title, step] as const))('%s', async ([, step]) => {
      const { capabilities } = subject.balancer;
      if (step.suits?.(capabilities) === false) return;
      expect(await step.run(stage, live().signal)).not.toBe(null);
    });
  });

  describe('two pools of one balancer', () => {
    let subject: BalancerUnderTest;
    beforeAll(async () => {
      subject = await open();
    });
    afterAll(async () => {
      await subject.balancer.close();
      await subject.balancer.close();
      await subject.end();
    });

    const backendOf = async (owner: PoolRef): Promise<Ref> => {
      const { balancer } = subject;
      const { backend } = desiredOf({ ...subject, owner });
      return balancer.create(backend, null, owner, live());
    };

    test('change only their own objects', async () => {
      const { balancer, owner, stranger } = subject;
      const [ours, theirs] = await Promise.all([backendOf(owner), backendOf(stranger)]);
      const idsOf = async (of: PoolRef) =>
        (await balancer.observe(of, live())).map(({ ref }) => ref.id);
      expect(await idsOf(owner)).toEqual([ours.id]);
      expect(await idsOf(stranger)).toEqual([theirs.id]);
      await balancer.destroy(ours, owner, live());
      expect(await idsOf(owner)).toEqual([]);
      expect(await idsOf(stranger)).toEqual([theirs.id]);
      await balancer.destroy(theirs, stranger, live());
    });
  });
}
