import type { ProvidedPatch } from '../adapters/bmdb/port.ts';
import type { Log } from '../adapters/log/port.ts';
import { codeOf, explain } from '../domain/errors.ts';
import type { Slot } from '../domain/ids.ts';
import type { SlotFacts } from '../domain/machine.ts';
import type { SessionKeeper } from './session-keeper.ts';

/** Nothing is cleared: a value that the provider did not give says nothing. */
export function patchFor({ row, listed }: SlotFacts): ProvidedPatch | null {
  const provided = row?.provided;
  if (!provided || !listed || listed.id !== provided.providerId) return null;
  const patch = {
    ...(listed.address && listed.address !== provided.address && { address: listed.address }),
    ...(listed.location && listed.location !== provided.location && { location: listed.location }),
    ...(listed.status && listed.status !== provided.status && { status: listed.status }),
  };
  return Object.keys(patch).length > 0 ? patch : null;
}

/**
 * Writes what the providers report of known machines into the BMDB. Idempotent, so it does not
 * matter that several daemons do it. A machine that fails is tried again at the next round.
 */
export async function updateProvided(
  facts: ReadonlyMap<Slot, SlotFacts>,
  keeper: SessionKeeper,
  log: Log,
): Promise<void> {
  for (const known of facts.values()) {
    const patch = patchFor(known);
    const session = keeper.current();
    if (!session) return;
    if (!patch || !known.row) continue;
    const fields = { slot: known.slot, machine: known.row.machineId };
    try {
      await session.updateProvided(known.row.machineId, patch);
      log.debug({ ...fields, patch }, 'provider data updated');
    } catch (error) {
      log.warn({ ...fields, code: codeOf(error), cause: explain(error) }, 'update failed');
    }
  }
}
