import { CONDITION_TYPE } from './conditions.ts';
import { HOLD_KINDS, type HoldKind } from './machine.ts';
import { labelFault } from './labels.ts';
import { STATES, SUBSTATES } from './states.ts';
import { TRAIT_NAMES, type TraitName } from './traits.ts';

/**
 * A filter for lists of machines, as people write it: `state:Running,silent provider:equinix
 * location:fr2 label:rack=b4 hold:no-recover condition:disk-failing since>2h needs-human chronic` and
 * words that must occur. All terms must match; of comma-separated values, one must match. Quotes enclose a value or word with
 * blanks. The page, the API and the commands give it the same meaning.
 */
export interface MachineFilter {
  readonly terms: readonly FilterTerm[];
}

export type FilterTerm =
  /** State, substate, or both separated by a slash; lower case. */
  | { readonly kind: 'state'; readonly values: readonly string[] }
  | { readonly kind: 'provider'; readonly values: readonly string[] }
  | { readonly kind: 'trait'; readonly name: TraitName; readonly values: readonly string[] }
  /** A key with any value, or a key and its value: `rack`, `rack=b4`. */
  | { readonly kind: 'label'; readonly values: readonly string[] }
  /** Empty: any hold. */
  | { readonly kind: 'hold'; readonly values: readonly HoldKind[] }
  /** Types of true conditions; empty: any. */
  | { readonly kind: 'condition'; readonly values: readonly string[] }
  /** Age, milliseconds. */
  | { readonly kind: 'since' | 'heard'; readonly above: boolean; readonly ageMs: number }
  | { readonly kind: (typeof PLAIN_TERMS)[number] }
  /** Lower case. */
  | { readonly kind: 'word'; readonly text: string };

/** An invalid part of a filter, and the reason. */
export interface FilterFault {
  readonly part: string;
  readonly detail: string;
}
export type FilterReading =
  | { readonly filter: MachineFilter; readonly faults: readonly [] }
  | { readonly filter: null; readonly faults: readonly FilterFault[] };

export const FILTER_LENGTH_MAX = 500;

const PART = /(?:[^\s"]|"[^"]*")+/g;
const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Parses a filter. An empty text matches every machine. Pure and total. */
export function readFilter(text: string): FilterReading {
  const terms: FilterTerm[] = [];
  const faults: FilterFault[] = [];
  for (const [part] of text.matchAll(PART)) {
    const term = readPart(part);
    if (typeof term === 'string') faults.push({ part, detail: term });
    else if (term) terms.push(term);
  }
  return faults.length > 0 ? { filter: null, faults } : { filter: { terms }, faults: [] };
}

/** The filter in canonical spelling, so that equal filters are equal texts. */
export const filterKey = ({ terms }: MachineFilter): string =>
  terms
    .map((term) => JSON.stringify(term))
    .toSorted()
    .join('');

/** Whether the clock alone can change a match, so that it must be checked again. */
export const isTimed = ({ terms }: MachineFilter): boolean =>
  terms.some(({ kind }) => kind === 'since' || kind === 'heard' || kind === 'overdue');

/** Terms of one word that stand for themselves. */
const PLAIN_TERMS = ['needs-human', 'overdue', 'chronic', 'retired'] as const;
const isPlainTerm = (text: string): text is (typeof PLAIN_TERMS)[number] =>
  (PLAIN_TERMS as readonly string[]).includes(text);

const plain = (text: string): string => text.replaceAll('"', '');

function readPart(part: string): FilterTerm | string | null {
  const lower = plain(part).toLowerCase();
  if (lower === '') return null;
  if (isPlainTerm(lower)) return { kind: lower };
  const age = /^(since|heard)([<>])(.*)$/.exec(lower);
  if (age) return readAge(age[1] as 'since' | 'heard', age[2] === '>', age[3]!);
  const named = /^([a-z]+):(.*)$/s.exec(plain(part));
  const values = named?.[2]!.split(',').filter((value) => value !== '') ?? [];
  if (!named || !isKey(named[1]!)) return { kind: 'word', text: lower };
  return readNamed(named[1]!, values);
}

const KEYS: readonly string[] = ['state', 'provider', 'label', 'hold', 'condition', ...TRAIT_NAMES];
const isKey = (name: string): boolean => KEYS.includes(name);
const isTrait = (name: string): name is TraitName =>
  (TRAIT_NAMES as readonly string[]).includes(name);

function readNamed(key: string, values: readonly string[]): FilterTerm | string {
  if (key === 'hold') return readHolds(values);
  if (values.length === 0) return `after ${key}: a value is missing`;
  if (key === 'state') return readStates(values);
  if (key === 'condition') return readConditions(values);
  if (key === 'label') return readLabels(values);
  return isTrait(key) ? { kind: 'trait', name: key, values } : { kind: 'provider', values };
}

const WORDS: ReadonlySet<string> = new Set(
  [...STATES, ...Object.values(SUBSTATES).flat()].map((word) => word.toLowerCase()),
);

const PLACES: ReadonlySet<string> = new Set(
  STATES.flatMap((state) =>
    SUBSTATES[state].map((substate) => `${state}/${substate}`.toLowerCase()),
  ),
);

function readStates(values: readonly string[]): FilterTerm | string {
  const lower = values.map((value) => value.toLowerCase());
  const strange = lower.find((value) => !WORDS.has(value) && !PLACES.has(value));
  if (strange === undefined) return { kind: 'state', values: lower };
  const substates = [...new Set(Object.values(SUBSTATES).flat())].toSorted();
  return (
    `${strange} is neither a state nor a substate; states are ${STATES.join(', ')}; ` +
    `substates are ${substates.join(', ')}`
  );
}

function readLabels(values: readonly string[]): FilterTerm | string {
  const strange = values.find((value) => labelFault(value) !== null);
  return strange === undefined ? { kind: 'label', values } : labelFault(strange)!;
}

function readHolds(values: readonly string[]): FilterTerm | string {
  const kinds = values.filter((value) => value !== 'any');
  const known = kinds.filter((value): value is HoldKind =>
    (HOLD_KINDS as readonly string[]).includes(value),
  );
  if (known.length === kinds.length) return { kind: 'hold', values: known };
  return `holds are ${HOLD_KINDS.join(', ')}, or any`;
}

function readConditions(values: readonly string[]): FilterTerm | string {
  const types = values.filter((value) => value !== 'any');
  const strange = types.find((type) => !CONDITION_TYPE.test(type));
  if (strange === undefined) return { kind: 'condition', values: types };
  return `${strange} is no type of a condition; give a name such as disk-failing, or any`;
}

function readAge(kind: 'since' | 'heard', above: boolean, text: string): FilterTerm | string {
  const found = /^(\d{1,6})([smhd])$/.exec(text);
  if (!found) return `after ${kind} comes a time such as >2h: a number and s, m, h or d`;
  return { kind, above, ageMs: Number(found[1]) * UNITS[found[2] as keyof typeof UNITS] };
}
