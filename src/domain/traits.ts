/**
 * Traits: texts from a provider that distinguish machines, such as their location. Each trait
 * defined here is checked, copied into the BMDB, compared, displayed, searched and filtered. A new
 * trait also needs its column in `machine_provided` and a driver that reports it. Further effects
 * of a trait are defined where they are decided: the budget per location is in
 * `recovery/permits.ts`.
 */

/** A trait. Its name is one lower-case word: options, parameters and keys use the name. */
interface Trait {
  /** Heading of its column on the page. */
  readonly label: string;
  /** The machines that an option selects by it: "only those …", "all of this provider …". */
  readonly column: string;
  /** Every provider reports it eventually. Until then the device is read often. */
  readonly chosen: string;
  /** Every provider tells it in the end. Until then the device is read often. */
  readonly awaited: boolean;
}

export const TRAITS = {
  location: {
    label: 'Location',
    column: 'provider_location',
    chosen: 'at this location',
    awaited: true,
  },
} as const satisfies Readonly<Record<string, Trait>>;

export type TraitName = keyof typeof TRAITS;
/** In display order. */
export const TRAIT_NAMES = Object.keys(TRAITS) as readonly TraitName[];

/** The traits of one machine; null: unknown, or it has none. */
export type Traits = { readonly [Name in TraitName]: string | null };
/** Required traits of a machine; absent: any. */
export type TraitFilter = { readonly [Name in TraitName]?: string | undefined };

/** Makes one value for each trait. */
export function forTraits<T>(make: (name: TraitName) => T): Record<TraitName, T> {
  const made: Partial<Record<TraitName, T>> = {};
  for (const name of TRAIT_NAMES) made[name] = make(name);
  return made as Record<TraitName, T>;
}

/** Extracts the traits from an object with other fields. */
export const traitsOf = (told: Partial<Traits>): Traits => forTraits((name) => told[name] ?? null);

/** The traits of a machine without any information. */
export const NO_TRAITS: Traits = traitsOf({});

/** The traits that a filter names, each with its required text. */
export const wantedTraits = (filter: TraitFilter): (readonly [TraitName, string])[] =>
  TRAIT_NAMES.flatMap((name) => {
    const wanted = filter[name];
    return wanted === undefined ? [] : [[name, wanted] as const];
  });

/** Whether a machine matches all parts of a filter. */
export function traitMatcher(filter: TraitFilter): (machine: Traits) => boolean {
  const wanted = wantedTraits(filter);
  return (machine) => wanted.every(([name, text]) => machine[name] === text);
}
