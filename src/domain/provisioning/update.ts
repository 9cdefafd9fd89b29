import type { MachineRow, Provided, ProviderMachine } from '../machine.ts';
import { TRAIT_NAMES, TRAITS, type Traits } from '../traits.ts';

/** What is to be written of a machine's hardware; absent keys stay as they are. */
interface ProvidedChange extends Partial<Traits> {
  readonly absent?: boolean;
  readonly address?: string | null;
  readonly status?: NonNullable<Provided['status']>;
}

/** Fields that a provider may cease to tell. */
export const CLEARABLE = ['address', ...TRAIT_NAMES] as const;
export type Clearable = (typeof CLEARABLE)[number];

const MINUTE_MS = 60_000;
/** The device of a machine at rest is read so often. */
const RECHECK_REST_MS = 30 * MINUTE_MS;
/** One that changes, or of which something is missing. */
export const RECHECK_SOON_MS = MINUTE_MS;

export interface Update {
  /** Null: nothing new. */
  readonly change: ProvidedChange | null;
  /** Fields that the provider no longer gave: the next reading that agrees clears them. */
  readonly doubtful: readonly Clearable[];
  readonly recheckMs: number;
}

/**
 * What a reading of a machine's device says that the BMDB does not. Each field is compared by itself. A
 * value that the provider no longer gives is cleared by the second reading in a row that agrees.
 * @param doubtful fields that the reading before this one did not find.
 */
export function updateOf(
  row: MachineRow,
  seen: ProviderMachine,
  doubtful: readonly Clearable[],
): Update {
  const provided = row.provided!;
  const gone = CLEARABLE.filter((field) => seen[field] === null && provided[field] !== null);
  const isBack = seen.status !== 'Missing' && row.missing !== null;
  const change: ProvidedChange = {
    ...(isBack && { absent: false }),
    ...textsOf(provided, seen, doubtful),
    ...(seen.status !== null && seen.status !== provided.status && { status: seen.status }),
  };
  const isNew = Object.keys(change).length > 0;
  return {
    change: isNew ? change : null,
    doubtful: gone.filter((field) => !doubtful.includes(field)),
    recheckMs: isNew ? RECHECK_SOON_MS : recheckMs(seen),
  };
}

/** Texts to write: what is told anew, and what is told no longer for the second time. */
function textsOf(
  provided: Provided,
  seen: ProviderMachine,
  doubtful: readonly Clearable[],
): Pick<ProvidedChange, Clearable> {
  const changed = CLEARABLE.filter(
    (field) =>
      seen[field] !== provided[field] && (seen[field] !== null || doubtful.includes(field)),
  );
  return Object.fromEntries(changed.map((field) => [field, seen[field]]));
}

/** A device that is read without one of these is read again soon. */
const AWAITED: readonly Clearable[] = [
  'address',
  ...TRAIT_NAMES.filter((name) => TRAITS[name].awaited),
];

/** When to read the device again, if nothing changed. */
export function recheckMs(seen: ProviderMachine): number {
  const isWhole = seen.reservationId !== null && AWAITED.every((field) => seen[field] !== null);
  return isWhole && isAtRest(seen) ? RECHECK_REST_MS : RECHECK_SOON_MS;
}

/** Whether it will stay as it is; what is being switched on or off, or taken away, will not. */
function isAtRest({ status, power }: ProviderMachine): boolean {
  switch (status) {
    case 'Running':
    case 'ProvisioningFailedPermanent':
      return true;
    case 'Stopped':
    case 'Missing':
      return power === 'off';
    default:
      return false;
  }
}

/** Wait after so many failed readings in a row (from 1): 1, 2, 4 … 30 min. */
export const failedReadMs = (failures: number): number =>
  Math.min(RECHECK_REST_MS, RECHECK_SOON_MS * 2 ** Math.min(failures - 1, 16));

/** Within ± 10 %, so that many readings do not come together. */
export const recheckJitter = (waitMs: number, chance: number): number =>
  waitMs * (0.9 + 0.2 * chance);
