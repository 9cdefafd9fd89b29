import { NotFound, UsageError } from '../errors.ts';
import {
  isUuid,
  providerOf,
  slotIdOf,
  type MachineId,
  type ProviderName,
  type Slot,
} from '../ids.ts';
import { traitMatcher, wantedTraits, type TraitFilter } from '../traits.ts';
import { printable } from '../../lib/texts.ts';
import {
  requireProvider,
  requireTraits,
  slotOfRow,
  type Entry,
  type NamedFleet,
} from './named-fleet.ts';
import { stateMatcher } from './state-matcher.ts';

/** Which machines are meant: by one name, by their slots, by what they have in common, or all. */
export interface Selector extends TraitFilter {
  /** A machine's id, or a slot. */
  readonly name?: string | undefined;
  readonly slots?: readonly string[] | undefined;
  readonly provider?: string | undefined;
  /** `State`, or `State/substate`. */
  readonly states?: readonly string[] | undefined;
  readonly all?: boolean | undefined;
}

/** How those who ask write what a selector has, and where they can look. */
export interface Wording {
  readonly slots: string;
  readonly provider: string;
  readonly states: string;
  /** The traits, with commas between. */
  readonly traits: string;
  readonly all: string;
  readonly expectCount: string;
  readonly dryRun: string;
  /** What lists the machines. */
  readonly list: string;
}

/** One physical machine that was meant. */
export interface Selected {
  readonly slot: Slot;
  readonly provider: ProviderName;
  readonly slotId: string;
  /** The machine on it; null: none, or the slot was meant whatever is on it. */
  readonly machineId: MachineId | null;
  /** Null: the BMDB records nothing there. */
  readonly entry: Entry | null;
}

/** Whether it is about several: then their number must be confirmed. */
export const isBulk = ({ name }: Selector): boolean => name === undefined;

/**
 * What a selector means now. A name means one thing or nothing; nothing is ever meant by default.
 * @param how without a need for a machine a slot is meant itself, whatever is on it.
 * @throws {UsageError} it is not said which, in more than one way, or nothing is meant by it.
 * @throws {NotFound} a name means nothing.
 */
export function select(
  fleet: NamedFleet,
  selector: Selector,
  how: { readonly needsMachine: boolean; readonly words: Wording },
): Selected[] {
  requireOneWay(selector, how.words);
  const { name, slots } = selector;
  if (name !== undefined) return [byName(fleet, name, how)];
  if (slots !== undefined) return bySlots(fleet, slots, how);
  const isMeant = matcherOf(fleet, selector);
  const meant: Entry[] = [];
  for (const entry of fleet.entries) if (isMeant(entry)) meant.push(entry);
  if (meant.length === 0) throw new UsageError('no machine is so; nothing was done');
  return meant.map((entry) => theMachineOf(entry, entry.view.slot));
}

/** @throws {UsageError} the number of what was matched was not confirmed: nothing may be done. */
export function requireCount(
  matched: number,
  expected: number | undefined,
  words: Pick<Wording, 'expectCount' | 'dryRun'>,
): void {
  if (matched === expected) return;
  const found = `${matched} ${matched === 1 ? 'machine is' : 'machines are'} meant`;
  throw new UsageError(
    expected === undefined
      ? `${found}; confirm with ${words.expectCount} ${matched}, or see which with ${words.dryRun}`
      : `${found}, not ${expected} as ${words.expectCount} says; nothing was done`,
  );
}

function requireOneWay(selector: Selector, words: Wording): void {
  const { name, slots, provider, states, all } = selector;
  const byProperty = (provider ?? states) !== undefined || wantedTraits(selector).length > 0;
  const ways = [name !== undefined, slots !== undefined, byProperty, all === true];
  const count = ways.filter(Boolean).length;
  if (count === 1) return;
  const byOthers = `by ${words.provider}, ${words.traits} and ${words.states}, or ${words.all}`;
  const how = `name one machine or slot; or several by ${words.slots}, ${byOthers}`;
  throw new UsageError(count === 0 ? `say which machine: ${how}` : `say it in one way: ${how}`);
}

function matcherOf(fleet: NamedFleet, selector: Selector) {
  const { provider, states } = selector;
  const isInState = stateMatcher(states);
  const hasTraits = traitMatcher(selector);
  if (provider !== undefined) requireProvider(fleet, provider);
  requireTraits(fleet, selector);
  return ({ view, rows }: Entry): boolean =>
    rows.length > 0 &&
    (provider === undefined || view.provider === provider) &&
    hasTraits(view) &&
    isInState(view);
}

function bySlots(fleet: NamedFleet, names: readonly string[], how: How): Selected[] {
  const { slots } = how.words;
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new UsageError(`${slots} names ${twice} twice`);
  if (names.length === 0) throw new UsageError(`${slots} names nothing; nothing was done`);
  const found: Selected[] = [];
  const missed: string[] = [];
  for (const name of names) {
    try {
      found.push(byName(fleet, name, how));
    } catch (error) {
      if (!(error instanceof NotFound)) throw error;
      missed.push(error.message);
    }
  }
  if (missed.length > 0) throw new NotFound(`${missed.join('; ')}; nothing was done`);
  requireDistinct(names, found, slots);
  return found;
}

/** @throws {UsageError} one is named by its slot and by its id. */
function requireDistinct(names: readonly string[], found: readonly Selected[], word: string): void {
  const slots = found.map(({ slot }) => slot);
  const at = slots.findIndex((slot, place) => slots.indexOf(slot) !== place);
  if (at < 0) return;
  const first = names[slots.indexOf(slots[at]!)];
  throw new UsageError(`${word} names ${slots[at]} twice, as ${first} and as ${names[at]}`);
}

/** How a name is taken: without a need for a machine a slot is meant itself, whatever is on it. */
export interface How {
  readonly needsMachine: boolean;
  readonly words: Pick<Wording, 'slots' | 'list'>;
}

/**
 * What one name means.
 * @throws {UsageError} it has not the form of a name. @throws {NotFound} it means nothing.
 */
export function byName(fleet: NamedFleet, name: string, how: How): Selected {
  const { needsMachine, words } = how;
  if (isUuid(name)) return byMachineId(fleet, name, words);
  const slot = slotNamed(name);
  const entry = fleet.bySlot.get(slot) ?? null;
  if (!needsMachine) return { ...placeOf(slot), machineId: null, entry };
  if (entry === null || entry.rows.length === 0) {
    throw new NotFound(`no machine is on slot ${slot}; ${words.list} has those there are`);
  }
  return theMachineOf(entry, slot);
}

function byMachineId({ bySlot, machine }: NamedFleet, id: string, words: How['words']): Selected {
  const row = machine(id);
  if (!row) throw new NotFound(`there is no machine ${id}; ${words.list} has all`);
  const slot = slotOfRow(row);
  if (slot === null) throw new NotFound(`no hardware is recorded of machine ${id}`);
  const entry = bySlot.get(slot) ?? null;
  return { ...placeOf(slot), machineId: row.machineId, entry };
}

/** @throws {UsageError} several machines claim the slot. */
function theMachineOf(entry: Entry, slot: Slot): Selected {
  const [row, ...others] = entry.rows;
  if (others.length > 0) {
    const ids = entry.rows.map(({ machineId }) => machineId).join(' and ');
    throw new UsageError(`machines ${ids} claim slot ${slot}; name one of them by its id`);
  }
  return { ...placeOf(slot), machineId: row!.machineId, entry };
}

const SLOT = /^[a-z][a-z0-9-]{0,30}\/[^\p{Cc}]{1,200}$/u;

/** @throws {UsageError} */
export function slotNamed(text: string): Slot {
  if (SLOT.test(text)) return text as Slot;
  throw new UsageError(
    `"${printable(text)}" is neither a machine's id (a UUID in small letters) nor a slot (<provider>/<slot id>)`,
  );
}

const placeOf = (slot: Slot) => ({ slot, provider: providerOf(slot), slotId: slotIdOf(slot) });
