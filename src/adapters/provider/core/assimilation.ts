import { ProviderError } from '../../../domain/errors.ts';
import type { Witness } from '../../../domain/ids.ts';
import type { ProviderMachine } from '../../../domain/machine.ts';
import { SET_ID_TAG, WITNESS_TAG } from '../../../domain/provisioning/provider-tags.ts';
import type { Provider } from '../port.ts';
import type { Calls, Running } from './calls.ts';
import { ourTags } from './first-boot.ts';
import type { Looks } from './looks.ts';
import type { WrittenTags } from './written-tags.ts';

/**
 * Puts our mark on a machine that has none, before anything else is done with it. Where there are no
 * tags, an inventory is itself the mark.
 * @throws {ProviderError} `conflict`: it is another's. `not-implemented`: it cannot be marked.
 */
export async function makeOurs(
  provider: Provider,
  { ask, looks, written }: AssimilationDeps,
  mark: { readonly id: string; readonly witness: Witness; readonly instanceSetId: string },
  running: Running,
): Promise<ProviderMachine> {
  const { id, witness, instanceSetId } = mark;
  const machine = await looks.get(id, running);
  refuseForeign(machine);
  if (!provider.capabilities.tags) {
    if (machine.ownership === 'ours') return machine;
    throw new ProviderError('not-implemented', `machine ${id} cannot be marked`);
  }
  const mine = { [SET_ID_TAG]: instanceSetId, [WITNESS_TAG]: witness };
  const tags = { ...ourTags(machine), ...written.of(id), ...mine };
  await written.during(id, tags, () =>
    ask('SetTags', running, async (options) => provider.setTags(id, tags, options)),
  );
  const marked = await looks.get(id, running);
  refuseForeign(marked);
  // What was just written may be read late.
  return { ...marked, tags: { ...marked.tags, ...tags }, ownership: 'ours' };
}

export interface AssimilationDeps {
  readonly ask: Calls['ask'];
  readonly looks: Pick<Looks, 'get'>;
  readonly written: WrittenTags;
}

/** @throws {ProviderError} `conflict`: it is another's. */
export function refuseForeign({ id, ownership }: Pick<ProviderMachine, 'id' | 'ownership'>): void {
  if (ownership !== 'foreign') return;
  throw new ProviderError('conflict', `machine ${id} belongs to another owner`);
}
