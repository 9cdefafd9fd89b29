import type { Slot } from '../../domain/ids.ts';
import { hasLabel } from '../../domain/labels.ts';
import { columnOf, LINE_FIELD_NAMES } from '../../domain/line-fields.ts';
import type { FilterTerm, MachineFilter } from '../../domain/machine-filter.ts';
import { STATES, SUBSTATES, entryNeedsHuman } from '../../domain/states.ts';
import type { MachineEntry } from '../port.ts';
import type { SortKey } from './order.ts';

/** A machine in the index. The object stays the same while the slot exists. */
export interface Row {
  readonly slot: Slot;
  entry: MachineEntry;
  /** Text for word searches; null: not made yet, or outdated. */
  text: string | null;
  /** The slot vanished: only a copy of an order may still hold the row. */
  gone: boolean;
}

/** Sort keys of lists; each also descending. */
export type Sort = string;
export const SORTS: readonly Sort[] = [
  ...['slot', 'state', 'since', 'heard', ...LINE_FIELD_NAMES.map(columnOf), 'device'],
];

/** A machine never heard from sorts as longest ago. */
const NEVER = Number.NEGATIVE_INFINITY;

/** In the vocabulary's order, not the alphabet's; steps known only to the worker come last. */
const RANKS: ReadonlyMap<string, number> = new Map(
  STATES.flatMap((state, at) => [
    [state, at * 100 + 99],
    ...SUBSTATES[state].map((substate, under): [string, number] => [
      `${state} ${substate}`,
      at * 100 + under,
    ]),
  ]),
);

const rankOf = ({ state, substate }: MachineEntry): number =>
  RANKS.get(`${state} ${substate}`) ?? RANKS.get(state)!;

export function sortKeyOf(sort: Sort): (entry: MachineEntry) => string | number {
  switch (sort) {
    case 'slot':
      // Sorted by name alone.
      return () => 0;
    case 'state':
      return rankOf;
    case 'since':
      return ({ sinceMs }) => sinceMs;
    case 'heard':
      return ({ view }) => view.lastHeartbeatAtMs ?? NEVER;
    case 'device':
      return ({ view }) => view.providerId ?? '';
    default: {
      const name = LINE_FIELD_NAMES.find((each) => columnOf(each) === sort)!;
      return ({ view }) => view[name] ?? '';
    }
  }
}

export const placeBy =
  (keyOf: (entry: MachineEntry) => string | number) =>
  ({ slot, entry }: Row): SortKey => ({ key: keyOf(entry), name: slot });

/** All searchable texts of a machine, in lower case. */
export function textOf(row: Row): string {
  row.text ??= textOfEntry(row.entry);
  return row.text;
}

export const textOfEntry = ({ view, state, substate }: MachineEntry): string =>
  [
    ...[view.slot, view.providerId],
    ...LINE_FIELD_NAMES.map((name) => view[name]),
    ...[state, substate, view.state === state ? view.reason : null, ...view.holds],
  ]
    .join('\n')
    .toLowerCase();

/** Whether a machine matches. `text` makes the searchable text, only when called. */
export type Matcher = (entry: MachineEntry, text: () => string, nowMs: number) => boolean;

export interface MatchMeans {
  /** Whether the machine has been in its step for too long at this moment. */
  readonly isOverdue: (entry: MachineEntry, nowMs: number) => boolean;
}

/** Cheap conditions first: words are searched only in the rest. */
export function matcherOf({ terms }: MachineFilter, means: MatchMeans): Matcher | null {
  if (terms.length === 0) return null;
  const words = terms.filter(({ kind }) => kind === 'word');
  const others = terms.filter(({ kind }) => kind !== 'word');
  const asked = [...others, ...words].map((term) => matcherOfTerm(term, means));
  return (entry, text, nowMs) => asked.every((matches) => matches(entry, text, nowMs));
}

function matcherOfTerm(term: FilterTerm, { isOverdue }: MatchMeans): Matcher {
  switch (term.kind) {
    case 'state':
      return ({ state, substate }) => {
        const [outer, inner] = [state.toLowerCase(), substate.toLowerCase()];
        const { values } = term;
        return [outer, inner, `${outer}/${inner}`].some((each) => values.includes(each));
      };
    case 'provider':
      return ({ view }) => term.values.includes(view.provider);
    case 'trait':
      return ({ view }) => term.values.includes(view[term.name] ?? '');
    case 'label':
      return ({ view }) => term.values.some((label) => hasLabel(view.labels, label));
    case 'hold':
      return ({ view }) =>
        term.values.length === 0
          ? view.holds.length > 0
          : view.holds.some((kind) => term.values.includes(kind));
    case 'condition':
      return ({ view: { conditions } }) => isAmong(conditions, term.values);
    case 'since':
      return ({ sinceMs }, _text, nowMs) => nowMs - sinceMs > term.ageMs === term.above;
    case 'heard':
      return ({ view: { lastHeartbeatAtMs } }, _text, nowMs) =>
        lastHeartbeatAtMs !== null && nowMs - lastHeartbeatAtMs > term.ageMs === term.above;
    case 'chronic':
      return ({ view }) => view.cause === 'chronic';
    case 'needs-human':
      return entryNeedsHuman;
    case 'retired':
      return ({ view }) => view.holds.includes('retired');
    case 'overdue':
      return (entry, _text, nowMs) => isOverdue(entry, nowMs);
    case 'word':
      return (_entry, text) => text().includes(term.text);
  }
}

/** @param conditions types, separated by commas. @param wanted empty: any. */
const isAmong = (conditions: string | null, wanted: readonly string[]): boolean =>
  conditions !== null &&
  (wanted.length === 0 || conditions.split(',').some((type) => wanted.includes(type)));
