import type { BmdbSession } from '../../adapters/bmdb/port.ts';
import { slot as slotName, type ProviderName, type Witness } from '../../domain/ids.ts';
import type { ProviderMachine } from '../../domain/machine.ts';
import { holdsMeantBy, taggedBehaviour } from '../../domain/provisioning/idle-behaviour.ts';
import type { ProvisionDeps } from './deps.ts';

/** A device that is about to be adopted, and where. */
export interface Adoption {
  readonly provider: ProviderName;
  readonly slotId: string;
  readonly witness: Witness;
  readonly device: ProviderMachine;
}

/**
 * Puts the holds on a slot that the tags of its device tell of, before the device is adopted: from
 * then on somebody may work on it. Safe to repeat, and not repeated once an operator took them away.
 */
export async function restoreHolds(
  { bmdb, log }: Pick<ProvisionDeps, 'bmdb' | 'log'>,
  { provider, slotId, witness, device }: Adoption,
  session: BmdbSession,
): Promise<void> {
  const behaviour = taggedBehaviour(device.tags);
  const reason = `its device was tagged ${behaviour} when it was adopted`;
  for (const kind of holdsMeantBy(behaviour)) {
    const target = { provider, slotId, machineId: null };
    const what = { verb: 'hold', target, kind, untilMs: null } as const;
    const key = `adopted ${witness} ${kind}`;
    await bmdb.requests.file({ key, by: 'shepherd', reason, what });
    await session.settle(key);
    log.info({ slot: slotName(provider, slotId), device: device.id, kind }, 'hold restored');
  }
}
