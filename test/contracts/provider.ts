import { describe, expect, test } from 'vitest';
import type { Capabilities } from '../../src/adapters/provider/port.ts';
import { actionsContract } from './provider-actions.ts';
import { creationContract } from './provider-creation.ts';
import { endsContract } from './provider-ends.ts';
import { listingContract } from './provider-listing.ts';
import { type ContractOptions, createScene, isOfWorld, type Need } from './provider-scene.ts';

export { isOfWorld } from './provider-scene.ts';
export type {
  ContractOptions,
  Need,
  ProviderStand,
  Strangers,
  WorldNeed,
} from './provider-scene.ts';

/**
 * What the fleet may count on with every driver. What a driver cannot is named in `without`: the
 * tests that need it prove the refusal instead, and their names say so.
 */
export function providerContract(name: string, options: ContractOptions): void {
  describe(`provider contract: ${name}`, () => {
    const scene = createScene(options);
    test('the driver says what it cannot', () => {
      expect(missing(scene.provider().capabilities)).toEqual(
        scene.without.filter((need) => !isOfWorld(need)).toSorted(),
      );
    });
    listingContract(scene);
    creationContract(scene);
    actionsContract(scene);
    endsContract(scene);
  });
}

const missing = (capabilities: Capabilities): Need[] => {
  const { maxConcurrency: _, create: _c, announces: _a, throwAway: _t, ...rest } = capabilities;
  const { resetController: _r, ...can } = rest;
  return (Object.keys(can) as (keyof typeof can)[]).filter((key) => !can[key]).sort();
};
