/**
 * Traits: the texts that a provider tells of a machine and by which people tell machines apart, such
 * as where it is. Each one that is defined here is checked, copied into the BMDB, compared, shown by
 * page and commands, and can be searched and filtered by. A new one also needs its column in
 * `machine_provided`, and a driver that tells it. What else depends on a trait is written where it is
 * decided: the budget of each location is in `recovery/permits.ts`.
 */

/** One of them. Its name is one word of small letters: an option, a parameter and a key are named so. */
interface Trait {
  /** Heading of its column on the page. */
  readonly label: string;
  /** Its column in `machine_provided`. */
  readonly column: string;
  /** Which machines an option chooses by it: "only those …", "all machines of this provider …". */
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
/** In the order in which they are shown. */
export const TRAIT_NAMES = Object.keys(TRAITS) as readonly TraitName[];

/** What is told of one machine; null: not known, or there is no such thing. */
export type Traits = { readonly [Name in TraitName]: string | null };
/** What a machine must have to be chosen; absent: anything. */
export type TraitFilter = { readonly [Name in TraitName]?: string | undefined };

/** One value for each trait. */
export function forTraits<T>(make: (name: TraitName) => T): Record<TraitName, T> {
  const made: Partial<Record<TraitName, T>> = {};
  for (const name of TRAIT_NAMES) made[name] = make(name);
  return made as Record<TraitName, T>;
}

/** The traits of something that has other fields, too. */
export const traitsOf = (told: Partial<Traits>): Traits => forTraits((name) => told[name] ?? null);

/** The traits of a machine of which nothing is told. */
export const NO_TRAITS: Traits = traitsOf({});

/** The traits that a filter names, each with the text that it asks for. */
export const wantedTraits = (filter: TraitFilter): (readonly [TraitName, string])[] =>
  TRAIT_NAMES.flatMap((name) => {
    const wanted = filter[name];
    return wanted === undefined ? [] : [[name, wanted] as const];
  });

/** Whether a machine has all that a filter names. */
export function traitMatcher(filter: TraitFilter): (machine: Traits) => boolean {
  const wanted = wantedTraits(filter);
  return (machine) => wanted.every(([name, text]) => machine[name] === text);
}
