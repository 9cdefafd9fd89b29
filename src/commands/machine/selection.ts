import { NotFound, UsageError } from '../../domain/errors.ts';
import {
  isUuid,
  providerOf,
  slotIdOf,
  type MachineId,
  type ProviderName,
  type Slot,
} from '../../domain/ids.ts';
import { traitMatcher, wantedTraits, type TraitFilter } from '../../domain/traits.ts';
import {
  requireProvider,
  requireTraits,
  slotOfRow,
  type RecordedFleet,
  type Entry,
} from './recorded-fleet.ts';
import { printable } from '../text-table.ts';
import { TRAIT_OPTIONS } from './options.ts';
import { stateMatcher } from './states.ts';

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
 * @param needsMachine false: a slot is meant itself, also without a machine.
 * @throws {UsageError} it is not said which, in more than one way, or nothing is meant by it.
 * @throws {NotFound} a name means nothing.
 */
export function select(
  fleet: RecordedFleet,
  selector: Selector,
  needsMachine: boolean,
): Selected[] {
  requireOneWay(selector);
  const { name, slots } = selector;
  if (name !== undefined) return [byName(fleet, name, needsMachine)];
  if (slots !== undefined) return bySlots(fleet, slots, needsMachine);
  const meant = fleet.entries.filter(matcherOf(fleet, selector));
  if (meant.length === 0) throw new UsageError('no machine is so; nothing was done');
  return meant.map((entry) => theMachineOf(entry, entry.view.slot));
}

/** @throws {UsageError} the number of what was matched was not confirmed: nothing may be done. */
export function requireCount(matched: number, expected: number | undefined): void {
  if (matched === expected) return;
  const found = `${matched} ${matched === 1 ? 'machine is' : 'machines are'} meant`;
  throw new UsageError(
    expected === undefined
      ? `${found}; confirm with --expect-count ${matched}, or see which with --dry-run`
      : `${found}, not ${expected} as --expect-count says; nothing was done`,
  );
}

function requireOneWay(selector: Selector): void {
  const { name, slots, provider, states, all } = selector;
  const byProperty = (provider ?? states) !== undefined || wantedTraits(selector).length > 0;
  const ways = [name !== undefined, slots !== undefined, byProperty, all === true];
  const count = ways.filter(Boolean).length;
  if (count === 1) return;
  const how = `name one machine or slot; or several by --slots, by --provider, ${TRAIT_OPTIONS} and --state, or --all`;
  throw new UsageError(count === 0 ? `say which machine: ${how}` : `say it in one way: ${how}`);
}

function matcherOf(fleet: RecordedFleet, selector: Selector) {
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

function bySlots(
  fleet: RecordedFleet,
  names: readonly string[],
  needsMachine: boolean,
): Selected[] {
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new UsageError(`--slots names ${twice} twice`);
  if (names.length === 0) throw new UsageError('--slots names nothing; nothing was done');
  const found: Selected[] = [];
  const missed: string[] = [];
  for (const name of names) {
    try {
      found.push(byName(fleet, name, needsMachine));
    } catch (error) {
      if (!(error instanceof NotFound)) throw error;
      missed.push(error.message);
    }
  }
  if (missed.length > 0) throw new NotFound(`${missed.join('; ')}; nothing was done`);
  requireDistinct(names, found);
  return found;
}

/** @throws {UsageError} one is named by its slot and by its id. */
function requireDistinct(names: readonly string[], found: readonly Selected[]): void {
  const slots = found.map(({ slot }) => slot);
  const at = slots.findIndex((slot, place) => slots.indexOf(slot) !== place);
  if (at < 0) return;
  const first = names[slots.indexOf(slots[at]!)];
  throw new UsageError(`--slots names ${slots[at]} twice, as ${first} and as ${names[at]}`);
}

/**
 * What one name means.
 * @throws {UsageError} it has not the form of a name. @throws {NotFound} it means nothing.
 */
export function byName(fleet: RecordedFleet, name: string, needsMachine: boolean): Selected {
  if (isUuid(name)) return byMachineId(fleet, name);
  const slot = slotNamed(name);
  const entry = fleet.bySlot.get(slot) ?? null;
  if (!needsMachine) return { ...placeOf(slot), machineId: null, entry };
  if (entry === null || entry.rows.length === 0) {
    throw new NotFound(`no machine is on slot ${slot}; "shepherd machines" has those there are`);
  }
  return theMachineOf(entry, slot);
}

function byMachineId({ bySlot, read }: RecordedFleet, id: string): Selected {
  const row = read.machines.find(({ machineId }) => machineId === id);
  if (!row) throw new NotFound(`there is no machine ${id}; "shepherd machines" has all`);
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
