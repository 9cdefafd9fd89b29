import { spanText } from '../../lib/texts.ts';
import { columnOf, LINE_FIELD_NAMES, lineField } from '../../domain/line-fields.ts';
import { shortName } from '../../domain/ids.ts';
import { wantedTraits, type TraitFilter } from '../../domain/traits.ts';
import { columnLines, noteLines, paragraph, timeText } from '../layout.ts';
import type { Fleet, MachinePage, MachineRow } from './answers.ts';
import { countsText, guardTexts, unlistedTexts } from './fleet.ts';
import type { ListFlags } from './flags.ts';
import { requireAmong } from './names.ts';
import { toldList, type Column, type List } from './output.ts';
import type { Session, CommandOutput } from './session.ts';

/** Flags that select and print machines. Default: all machines. */
export interface MachinesFlags extends ListFlags, TraitFilter {
  /** `State`, substate, or `State/substate`. */
  readonly state?: readonly string[];
  readonly provider?: string;
  readonly needsHuman: boolean;
  readonly held: boolean;
  readonly filter?: string;
}

const PAGE = 1_000;

/** `shepherd machines`: the machines of the fleet with their states. */
export async function listMachines(session: Session, flags: MachinesFlags): Promise<CommandOutput> {
  const { client, format } = session;
  const fleet = await client.get<Fleet>('/fleet');
  // A misspelled name would give an empty list.
  requireAmong('provider', flags.provider, [
    ...fleet.providers,
    ...fleet.cells.map((each) => each.provider),
  ]);
  const locations = fleet.cells.flatMap(({ location }) => location ?? []);
  requireAmong('location', flags.location, locations);
  const page = await readMachines(flags, session);
  const { headers, columns } = flags;
  const told = toldList(listOf(page), { format, headers, columns });
  const isPlain = format === 'table' && columns === undefined && headers;
  return isPlain ? { ...told, text: (width) => tableFor(page, fleet, width) } : told;
}

/** The flags as a filter of the API. */
export function filterOf(flags: Partial<MachinesFlags>): string {
  const { state, provider, needsHuman, held, filter } = flags;
  return [
    ...(state ? [`state:${state.join(',')}`] : []),
    ...(provider === undefined ? [] : [`provider:${quoted(provider)}`]),
    ...wantedTraits(flags).map(([trait, name]) => `${trait}:${quoted(name)}`),
    ...(needsHuman ? ['needs-human'] : []),
    ...(held ? ['hold:any'] : []),
    ...(filter === undefined ? [] : [filter]),
  ].join(' ');
}

const quoted = (value: string): string => (/\s/.test(value) ? `"${value}"` : value);

/** All selected machines, from all pages of the API. */
export async function readMachines(
  flags: Partial<MachinesFlags>,
  { client }: Pick<Session, 'client'>,
): Promise<Pages> {
  const { limit: most = Number.POSITIVE_INFINITY, sort } = flags;
  const query = { filter: filterOf(flags), ...(sort !== undefined && { sort }) };
  const machines: MachineRow[] = [];
  let next: string | null = null;
  let page: MachinePage;
  do {
    const limit = Math.max(1, Math.min(PAGE, most - machines.length));
    page = await client.get('/machines', { ...query, limit, next: next ?? undefined });
    machines.push(...page.machines.slice(0, most - machines.length));
    next = page.next;
  } while (next !== null && machines.length < most);
  return { atMs: page.atMs, total: page.total, machines };
}

export interface Pages {
  readonly atMs: number;
  readonly total: number;
  readonly machines: readonly MachineRow[];
}

export const listOf = ({ atMs, total, machines }: Pages): List<MachineRow> => ({
  rows: machines,
  columns: columnsAt(atMs),
  nameOf: ({ slot }) => slot,
  document: { atMs, total, machines },
});

/** @param atMs time of the answer. */
export const columnsAt = (atMs: number): readonly Column<MachineRow>[] => [
  { name: 'slot', of: ({ slot }) => slot },
  { name: 'state', of: ({ state, substate }) => `${state} · ${substate}` },
  { name: 'heard', of: (row) => heardText(row, atMs) },
  ...LINE_FIELD_NAMES.map((name) => ({
    name: columnOf(name),
    ...(lineField(name).isWide && { isWide: true as const }),
    of: (row: MachineRow) => row[name] ?? '-',
  })),
  { name: 'since', isWide: true, of: ({ sinceMs }) => timeText(sinceMs) },
  { name: 'holds', isWide: true, of: ({ holds }) => holds.join(',') || '-' },
  { name: 'reason', isWide: true, of: ({ reason }) => reason ?? '-' },
];

const heardText = ({ lastHeartbeatAtMs }: MachineRow, atMs: number): string =>
  lastHeartbeatAtMs === null ? '-' : spanText(atMs - lastHeartbeatAtMs);

/** One line for each machine, its notes below the line, and the state of the fleet at the end. */
function tableFor(page: Pages, fleet: Fleet, width: number): string {
  const columns = columnsAt(page.atMs).filter(({ isWide }) => !isWide);
  const cells = page.machines.map((row) => {
    const shown = { ...row, slot: shortName(row.slot) };
    return columns.map(({ of }) => of(shown));
  });
  const { head, lines, below } = laidOut(
    columns.map(({ name }) => name),
    cells,
    width,
  );
  const rows = lines.map((line, at) => {
    const notes = [...below[at]!, ...notesOf(page.machines[at]!)];
    return [line, ...notes.map((note) => noteLines(note, width))].join('\n');
  });
  const counts = countsText(fleet);
  const told = page.machines.length;
  const shown = told === fleet.total ? counts : `${told} shown; the fleet is ${counts}`;
  const foot = [shown, ...guardTexts(fleet), ...unlistedTexts(fleet)];
  return [
    ...(rows.length === 0 ? [] : [head, ...rows, '']),
    ...foot.map((line) => paragraph(line, width)),
  ].join('\n');
}

const notesOf = ({ reason, conditions, holds }: MachineRow): string[] => [
  ...(reason === null ? [] : [reason]),
  ...(conditions === undefined ? [] : [`condition ${conditions}`]),
  ...holds.map((kind) => `hold ${kind}`),
];

interface LaidOut {
  readonly head: string;
  readonly lines: readonly string[];
  /** Cells of each line that did not fit. */
  readonly below: readonly (readonly string[])[];
}

/** Keeps slot, state and heard in columns while they fit, and other columns as far as they fit. */
function laidOut(
  names: readonly string[],
  cells: readonly (readonly string[])[],
  width: number,
): LaidOut {
  // The state is never shown without the time of the last heartbeat.
  const counts = names.map((_, at) => names.length - at).filter((count) => count !== 2);
  const laid = counts.map((count): LaidOut => {
    const [head, ...lines] = columnLines([names, ...cells].map((line) => line.slice(0, count)));
    const below = cells.map((line) => {
      const rest = line.slice(count).flatMap((cell, at) => {
        const name = names[count + at]!;
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
