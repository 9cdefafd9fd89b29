import { NotFound, UsageError } from '../../domain/errors.ts';
import { providerName } from '../../domain/ids.ts';
import type { ProviderHoldKind } from '../../domain/machine.ts';
import { withProviders, type ReadOptions } from './open-providers.ts';

export interface ClearOptions extends ReadOptions {
  readonly provider: string;
  /** Slots to take off the shelf. */
  readonly slots: readonly string[];
  /** All slots of the provider that are on the shelf; only with `expectCount`. */
  readonly allSlots: boolean;
  readonly expectCount?: number | undefined;
  /** `throttle`, `quota` or `capacity`: all holds of that kind. */
  readonly hold?: ProviderHoldKind | undefined;
}

/**
 * `shepherd provider clear`: takes slots off the shelf, or ends holds, before their time.
 * @throws {UsageError} it is not said what, or the count is another one: nothing was done.
 * @throws {NotFound} a slot is not on the shelf: nothing was done.
 */
export async function clear(options: ClearOptions): Promise<string> {
  const { slots, allSlots, hold, provider, signal } = options;
  if ([slots.length > 0, allSlots, hold !== undefined].filter(Boolean).length !== 1) {
    throw new UsageError('say what: slots by their ids, --all-slots, or --hold <kind>');
  }
  const name = providerName(provider);
  return withProviders(options, async ({ bmdb }) => {
    if (hold !== undefined) {
      const lifted = await bmdb.providerHolds.lift(name, hold);
      return `${lifted} holds of kind ${hold} ended for ${name}`;
    }
    const { penalties } = await bmdb.scan(signal);
    const shelf = penalties.filter((each) => each.provider === name).map(({ slotId }) => slotId);
    const chosen = allSlots ? counted(shelf, options.expectCount) : known(shelf, slots, name);
    for (const slotId of chosen) await bmdb.providerHolds.lift(name, 'penalty', slotId);
    return `${chosen.length} slots of ${name} are off the shelf`;
  });
}

function counted(shelf: readonly string[], expected: number | undefined): readonly string[] {
  if (expected === shelf.length) return shelf;
  const found = `${shelf.length} slots are on the shelf`;
  throw new UsageError(
    expected === undefined
      ? `${found}; confirm with --expect-count ${shelf.length}`
      : `${found}, not ${expected}; nothing was done`,
  );
}

function known(shelf: readonly string[], slots: readonly string[], name: string) {
  const strange = slots.filter((slotId) => !shelf.includes(slotId));
  if (strange.length === 0) return slots;
  throw new NotFound(`${strange.join(', ')}: not on the shelf of ${name}; nothing was done`);
}
