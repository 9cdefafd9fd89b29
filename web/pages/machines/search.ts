/** The parameters of the list in the address: filter, sort and columns. */
export interface ListSearch {
  readonly filter?: string;
  /** A sort key of the API. A leading `-` reverses the order. */
  readonly sort?: string;
  /** Shown columns, separated by commas. Absent: the default columns. */
  readonly columns?: string;
}

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/** Reads the parameters in the address and ignores invalid values. */
export function readListSearch(search: Record<string, unknown>): ListSearch {
  const [filter, sort, columns] = [
    text(search['filter']),
    text(search['sort']),
    text(search['columns']),
  ];
  return {
    ...(filter !== undefined && { filter }),
    ...(sort !== undefined && { sort }),
    ...(columns !== undefined && { columns }),
  };
}

const QUOTED = /\s/;
/** A term of a filter. */
export const term = (name: string, value: string): string =>
  `${name}:${QUOTED.test(value) ? `"${value}"` : value}`;

const STATE_TERM = /(?:^|\s)state:(\S+)/;

/** The states that a filter names. */
export const statesOf = (filter: string): readonly string[] =>
  STATE_TERM.exec(filter)?.[1]?.split(',') ?? [];

/** Adds a state to the filter, or removes it if the filter names it. */
export function toggled(filter: string, state: string): string {
  const named = statesOf(filter);
  const states = named.includes(state) ? named.filter((each) => each !== state) : [...named, state];
  const rest = filter.replace(STATE_TERM, '').trim();
  return [states.length > 0 && term('state', states.join()), rest].filter(Boolean).join(' ');
}
