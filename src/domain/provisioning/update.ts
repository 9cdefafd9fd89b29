import type { MachineRow, Provided, ProviderMachine } from '../machine.ts';
import { TRAIT_NAMES, TRAITS, type Traits } from '../traits.ts';

/** Changes of a machine's hardware to write; absent keys keep their value. */
interface ProvidedChange extends Partial<Traits> {
  readonly absent?: boolean;
  readonly address?: string | null;
  readonly status?: NonNullable<Provided['status']>;
}

/** Fields that a provider may stop reporting. */
export const CLEARABLE = ['address', ...TRAIT_NAMES] as const;
export type Clearable = (typeof CLEARABLE)[number];

const MINUTE_MS = 60_000;
/** Interval between reads of the device of a machine at rest. */
const RECHECK_REST_MS = 30 * MINUTE_MS;
/** The interval for a machine that changes or has missing fields. */
export const RECHECK_SOON_MS = MINUTE_MS;

export interface Update {
  /** Null: nothing new. */
  readonly change: ProvidedChange | null;
  /** Fields that the provider stopped reporting: a second reading without them clears them. */
  readonly doubtful: readonly Clearable[];
  readonly recheckMs: number;
}

/**
 * What a reading of a machine's device adds to the BMDB. Compares each field separately. A value
 * that the provider no longer gives is cleared by the second such reading in a row.
 * @param doubtful fields that the previous reading did not find.
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

/** Texts to write: new values, and null for values missing twice in a row. */
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

/** A device that lacks one of these fields is read again soon. */
const AWAITED: readonly Clearable[] = [
  'address',
  ...TRAIT_NAMES.filter((name) => TRAITS[name].awaited),
];

/** When to read the device again if nothing changed. */
export function recheckMs(seen: ProviderMachine): number {
  const isWhole = seen.reservationId !== null && AWAITED.every((field) => seen[field] !== null);
  return isWhole && isAtRest(seen) ? RECHECK_REST_MS : RECHECK_SOON_MS;
}

/** Whether the device stays as it is; not while it is switched on or off, or taken away. */
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

/** Wait after this number of failed readings in a row (from 1): 1, 2, 4 … 30 min. */
export const failedReadMs = (failures: number): number =>
  Math.min(RECHECK_REST_MS, RECHECK_SOON_MS * 2 ** Math.min(failures - 1, 16));

/** Spreads a wait by ± 10 %, so that readings do not come together. */
export const recheckJitter = (waitMs: number, chance: number): number =>
  waitMs * (0.9 + 0.2 * chance);
