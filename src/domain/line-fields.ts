import { trueTypes } from './conditions.ts';
import type { SlotFacts } from './machine.ts';
import { forTraits, TRAITS } from './traits.ts';

/** A text column in lists of machines. */
interface LineField {
  /** Heading on the page. */
  readonly label: string;
  /** Name of its column and its sort key, if different from the field's name. */
  readonly column?: string;
  /** The command line shows it only in wide lists. */
  readonly isWide?: true;
  /** Width of its column on the page, as a grid track. */
  readonly width?: string;
  /** The page uses a monospaced font. */
  readonly isMono?: true;
  /** Few machines have it: the API omits the field elsewhere. */
  readonly isRare?: true;
  /** Description in the API. */
  readonly note?: string;
  readonly of: (facts: SlotFacts) => string | null;
}

/**
 * The text fields of a machine in lists, each described once. The view of a slot, the API, sorting
 * and search, the command line and the page derive from this table. Fields with a special form
 * (state, times, holds) are described where they are shown.
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
    note: 'Set by operators: comma-separated `key=value`, sorted by key.',
    of: ({ row }) => row?.slot.labels ?? null,
  },
  cause: {
    label: 'Cause',
    isWide: true,
    isRare: true,
    note: '`chronic`: it was recovered too often. `retired`: it is not used again.',
    of: ({ row }) => row?.quarantine?.cause ?? null,
  },
  conditions: {
    label: 'Conditions',
    isWide: true,
    isRare: true,
    note: 'Comma-separated types of its true conditions, sorted.',
    of: ({ conditions }) => trueTypes(conditions),
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
    note: 'Id of the current tenancy.',
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
/** In display order. */
export const LINE_FIELD_NAMES = Object.keys(LINE_FIELDS) as readonly LineFieldName[];
export const lineField = (name: LineFieldName): LineField => LINE_FIELDS[name];
/** The name of the field's column. */
export const columnOf = (name: LineFieldName): string => lineField(name).column ?? name;

/** Makes one value for each field. */
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

/** The fields of a line, without rare fields that this machine lacks. */
export const lineOf = (
  view: LineFields,
): Omit<LineFields, RareName> & { readonly [Name in RareName]?: string } =>
  Object.fromEntries(
    LINE_FIELD_NAMES.flatMap((name) =>
      view[name] === null && lineField(name).isRare ? [] : [[name, view[name]]],
    ),
  ) as never;
