/** What the address of the list says: which machines, in which order, with which columns. */
export interface ListSearch {
  readonly filter?: string;
  /** A sort of the API; with `-` the other way round. */
  readonly sort?: string;
  /** Shown columns, comma-separated; absent: the usual ones. */
  readonly columns?: string;
}

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/** Takes what stands in the address, whatever it is. */
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

/** The filter with the state among those that it names, or without it, if it was there. */
export function toggled(filter: string, state: string): string {
  const named = statesOf(filter);
  const states = named.includes(state) ? named.filter((each) => each !== state) : [...named, state];
  const rest = filter.replace(STATE_TERM, '').trim();
  return [states.length > 0 && term('state', states.join()), rest].filter(Boolean).join(' ');
}
