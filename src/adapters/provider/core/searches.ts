import { ProviderError } from '../../../domain/errors.ts';
import type { Witness } from '../../../domain/ids.ts';
import type { ProviderMachine } from '../../../domain/machine.ts';
import { WITNESS_TAG } from '../../../domain/provisioning/provider-tags.ts';
import type { FleetCall, Provider } from '../port.ts';
import { requireFlag } from './answers.ts';
import type { Calls, Running } from './calls.ts';
import type { Looks } from './looks.ts';

/** What a driver may answer by itself, and what a listing tells where it does not. */
export function createSearches(
  provider: Provider,
  { seen, list }: Pick<Looks, 'seen' | 'list'>,
  ask: Calls['ask'],
) {
  return {
    /**
     * The machine of a creation.
     * @throws {ProviderError} `race-lost`: it carries another owner's mark. `transient`: a listing
     *   that is not complete, or holds what cannot be read, does not tell.
     */
    async find(
      witness: Witness,
      slotId: string,
      within: FleetCall | Running,
    ): Promise<ProviderMachine | null> {
      const { findByWitness } = provider;
      if (findByWitness) {
        return ask('Find', within, async (options) => {
          const found = await findByWitness.call(provider, witness, slotId, options);
          return found === null ? null : seen(found);
        });
      }
      const { machines, complete, unreadable = [] } = await list(within);
      const found = machines.find(({ tags }) => tags[WITNESS_TAG] === witness) ?? null;
      if (found?.ownership === 'foreign') {
        throw new ProviderError('race-lost', `machine ${found.id} carries another owner's tag`);
      }
      // One that cannot be read may be the one.
      if (found || (complete && unreadable.length === 0)) return found;
      throw new ProviderError('transient', 'a listing with gaps does not tell');
    },

    async isReusable(slotId: string, within: FleetCall | Running): Promise<boolean> {
      const { isReusable } = provider;
      if (isReusable) {
        return ask('Reusable', within, async (options) =>
          requireFlag(await isReusable.call(provider, slotId, options), 'isReusable'),
        );
      }
      const { machines } = await list(within);
      return machines.some(
        ({ availability, reservationId, id }) =>
          availability !== 'KnownUsed' && (reservationId ?? id) === slotId,
      );
    },
  };
}
