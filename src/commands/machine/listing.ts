import type { Unlisted } from '../../adapters/bmdb/port.ts';
import type { StateCounts } from '../../console/port.ts';
import { slot } from '../../domain/ids.ts';
import type { HoldRow } from '../../domain/machine.ts';
import { STATES } from '../../domain/states.ts';
import { TRAIT_NAMES, traitMatcher, wantedTraits, type TraitFilter } from '../../domain/traits.ts';
import { countsLine } from '../counts-line.ts';
import {
  needsHuman,
  requireProvider,
  requireTraits,
  type RecordedFleet,
  type Entry,
} from './recorded-fleet.ts';
import { readFleet, type Means, type Told } from './command.ts';
import { guardLines } from './guard-text.ts';
import { columnLines, noteLines, paragraph, plainCell, spanText, untilText } from './layout.ts';
import { stateMatcher } from './states.ts';
import { unlistedLines } from './unlisted-text.ts';
import { jsonLine } from '../text-table.ts';

/** Which machines a list is to have; all when nothing is given. */
export interface ListFilter extends TraitFilter {
  /** `State`, or `State/substate`. */
  readonly states?: readonly string[] | undefined;
  readonly provider?: string | undefined;
  /** Only those that nothing will be done about until somebody decides. */
  readonly needsHuman?: boolean | undefined;
  /** Only those that somebody put under a hold. */
  readonly held?: boolean | undefined;
}

/**
 * `shepherd machines`: a line for each machine and unsettled creation that the BMDB records.
 * @throws {UsageError} there is no such state or provider, or no machine has such a trait.
 */
export async function listMachines(
  { json, ...filter }: ListFilter & { readonly json: boolean },
  means: Means,
): Promise<Told> {
  const fleet = await readFleet(means);
  if (filter.provider !== undefined) requireProvider(fleet, filter.provider);
  requireTraits(fleet, filter);
  const list = {
    fleet,
    entries: listed(fleet, filter),
    loose: looseHolds(fleet, filter),
    unlisted: await means.bmdb.listings.unlisted(means.signal),
  };
  const text = json ? jsonLine(listJson(list)) : listText(list, means.width);
  return { text, exitCode: 0 };
}

function listed({ entries }: RecordedFleet, filter: ListFilter): readonly Entry[] {
  const isInState = stateMatcher(filter.states);
  const hasTraits = traitMatcher(filter);
  return entries.filter(
    (entry) =>
      isInState(entry.view) &&
      (filter.provider === undefined || entry.view.provider === filter.provider) &&
      hasTraits(entry.view) &&
      (filter.needsHuman !== true || needsHuman(entry)) &&
      (filter.held !== true || entry.view.holds.length > 0),
  );
}

/** What a list has. */
interface List {
  readonly fleet: RecordedFleet;
  readonly entries: readonly Entry[];
  /** Of slots that nothing else is recorded of. */
  readonly loose: readonly HoldRow[];
  /** Providers that daemons cannot list now. */
  readonly unlisted: readonly Unlisted[];
}

/** A slot without a machine has no state and no traits. */
function looseHolds({ read, bySlot }: RecordedFleet, filter: ListFilter): HoldRow[] {
  const { held, provider, states, needsHuman: needing } = filter;
  if (held !== true || needing === true || states !== undefined) return [];
  if (wantedTraits(filter).length > 0) return [];
  return read.holds.filter(
    (hold) =>
      (provider === undefined || hold.provider === provider) &&
      (hold.untilMs === null || hold.untilMs > read.nowMs) &&
      !bySlot.has(slotOfHold(hold)),
  );
}

const slotOfHold = ({ provider, slotId }: HoldRow) => slot(provider, slotId);

/** How many slots are in which state. */
export function stateCounts(entries: readonly Entry[]): StateCounts {
  const found = Map.groupBy(entries, ({ view }) => view.state);
  return Object.fromEntries(
    STATES.map((state) => [state, found.get(state)?.length ?? 0]),
  ) as StateCounts;
}

/** One document: what the page's API has of each machine, and what was asked of it. */
function listJson({ fleet, entries, loose, unlisted }: List): object {
  const { nowMs, guard, sessions } = fleet.read;
  return {
    atMs: nowMs,
    counts: stateCounts(fleet.entries),
    total: entries.length,
    withoutHardware: fleet.bare.length,
    daemons: sessions.length,
    guard,
    unlisted,
    machines: entries.map(summaryOf),
    holdsElsewhere: loose,
  };
}

/** What is told of a machine wherever it is told in JSON. */
export function summaryOf(entry: Entry) {
  const { next: _, dueAtMs: __, ...view } = entry.view;
  return { ...view, needsHuman: needsHuman(entry), requests: entry.facts.requests };
}

/** The columns that fit stand beside each other, the others below. */
const ALWAYS = ['slot', 'state', 'heard'];
const HEAD = [...ALWAYS, ...TRAIT_NAMES];
const LAYOUTS = [...TRAIT_NAMES.map((_, at) => HEAD.length - at), ALWAYS.length, 1];

/** A line for each machine, and below it what a person should know of it. */
function listText({ fleet, entries, loose, unlisted }: List, width: number): string {
  const { nowMs } = fleet.read;
  const { head, lines, below } = laidOut(
    entries.map((each) => cellsOf(each, nowMs)),
    width,
  );
  const rows = lines.map((line, at) =>
    [
      line,
      ...below[at]!.map((note) => noteLines(note, width)),
      ...notesOf(entries[at]!, nowMs, width),
    ].join('\n'),
  );
  return [
    ...(entries.length === 0 ? [] : [head, ...rows, '']),
    ...looseText(loose, nowMs, width),
    ...footOf(fleet, entries.length, unlisted).map((line) => paragraph(line, width)),
  ].join('\n');
}

interface LaidOut {
  readonly head: string;
  readonly lines: readonly string[];
  /** What found no room beside each of them. */
  readonly below: readonly (readonly string[])[];
}

function laidOut(cells: readonly (readonly string[])[], width: number): LaidOut {
  const laid = LAYOUTS.map((count): LaidOut => {
    const [head, ...lines] = columnLines([HEAD, ...cells].map((line) => line.slice(0, count)));
    const below = cells.map((line) => {
      const rest = line.slice(count).flatMap((cell, at) => {
        const name = HEAD[count + at]!;
        return cell === '-' ? [] : [name === 'state' ? cell : `${name} ${cell}`];
      });
      return rest.length === 0 ? [] : [rest.join(', ')];
    });
    return { head: head!, lines, below };
  });
  const fits = ({ head, lines }: LaidOut) =>
    [head, ...lines].every(({ length }) => length <= width);
  return laid.find(fits) ?? laid.at(-1)!;
}

function looseText(loose: readonly HoldRow[], nowMs: number, width: number): string[] {
  if (loose.length === 0) return [];
  const slots = [...Map.groupBy(loose, slotOfHold)].flatMap(([name, holds]) => [
    plainCell(name),
    ...holds.map((hold) => noteLines(holdText(hold, nowMs), width)),
  ]);
  return ['holds of slots that nothing else is recorded of:', ...slots, ''];
}

const cellsOf = ({ view }: Entry, nowMs: number): string[] => [
  view.slot,
  `${view.state} · ${view.substate}`,
  view.lastHeartbeatAtMs === null ? '-' : spanText(nowMs - view.lastHeartbeatAtMs),
  ...TRAIT_NAMES.map((name) => view[name] ?? '-'),
];

function notesOf({ view, facts }: Entry, nowMs: number, width: number): string[] {
  const notes = [
    ...(view.reason === null ? [] : [view.reason]),
    ...facts.holds.map((hold) => holdText(hold, nowMs)),
    ...facts.requests.map(({ verb, by, reason }) => `${verb} asked by ${by}: ${reason}`),
  ];
  return notes.map((note) => noteLines(note, width));
}

/** A hold in words, with who, why and how long. */
export const holdText = ({ kind, setBy, reason, untilMs }: HoldRow, nowMs: number): string =>
  `hold ${kind} by ${setBy} ${untilText(untilMs, nowMs)}: ${reason}`;

const FROM_ROWS =
  'from the database alone: free slots, and what providers list now, are on the page and in "shepherd plan"';

function footOf(fleet: RecordedFleet, shown: number, unlisted: readonly Unlisted[]): string[] {
  const { entries, bare, read, loss } = fleet;
  const counts = countsLine(stateCounts(entries));
  return [
    shown === entries.length ? counts : `${shown} of ${counts}`,
    ...(bare.length === 0
      ? []
      : [`${bare.length} more have no hardware yet: "shepherd db show" has them`]),
    ...guardLines(read, loss),
    ...unlistedLines(unlisted, read),
    FROM_ROWS,
  ];
}
