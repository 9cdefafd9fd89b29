import { isProviderError, ProviderError } from '../../../domain/errors.ts';
import type { Witness } from '../../../domain/ids.ts';
import type { ProviderMachine } from '../../../domain/machine.ts';
import { WITNESS_TAG } from '../../../domain/provisioning/provider-tags.ts';
import type { FleetCreateRequest } from '../port.ts';

/**
 * A provider that makes no machines: what it lists is there already. To create is then to take a
 * machine in as it is, and to give it back is to let it go; nothing is asked of the driver.
 */
export function createInventory() {
  const shown = new Map<string, ProviderMachine>();

  const marked = (machine: ProviderMachine, witness: Witness): ProviderMachine => ({
    ...machine,
    tags: { ...machine.tags, [WITNESS_TAG]: witness },
  });

  return {
    /** Remembers what is shown; a machine that stands in the list no more may have to be reached. */
    note<Machine extends ProviderMachine>(machine: Machine): Machine {
      if (machine.id !== null) shown.set(machine.id, machine);
      return machine;
    },
    lastSeen: (id: string): ProviderMachine | null => shown.get(id) ?? null,

    /** @throws {ProviderError} `race-lost`: the inventory has it no more. */
    async takeIn(
      { unused, witness, onAttempt }: FleetCreateRequest,
      get: (id: string) => Promise<ProviderMachine>,
    ): Promise<ProviderMachine> {
      if (unused?.availability !== 'PossiblyUsed' || unused.id === null) {
        throw new ProviderError('invalid', 'only a machine of the inventory can be taken in');
      }
      const machine = await found(unused.id, get);
      if (machine?.ownership !== 'ours') {
        throw new ProviderError('race-lost', `the inventory has machine ${unused.id} no more`);
      }
      await onAttempt?.({ attempts: 1, ambiguous: false });
      return marked(machine, witness);
    },

    /** The machine that a slot is, if it is there. */
    async find(
      witness: Witness,
      slotId: string,
      get: (id: string) => Promise<ProviderMachine>,
    ): Promise<ProviderMachine | null> {
      const machine = await found(slotId, get);
      return machine && marked(machine, witness);
    },
  };
}

async function found(id: string, get: (id: string) => Promise<ProviderMachine>) {
  try {
    return await get(id);
  } catch (error) {
    if (isProviderError(error, 'not-found')) return null;
    throw error;
  }
}
