import { pickFields } from '../../adapters/bmdb/reflection/messages.ts';
import { NotFound, UsageError } from '../../domain/errors.ts';
import { PROCESSES } from '../../domain/machine.ts';
import { TRAIT_NAMES, TRAITS } from '../../domain/traits.ts';
import { printable, timeText, toTable } from '../layout.ts';
import type { HardwareReports, History, Records, Statistics } from './answers.ts';
import type { Client } from './client.ts';
import { machineIdOf } from './names.ts';
import { isData } from './output.ts';
import type { Session, Told } from './session.ts';

/** `shepherd db show|hardware|stats`: records of the database, read through a console. */

type Recorded = Records['machines'][number];

export interface ShowFlags {
  /** Also show backoffs that are over. */
  readonly expiredBackoffs: boolean;
  /** Show only this value, such as `report.cpu[0].cores`; see `pickFields`. */
  readonly field?: string;
}

/**
 * `shepherd db show`: all records of one machine, or one line for each machine. Secrets are left out.
 * @throws {UsageError} several machines or several fields match.
 * @throws {NotFound} no machine or no field matches.
 */
export async function showRecords(
  { client, format }: Session,
  { expiredBackoffs, field }: ShowFlags,
  name?: string,
): Promise<Told> {
  if (field !== undefined && name === undefined) {
    throw new UsageError('--field needs a machine; give its name');
  }
  const machine = name === undefined ? undefined : await machineIdOf(client, name);
  const query = { expiredBackoffs: String(expiredBackoffs), machine };
  const pages = await pagesOf<Records>('/records', query, client);
  const { schema } = pages[0]!;
  const machines = pages.flatMap((page) => page.machines);
  const sql = pages.flatMap((page) => page.sql);
  if (machine === undefined) {
    const foot = `${machines.length} machines, schema ${schema}`;
    return { document: { schema, machines, sql }, text: `${overviewText(machines)}\n${foot}` };
  }
  const [found] = machines;
  if (!found) throw new NotFound(`no machine has the ID ${machine}; "shepherd db show" lists all`);
  if (field !== undefined) {
    const value = fieldOf(found, field);
    return { text: isData(format) ? JSON.stringify(value) : printable(value) };
  }
  const { lines } = await client.get<History>('/history', { machine, limit: 1_000 });
  const document = { schema, machines, history: lines, sql };
  return { document, text: recordText(found, lines) };
}

/** Reads all pages, each in its own snapshot. */
async function pagesOf<Page extends { readonly next: string | null }>(
  path: string,
  query: Parameters<Client['get']>[1],
  { get }: Client,
): Promise<Page[]> {
  const pages: Page[] = [];
  for (let after: string | undefined; ; after = pages.at(-1)!.next!) {
    pages.push(await get<Page>(path, { ...query, after }));
    if (pages.at(-1)!.next === null) return pages;
  }
}

/** @throws {UsageError} several fields match. @throws {NotFound} */
function fieldOf({ machineId, tags }: Recorded, path: string): string {
  const found = pickFields(tags as Parameters<typeof pickFields>[0], path);
  if (found.length > 1) {
    const places = found.map(({ place }) => place).join(', ');
    throw new UsageError(`several fields match "${path}"; give one of ${places}`);
  }
  if (found[0]) return found[0].value;
  const known = Object.keys(tags).join(', ') || 'nothing';
  throw new NotFound(`machine ${machineId} has no field "${path}"; it has ${known}`);
}

/** `shepherd db hardware`: the hardware that agents found. */
export async function showHardware({ client }: Session): Promise<Told> {
  const pages = await pagesOf<HardwareReports>('/hardware', {}, client);
  const machines = pages.flatMap((page) => page.machines);
  const sections = machines.map(({ machineId, provider, providerId, report }) =>
    section(machineId, [
      ['provider', provider],
      ['provider id', providerId],
      ['report', report.value],
    ]),
  );
  const text = [...sections, `hardware reports: ${machines.length}`].join('\n');
  return { document: { machines }, text };
}

/** `shepherd db stats`: counts of machines by condition, for the fleet and for each provider. */
export async function showStatistics({ client }: Session): Promise<Told> {
  const { fleet, providers } = await client.get<Statistics>('/statistics');
  const columns = Object.entries(providers).toSorted(([a], [b]) => (a < b ? -1 : 1));
  // Processes with nothing to count have no line.
  const lines = COUNTS.filter(([name, of]) => of(fleet) > 0 || !/^(work|backoffs) of /.test(name));
  const text = toTable([
    ['', 'fleet', ...columns.map(([name]) => name)],
    ...lines.map(([name, of]) => [
      name,
      ...[fleet, ...columns.map(([, counts]) => counts)].map((counts) => String(of(counts))),
    ]),
  ]);
  return { document: { fleet, providers }, text };
}

type Counts = Statistics['fleet'];
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
    [`work of ${process}`, (counts) => counts.activeWork[process] ?? 0],
    [`backoffs of ${process}`, (counts) => counts.activeBackoffs[process] ?? 0],
  ]),
];

/** One line for each machine. The last column has the tags without a column. */
function overviewText(machines: readonly Recorded[]): string {
  const names = (all: readonly string[]) => all.join(', ') || '-';
  const lines = machines.map(({ machineId, tags, work, backoffs }) => {
    const provided = (name: string) =>
      tags['Provided']?.find((field) => field.name === name)?.value ?? '-';
    return [
      ...['provider', 'provider_id'].map(provided),
      machineId,
      provided('provider_status'),
      ...TRAIT_NAMES.map((name) => provided(TRAITS[name].column)),
      names(Object.keys(work)),
      names(Object.keys(backoffs)),
      names(Object.keys(tags).filter((name) => name !== 'Provided')),
    ];
  });
  const head = ['provider', 'device', 'machine', 'status', ...TRAIT_NAMES];
  return toTable([[...head, 'work', 'backoffs', 'also known'], ...lines]);
}

/** All records of one machine. */
function recordText(machine: Recorded, history: History['lines']): string {
  return [
    section('machine', [
      ['id', machine.machineId],
      ['created', timeText(machine.createdAtMs)],
    ]),
    ...Object.entries(machine.tags).map(([name, fields]) =>
      section(
        name,
        fields.map((field) => [field.name, field.value]),
      ),
    ),
    section(
      'work',
      Object.entries(machine.work).map(([process, session]) => [process, `session ${session}`]),
    ),
    section(
      'backoffs',
      Object.entries(machine.backoffs).map(([process, { untilMs, cause }]) => [
        ...[process, `until ${timeText(untilMs)}`, cause],
      ]),
    ),
    section(
      'history',
      history
        .toReversed()
        .map(({ atMs, process, kind, actor, sessionId, reason }) => [
          ...[timeText(atMs), process ?? '-', kind, actor ?? '-', sessionId ?? '-', reason],
        ]),
    ),
  ].join('\n');
}

/** A title and its lines. A value of several lines goes below its name. */
function section(title: string, lines: readonly (readonly string[])[]): string {
  if (lines.length === 0) return `${title}: none`;
  const short = lines.map((line) => line.map((cell) => (cell.includes('\n') ? '' : cell)));
  const blocks = toTable(short)
    .split('\n')
    .map((text, at) => {
      const long = lines[at]?.find((cell) => cell.includes('\n'))?.split('\n') ?? [];
      return [`  ${text}`, ...long.map((line) => `    ${printable(line)}`)].join('\n');
    });
  return [title, ...blocks].join('\n');
}
