import type { FailureKind } from '../../domain/failures.ts';
import { spanText } from '../../lib/texts.ts';
import { noteLines, paragraph, timeText } from '../layout.ts';
import type { Failures } from './answers.ts';
import { tableText, toldList, type Column, type List } from './output.ts';
import type { CommandOutput, Session } from './session.ts';

export interface FailuresFlags {
  readonly by: FailureKind;
  /** Such as `90d`. */
  readonly since: string;
}

type Group = Failures['groups'][number];
type Sums = Failures['fleet'];

const orNone = <Value>(value: Value | null, of: (value: Value) => string): string =>
  value === null ? '-' : of(value);
const healedText = ({ healedBy }: Sums): string =>
  Object.entries(healedBy)
    .toSorted(([, a], [, b]) => b - a)
    .map(([rung, count]) => `${rung} ${count}`)
    .join(', ');

const COLUMNS: readonly Column<Group>[] = [
  { name: 'machines', of: ({ machines }) => String(machines) },
  { name: 'days', of: ({ machineDays }) => machineDays.toFixed(0) },
  { name: 'episodes', of: ({ episodes }) => String(episodes) },
  { name: 'rate', isWide: true, of: ({ rate }) => orNone(rate, (value) => value.toFixed(2)) },
  { name: '×fleet', of: ({ ratio }) => orNone(ratio, (value) => `${value.toFixed(1)}×`) },
  { name: 'p50', of: ({ repairP50Ms }) => orNone(repairP50Ms, spanText) },
  { name: 'p95', of: ({ repairP95Ms }) => orNone(repairP95Ms, spanText) },
  { name: 'retired', of: ({ retired }) => String(retired) },
  { name: 'gone', isWide: true, of: ({ gone }) => String(gone) },
  { name: 'unhealed', isWide: true, of: ({ unhealed }) => String(unhealed) },
  { name: 'healed by', isWide: true, of: (group) => healedText(group) || '-' },
];

/** `shepherd stats failures`: which kinds of machines fail, and what heals them. */
export async function showFailures(
  { client, format }: Session,
  { by, since }: FailuresFlags,
): Promise<CommandOutput> {
  const document = await client.get<Failures>('/stats/failures', { by, since });
  const rows = document.groups;
  const columns = [{ name: by, of: ({ name }: Group) => name }, ...COLUMNS];
  const list: List<Group> = { rows, columns, nameOf: ({ name }) => name, document };
  const look = { format, headers: true };
  return {
    ...toldList(list, look),
    text: (width) => {
      const [head = '', ...lines] = tableText(list, look).split('\n');
      const notes = (group: Group) => (format === 'wide' ? [] : noteOf(group, width));
      const table = lines.flatMap((line, at) => [line, ...notes(rows[at]!)]);
      return [head, ...table, '', paragraph(footText(document), width)].join('\n');
    },
  };
}

function noteOf(group: Group, width: number): string[] {
  const { episodes, unhealed, gone } = group;
  if (episodes === 0) return [];
  const healed = healedText(group);
  const parts = [
    ...(healed === '' ? [] : [`healed by ${healed}`]),
    ...(unhealed > 0 ? [`${unhealed} not healed`] : []),
    ...(gone > 0 ? [`${gone} of machines that are gone`] : []),
  ];
  return [noteLines(parts.join('; '), width)];
}

function footText({ fleet, sinceMs, isCut }: Failures): string {
  const { machineDays, episodes, rate } = fleet;
  return [
    `${episodes} episodes in ${machineDays.toFixed(0)} machine-days since ${timeText(sinceMs)}`,
    ...(rate === null ? [] : [`, ${rate.toFixed(2)} per 100 machine-days`]),
    '. Days and ×fleet count only machines that exist now.',
    ...(isCut ? [' Older episodes are left out, because there are too many.'] : []),
  ].join('');
}
