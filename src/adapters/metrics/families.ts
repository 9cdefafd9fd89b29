/** A label with any text, or with a list of values. */
export type Label = string | readonly [name: string, values: readonly string[]];

/** Definition of a metric. */
export interface Family<Labels extends readonly Label[] = readonly Label[]> {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /**
   * If each label of a counter or gauge has a list of values, all its series start at 0, so that
   * the first event of each is visible.
   */
  readonly labels: Labels;
  /** Upper bounds of a histogram. */
  readonly buckets?: readonly number[];
  /**
   * How to combine the gauges of several daemons. `fleet`: every daemon that knows the value
   * exports the same, so use one. `daemon`: each daemon has its part, so add them. `each`:
   * describes one daemon; a sum means nothing.
   */
  readonly scope?: 'fleet' | 'daemon' | 'each';
  /** A gauge without labels that has no series until it is set. */
  readonly isAbsent?: boolean;
}

type Helps<Name extends string> = Readonly<Record<Name, string>>;
type Families<Name extends string, Labels extends readonly Label[], Type> = Readonly<
  Record<Name, Family<Labels> & { readonly type: Type }>
>;

const each = (shared: object, helps: Helps<string>) =>
  Object.fromEntries(Object.entries(helps).map(([name, help]) => [name, { ...shared, help }]));

/** Counters with these labels, by name, each with one sentence about what it counts. */
export const counters = <const Labels extends readonly Label[], Name extends string>(
  labels: Labels,
  helps: Helps<Name>,
) => each({ type: 'counter', labels }, helps) as Families<Name, Labels, 'counter'>;

export const gauges = <const Labels extends readonly Label[], Name extends string>(
  scope: Family['scope'],
  labels: Labels,
  helps: Helps<Name>,
) => each({ type: 'gauge', scope, labels }, helps) as Families<Name, Labels, 'gauge'>;

/** Gauges of the fleet without labels that have no series until they are set. */
export const absentGauges = <Name extends string>(helps: Helps<Name>) =>
  each({ type: 'gauge', scope: 'fleet', labels: [], isAbsent: true }, helps) as Families<
    Name,
    readonly [],
    'gauge'
  >;

export const histograms = <const Labels extends readonly Label[], Name extends string>(
  buckets: readonly number[],
  labels: Labels,
  helps: Helps<Name>,
) => each({ type: 'histogram', buckets, labels }, helps) as Families<Name, Labels, 'histogram'>;

/** Gauges of the fleet: each for all machines, and again with the suffix `_by_provider`. */
export const counts = <const Labels extends readonly Label[], Name extends string>(
  labels: Labels,
  helps: Helps<Name>,
) => ({
  ...gauges('fleet', labels, helps),
  ...(Object.fromEntries(
    Object.entries<string>(helps).map(([name, help]) => [
      `${name}_by_provider`,
      {
        ...{ type: 'gauge', scope: 'fleet', labels: ['provider', ...labels] },
        help: help.replace(/\.$/, ', by provider.'),
      },
    ]),
  ) as unknown as Families<`${Name}_by_provider`, readonly ['provider', ...Labels], 'gauge'>),
});
