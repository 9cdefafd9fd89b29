/** A label of any text, or a label with the list of its values. */
export type Label = string | readonly [name: string, values: readonly string[]];

/** What is said of a metric. */
export interface Family<Labels extends readonly Label[] = readonly Label[]> {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /**
   * Where each label of a counter or gauge has a list, all its series exist from the start, at 0, so
   * that the first event of each shows.
   */
  readonly labels: Labels;
  /** Upper bounds, of a histogram. */
  readonly buckets?: readonly number[];
  /**
   * How the gauges of several daemons are put together. `fleet`: every daemon that knows it exports
   * the same value, so it is taken once. `daemon`: each daemon has its part, and the parts are added.
   * `each`: it describes one daemon, and a sum means nothing.
   */
  readonly scope?: 'fleet' | 'daemon' | 'each';
  /** A gauge without labels that has no series before it is set. */
  readonly isAbsent?: boolean;
}

type Helps<Name extends string> = Readonly<Record<Name, string>>;
type Families<Name extends string, Labels extends readonly Label[], Type> = Readonly<
  Record<Name, Family<Labels> & { readonly type: Type }>
>;

const each = (shared: object, helps: Helps<string>) =>
  Object.fromEntries(Object.entries(helps).map(([name, help]) => [name, { ...shared, help }]));

/** Counters with these labels: each by its name, with one sentence that says what it counts. */
export const counters = <const Labels extends readonly Label[], Name extends string>(
  labels: Labels,
  helps: Helps<Name>,
) => each({ type: 'counter', labels }, helps) as Families<Name, Labels, 'counter'>;

export const gauges = <const Labels extends readonly Label[], Name extends string>(
  scope: Family['scope'],
  labels: Labels,
  helps: Helps<Name>,
) => each({ type: 'gauge', scope, labels }, helps) as Families<Name, Labels, 'gauge'>;

/** Gauges of the fleet without labels that have no series before they are set. */
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

/** Gauges of the fleet, each for all machines, and once more with the suffix `_by_provider`. */
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
