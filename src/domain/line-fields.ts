import type { SlotFacts } from './machine.ts';
import { forTraits, TRAITS } from './traits.ts';

/** A text that lists of machines show. */
interface LineField {
  /** Heading on the page. */
  readonly label: string;
  /** Name of its column and of its sort, where that is not the field's own name. */
  readonly column?: string;
  /** The command line shows it only in wide lists. */
  readonly isWide?: true;
  /** Of its column on the page, as a track of a grid. */
  readonly width?: string;
  /** The page shows it in letters of one width. */
  readonly isMono?: true;
  /** Few machines have it: the API leaves it out of the others. */
  readonly isRare?: true;
  /** What the API says of it. */
  readonly note?: string;
  readonly of: (facts: SlotFacts) => string | null;
}

/**
 * The texts of a machine that lists show, each described once: the view of a slot, the API, the order
 * and the search of lists, the command line and the page derive from this table. What has a form of
 * its own (state, times, holds) is written where it is shown.
 */
export const LINE_FIELDS = {
  ...forTraits((name) => ({
    label: TRAITS[name].label,
    width: '76px',
    of: ({ row, listed }: SlotFacts) => row?.provided?.[name] ?? listed?.[name] ?? null,
  })),
  labels: {
    label: 'Labels',
    isWide: true,
    isRare: true,
    note: 'Given by operators: `key=value` with commas between, in the order of their keys.',
    of: ({ row }) => row?.slot.labels ?? null,
  },
  address: {
    label: 'Address',
    isWide: true,
    width: '150px',
    isMono: true,
    of: ({ row, listed }) => row?.provided?.address ?? listed?.address ?? null,
  },
  machineId: {
    label: 'Machine id',
    column: 'machine',
    isWide: true,
    isMono: true,
    note: 'Its present tenancy.',
    of: ({ row, intent }) => row?.machineId ?? intent?.machineId ?? null,
  },
} as const satisfies Readonly<Record<string, LineField>>;

export type LineFieldName = keyof typeof LINE_FIELDS;
export type RareName = {
  [Name in LineFieldName]: (typeof LINE_FIELDS)[Name] extends { isRare: true } ? Name : never;
}[LineFieldName];
export type LineFields = {
  readonly [Name in LineFieldName]: ReturnType<(typeof LINE_FIELDS)[Name]['of']>;
};
/** In the order in which they are shown. */
export const LINE_FIELD_NAMES = Object.keys(LINE_FIELDS) as readonly LineFieldName[];
export const lineField = (name: LineFieldName): LineField => LINE_FIELDS[name];
/** The name of its column. */
export const columnOf = (name: LineFieldName): string => lineField(name).column ?? name;

/** One value for each field. */
export const forLineFields = <T>(make: (name: LineFieldName) => T): Record<LineFieldName, T> =>
  Object.fromEntries(LINE_FIELD_NAMES.map((name) => [name, make(name)])) as Record<
    LineFieldName,
    T
  >;

export function lineFieldsOf(facts: SlotFacts): LineFields {
  const found: Partial<Record<LineFieldName, unknown>> = {};
  for (const name of LINE_FIELD_NAMES) found[name] = LINE_FIELDS[name].of(facts);
  return found as LineFields;
}

/** The fields of a line, without those that few machines have and this one has not. */
export const lineOf = (
  view: LineFields,
): Omit<LineFields, RareName> & { readonly [Name in RareName]?: string } =>
  Object.fromEntries(
    LINE_FIELD_NAMES.flatMap((name) =>
      view[name] === null && lineField(name).isRare ? [] : [[name, view[name]]],
    ),
  ) as never;
