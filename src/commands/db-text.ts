import type { HistoryLine, InspectedMachine, ReportedHardware } from '../adapters/bmdb/port.ts';
import { PROCESSES } from '../domain/machine.ts';
import type { Counts, Statistics } from '../domain/statistics.ts';
import { TRAIT_NAMES, TRAITS } from '../domain/traits.ts';
import { printable, toTable } from './text-table.ts';

/** What `db show`, `db hardware` and `db stats` found, for a terminal. */

const HEAD = [
  'machine',
  'provider',
  'device',
  'status',
  ...TRAIT_NAMES,
  'work',
  'backoffs',
  'also known',
];
/** What has a column of its own. */
const SHOWN = new Set(['Provided']);

/** A line for each machine. */
export function overviewText(machines: readonly InspectedMachine[]): string {
  const lines = machines.map((machine) => {
    const provided = (name: string) =>
      machine.tags['Provided']?.find((field) => field.name === name)?.value ?? '-';
    return [
      machine.machineId,
      provided('provider'),
      provided('provider_id'),
      provided('provider_status'),
      ...TRAIT_NAMES.map((name) => provided(TRAITS[name].column)),
      namesOr(Object.keys(machine.work)),
      namesOr(Object.keys(machine.backoffs)),
      namesOr(Object.keys(machine.tags).filter((name) => !SHOWN.has(name))),
    ];
  });
  return toTable([HEAD, ...lines]);
}

const namesOr = (names: readonly string[]) => names.join(', ') || '-';

/** Everything of one machine. */
export function machineText(machine: InspectedMachine, history: readonly HistoryLine[]): string {
  const tags = Object.entries(machine.tags).map(([name, fields]) =>
    section(
      name,
      fields.map((field) => [field.name, field.value]),
    ),
  );
  const backoffs = Object.entries(machine.backoffs).map(([process, { untilMs, cause }]) => [
    ...[process, `until ${time(untilMs)}`, cause],
  ]);
  const work = Object.entries(machine.work).map(([process, session]) => [
    ...[process, `session ${session}`],
  ]);
  const past = history.map(({ atMs, process, event, component, sessionId, cause }) => [
    ...[time(atMs), process, event, component ?? '-', sessionId ?? '-', cause ?? ''],
  ]);
  return [
    section('machine', [
      ['id', machine.machineId],
      ['created', time(machine.createdAtMs)],
    ]),
    ...tags,
    section('work', work),
    section('backoffs', backoffs),
    section('history', past),
  ].join('\n');
}

/** The reports of all machines, one after the other. */
export const hardwareText = (machines: readonly ReportedHardware[]): string =>
  [
    ...machines.map(({ machineId, provider, providerId, report }) =>
      section(machineId, [
        ['provider', provider],
        ['provider id', providerId],
        ['report', report.value],
      ]),
    ),
    `hardware reports: ${machines.length}`,
  ].join('\n');

/** A title and its lines; a value of several lines goes below its name. */
function section(title: string, lines: readonly (readonly string[])[]): string {
  if (lines.length === 0) return `${title}: none`;
  const short = lines.map((line) => line.map((cell) => (cell.includes('\n') ? '' : cell)));
  const blocks = toTable(short)
    .split('\n')
    .map((text, at) => {
      const long = lines[at]?.find((cell) => cell.includes('\n'));
      return long === undefined ? `  ${text}` : `  ${text}\n${indented(long)}`;
    });
  return [title, ...blocks].join('\n');
}
const indented = (text: string) =>
  text
    .split('\n')
    .map((line) => `    ${printable(line)}`)
    .join('\n');

const COUNTS: readonly (readonly [string, (counts: Counts) => number])[] = [
  ['machines', (counts) => counts.machines],
  ['provided', (counts) => counts.provided],
  ['heartbeating', (counts) => counts.heartbeating],
  ['installation pending', (counts) => counts.installationPending],
  ['installed', (counts) => counts.installed],
  ['installation failed', (counts) => counts.installationFailed],
  ['agent to be started', (counts) => counts.pendingAgentStart],
  ['to be recovered', (counts) => counts.pendingRecovery],
  ...PROCESSES.flatMap((process): [string, (counts: Counts) => number][] => [
    [`work of ${process}`, (counts) => counts.activeWork[process]],
    [`backoffs of ${process}`, (counts) => counts.activeBackoffs[process]],
  ]),
];

/** A line for each count, a column for each provider. Processes with nothing to count have no line. */
export function countsText({ fleet, providers }: Statistics): string {
  const columns = [...providers].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const lines = COUNTS.filter(
    ([name, of]) => of(fleet) > 0 || !/^(work|backoffs) of /.test(name),
  ).map(([name, of]) => [name, of(fleet), ...columns.map(([, counts]) => of(counts))].map(String));
  return toTable([['', 'fleet', ...columns.map(([name]) => name)], ...lines]);
}

/** The database knows later times than JavaScript does. */
const time = (atMs: number): string =>
  Math.abs(atMs) <= 8.64e15 ? new Date(atMs).toISOString() : 'never';
