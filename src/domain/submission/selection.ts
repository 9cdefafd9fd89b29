import { NotFound, UsageError } from '../errors.ts';
import {
  isUuid,
  providerOf,
  slotIdOf,
  type MachineId,
  type ProviderName,
  type Slot,
} from '../ids.ts';
import { printable } from '../../lib/texts.ts';
import { STATES, SUBSTATES } from '../states.ts';
import { TRAIT_NAMES, traitMatcher, wantedTraits, type TraitFilter } from '../traits.ts';
import { VERBS, type MachineVerb } from '../verbs.ts';
import { at, type GivenRequest, type RequestedThing } from '../operator-request.ts';
import type { MachineView } from '../view.ts';
import {
  requireProvider,
  requireTraits,
  slotOfRow,
  type NamedSlot,
  type NamedFleet,
} from './named-fleet.ts';

/** Selects machines: by one name, by their slots, by common properties, or all. */
export interface Selector extends TraitFilter {
  /** A machine's id, or a slot. */
  readonly name?: string | undefined;
  readonly slots?: readonly string[] | undefined;
  readonly provider?: string | undefined;
  /** `State` or `State/substate`. */
  readonly states?: readonly string[] | undefined;
  readonly all?: boolean | undefined;
}

/** One selected physical machine. */
export interface Selected {
  readonly slot: Slot;
  readonly provider: ProviderName;
  readonly slotId: string;
  /** The machine on the slot; null: none, or the request concerns the slot itself. */
  readonly machineId: MachineId | null;
  /** Null: the BMDB has no record of the slot. */
  readonly entry: NamedSlot | null;
}

/** Whether the selector may match several machines, so that their number must be confirmed. */
export const isBulk = ({ name }: Selector): boolean => name === undefined;

/**
 * The machines that a request concerns. A name matches one thing or nothing; there is no default.
 * @throws {UsageError} the selector is missing, ambiguous, or matches nothing.
 * @throws {NotFound} a name matches nothing.
 */
export function machinesMeant(
  fleet: NamedFleet,
  wish: GivenRequest<MachineVerb>,
  selector: Selector,
): Selected[] {
  requireOneWay(selector);
  const isOfSlot = VERBS[wish.verb].of === 'slot';
  const { name, slots } = selector;
  const selected =
    name !== undefined
      ? [byName(fleet, name, !isOfSlot)]
      : slots !== undefined
        ? bySlots(fleet, slots, !isOfSlot)
        : byProperties(fleet, selector);
  if (isOfSlot) requireSense(wish, selected, fleet);
  return selected;
}

/**
 * Free slots are not recorded. An unrecorded slot is accepted if its provider exists, but only to
 * forbid a creation there: no other request makes sense for a free slot.
 */
function requireSense(
  wish: GivenRequest<MachineVerb>,
  selected: readonly Selected[],
  fleet: NamedFleet,
): void {
  for (const { provider } of selected) requireProvider(fleet, provider);
  if (['unhold', 'retire', 'unretire'].includes(wish.verb)) return;
  if (wish.verb === 'hold' && wish.kind === 'no-allocate') return;
  const stranger = selected.find(
    ({ entry }) => entry === null || (wish.verb === 'hold' && entry.rows.length === 0),
  );
  if (stranger === undefined) return;
  throw new NotFound(
    `no machine is on slot ${stranger.slot}; without one, only a hold no-allocate makes sense`,
  );
}

/** One request for one machine, with its own key. */
export interface SelectedRequest {
  readonly key: string;
  readonly selected: Selected;
  readonly what: RequestedThing;
}

/** Longest key, in characters. */
const KEY_MAX = 200;

/**
 * The request for each machine. A single named machine uses the key itself; several use
 * `<key>/<slot>`, so that a repetition submits the same requests.
 * @throws {UsageError} a key would be too long.
 */
export const askedOf = (
  wish: GivenRequest<MachineVerb>,
  selected: readonly Selected[],
  { key, several }: { readonly key: string; readonly several: boolean },
): SelectedRequest[] =>
  selected.map((each): SelectedRequest => {
    const { slot, provider, slotId, machineId } = each;
    const own = several ? `${key}/${slot}` : key;
    if (own.length <= KEY_MAX) {
      return { key: own, selected: each, what: at(wish, { provider, slotId, machineId }) };
    }
    throw new UsageError(
      `"${printable(own)}" has more than ${KEY_MAX} characters; give a shorter Idempotency-Key`,
    );
  });

const WAYS =
  `name one machine or slot; or several by slots, by selector.provider, ` +
  `${TRAIT_NAMES.map((name) => `selector.${name}`).join(', ')} and selector.states, or selector.all`;

function requireOneWay(selector: Selector): void {
  const { name, slots, provider, states, all } = selector;
  const byProperty = (provider ?? states) !== undefined || wantedTraits(selector).length > 0;
  const ways = [name !== undefined, slots !== undefined, byProperty, all === true];
  const count = ways.filter(Boolean).length;
  if (count === 1) return;
  throw new UsageError(
    count === 0 ? `say which machine: ${WAYS}` : `select machines in one way only: ${WAYS}`,
  );
}

function byProperties(fleet: NamedFleet, selector: Selector): Selected[] {
  const isMeant = matcherOf(fleet, selector);
  const meant: NamedSlot[] = [];
  for (const entry of fleet.entries) if (isMeant(entry)) meant.push(entry);
  if (meant.length === 0) throw new UsageError('no machine matches; nothing was done');
  return meant.map((entry) => theMachineOf(entry, entry.view.slot));
}

function matcherOf(fleet: NamedFleet, selector: Selector) {
  const { provider, states } = selector;
  const isInState = stateMatcher(states);
  const hasTraits = traitMatcher(selector);
  if (provider !== undefined) requireProvider(fleet, provider);
  requireTraits(fleet, selector);
  return ({ view, rows }: NamedSlot): boolean =>
    rows.length > 0 &&
    (provider === undefined || view.provider === provider) &&
    hasTraits(view) &&
    isInState(view);
}

function bySlots(fleet: NamedFleet, names: readonly string[], needsMachine: boolean): Selected[] {
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new UsageError(`slots names ${twice} twice`);
  if (names.length === 0) throw new UsageError('slots is empty; nothing was done');
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

/** @throws {UsageError} a machine is named twice, by its slot and by its id. */
function requireDistinct(names: readonly string[], found: readonly Selected[]): void {
  const slots = found.map(({ slot }) => slot);
  const place = slots.findIndex((slot, index) => slots.indexOf(slot) !== index);
  if (place < 0) return;
  const first = names[slots.indexOf(slots[place]!)];
  throw new UsageError(`slots names ${slots[place]} twice, as ${first} and as ${names[place]}`);
}

/**
 * What one name refers to.
 * @param needsMachine false: the request concerns the slot, whatever is on it.
 * @throws {UsageError} the name is malformed. @throws {NotFound} the name matches nothing.
 */
export function byName(fleet: NamedFleet, name: string, needsMachine: boolean): Selected {
  if (isUuid(name)) return byMachineId(fleet, name);
  const slot = slotNamed(name);
  const entry = fleet.bySlot.get(slot) ?? null;
  if (!needsMachine) return { ...placeOf(slot), machineId: null, entry };
  if (entry === null || entry.rows.length === 0) {
    throw new NotFound(`no machine is on slot ${slot}; GET machines lists all`);
  }
  return theMachineOf(entry, slot);
}

function byMachineId({ bySlot, machine }: NamedFleet, id: string): Selected {
  const row = machine(id);
  if (!row) throw new NotFound(`there is no machine ${id}; GET machines lists all`);
  const slot = slotOfRow(row);
  if (slot === null) throw new NotFound(`no hardware is recorded for machine ${id}`);
  const entry = bySlot.get(slot) ?? null;
  return { ...placeOf(slot), machineId: row.machineId, entry };
}

/** @throws {UsageError} several machines claim the slot. */
function theMachineOf(entry: NamedSlot, slot: Slot): Selected {
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
    `"${printable(text)}" is neither a machine's id (a UUID in lower case) nor a slot (<provider>/<slot id>)`,
  );
}

const placeOf = (slot: Slot) => ({ slot, provider: providerOf(slot), slotId: slotIdOf(slot) });

type Placed = Pick<MachineView, 'state' | 'substate'>;

/**
 * Whether a machine is in one of these states, each `State` or `State/substate`; absent: any.
 * @throws {UsageError} there is no such state.
 */
function stateMatcher(wanted: readonly string[] | undefined): (view: Placed) => boolean {
  if (wanted === undefined) return () => true;
  const places = wanted.map(placeNamed);
  return (view) =>
    places.some(
      ({ state, substate }) =>
        view.state === state && (substate === undefined || view.substate === substate),
    );
}

function placeNamed(text: string): { readonly state: string; readonly substate?: string } {
  const [name = '', inner, ...more] = text.split('/');
  const state = STATES.find((each) => isSame(each, name));
  if (state === undefined || more.length > 0) {
    throw new UsageError(
      `"${printable(text)}" is no state; there is ${STATES.join(', ')}, each also with a ` +
        'substate: Quarantined/needsHuman',
    );
  }
  if (inner === undefined) return { state };
  const substate = SUBSTATES[state].find((each) => isSame(each, inner));
  if (substate !== undefined) return { state, substate };
  throw new UsageError(
    `"${printable(inner)}" is no substate of ${state}; there is ${SUBSTATES[state].join(', ')}`,
  );
}

const isSame = (name: string, text: string): boolean => name.toLowerCase() === text.toLowerCase();
