import { pickFields } from '../../adapters/bmdb/reflection/messages.ts';
import { NotFound, UsageError } from '../../domain/errors.ts';
import { isUuid } from '../../domain/ids.ts';
import { PROCESSES } from '../../domain/machine.ts';
import { TRAIT_NAMES, TRAITS } from '../../domain/traits.ts';
import { printable, timeText, toTable } from '../layout.ts';
import type { HardwareReports, History, Records, Statistics } from './answers.ts';
import type { Client } from './client.ts';
import { isData } from './output.ts';
import type { Session, Told } from './session.ts';

/** `shepherd db show|hardware|stats`: what the database has of machines, as the console tells it. */

type Recorded = Records['machines'][number];

export interface ShowFlags {
  /** Waits that are over, too. */
  readonly expiredBackoffs: boolean;
  /** Only this value of the machine, such as `report.cpu[0].cores`; see `pickFields`. */
  readonly field?: string;
}

/**
 * `shepherd db show`: one machine with all that is recorded of it, or a line for each. Secrets are
 * left out.
 * @throws {UsageError} that is no machine id, or the path of a field means several.
 * @throws {NotFound} there is no such machine, or it has no such field.
 */
export async function showRecords(
  { client, format }: Session,
  { expiredBackoffs, field }: ShowFlags,
  machine?: string,
): Promise<Told> {
  if (machine !== undefined && !isUuid(machine)) {
    throw new UsageError(`"${machine}" is no machine id; an id is a UUID in lower case`);
  }
  if (field !== undefined && machine === undefined) {
    throw new UsageError('a field is one of a machine; give its id');
  }
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
  if (!found) throw new NotFound(`there is no machine ${machine}`);
  if (field !== undefined) {
    const value = fieldOf(found, field);
    return { text: isData(format) ? JSON.stringify(value) : printable(value) };
  }
  const { lines } = await client.get<History>('/history', { machine, limit: 1_000 });
  const document = { schema, machines, history: lines, sql };
  return { document, text: recordText(found, lines) };
}

/** Page after page, each read in a snapshot of its own. */
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

/** @throws {UsageError} it means several. @throws {NotFound} */
function fieldOf({ machineId, tags }: Recorded, path: string): string {
  const found = pickFields(tags as Parameters<typeof pickFields>[0], path);
  if (found.length > 1) {
    const places = found.map(({ place }) => place).join(', ');
    throw new UsageError(`"${path}" means several fields; name one of ${places}`);
  }
  if (found[0]) return found[0].value;
  const known = Object.keys(tags).join(', ') || 'nothing';
  throw new NotFound(`machine ${machineId} has no field "${path}"; what is known of it: ${known}`);
}

/** `shepherd db hardware`: what agents found in machines that are provided. */
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

/** `shepherd db stats`: how many machines are in which condition, in all and by provider. */
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

/** A line for each machine; of its tags those that have no column of their own. */
function overviewText(machines: readonly Recorded[]): string {
  const names = (all: readonly string[]) => all.join(', ') || '-';
  const lines = machines.map(({ machineId, tags, work, backoffs }) => {
    const provided = (name: string) =>
      tags['Provided']?.find((field) => field.name === name)?.value ?? '-';
    return [
      machineId,
      ...['provider', 'provider_id', 'provider_status'].map(provided),
      ...TRAIT_NAMES.map((name) => provided(TRAITS[name].column)),
      names(Object.keys(work)),
      names(Object.keys(backoffs)),
      names(Object.keys(tags).filter((name) => name !== 'Provided')),
    ];
  });
  const head = ['machine', 'provider', 'device', 'status', ...TRAIT_NAMES];
  return toTable([[...head, 'work', 'backoffs', 'also known'], ...lines]);
}

/** Everything of one machine. */
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

/** A title and its lines; a value of several lines goes below its name. */
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
