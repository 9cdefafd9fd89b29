import { UsageError } from '../../domain/errors.ts';
import { visibleText } from '../../lib/texts.ts';
import { factLines, timeText, told } from '../layout.ts';
import type { Case, CaseInFull, Cases } from './answers.ts';
import { named } from './names.ts';
import { toldList, type Column, type CommandOutput } from './output.ts';
import type { Session } from './session.ts';

/** `shepherd case`: repairs of machines. */

export interface ListCasesFlags {
  readonly state: 'open' | 'closed' | 'all';
  readonly machine?: string;
}
export interface LinkFlags {
  readonly part?: string;
  readonly ticket?: string;
}

const COLUMNS: readonly Column<Case>[] = [
  { name: 'case', of: ({ id }) => id },
  { name: 'slot', of: ({ slot }) => slot },
  { name: 'since', of: ({ openedAtMs }) => timeText(openedAtMs) },
  { name: 'closed', of: ({ closedAtMs }) => (closedAtMs === null ? '-' : timeText(closedAtMs)) },
  { name: 'title', of: ({ title }) => title },
  { name: 'part', isWide: true, of: ({ part }) => part ?? '-' },
  { name: 'ticket', isWide: true, of: ({ ticketUrl }) => ticketUrl ?? '-' },
  { name: 'outcome', isWide: true, of: ({ outcome }) => outcome ?? '-' },
];

/** `shepherd case list`: cases, newest first. */
export async function listCases(
  { client, format }: Session,
  { state, machine }: ListCasesFlags,
): Promise<CommandOutput> {
  const slot = machine === undefined ? undefined : (await named(client, machine, false)).slot;
  const document = await client.get<Cases>('/cases', { state, slot });
  const rows = document.cases;
  const list = { rows, columns: COLUMNS, nameOf: ({ id }: Case) => id, document };
  const output = toldList(list, { format, headers: true });
  return rows.length === 0 ? { ...output, text: 'no cases' } : output;
}

/** `shepherd case show`: one case with its evidence, notes and conditions. */
export async function showCase(
  { client }: Session,
  _flags: object,
  id: string,
): Promise<CommandOutput> {
  const document = await client.get<CaseInFull>(pathOf(id));
  const { lines, conditions } = document;
  const parts = [
    ...conditions
      .toReversed()
      .map(({ atMs, actor, reason, to }) => `${timeText(atMs)}  ${actor}: ${reason} (${to})`),
    ...lines.map(
      ({ atMs, kind, author, text }) =>
        `\n${timeText(atMs)}  ${kind} by ${author}\n${visibleText(text, text.length * 2)}`,
    ),
  ];
  const facts = { names: [id], document };
  return { ...facts, text: (width) => [factsText(document.case, width), ...parts].join('\n') };
}

const factsText = (of: Case, width: number): string =>
  factLines(
    [
      ['case', of.id],
      ['slot', of.slot],
      ['machine', of.machineId],
      ['title', of.title],
      ['part', of.part],
      ['ticket', of.ticketUrl],
      ['opened', `${timeText(of.openedAtMs)} by ${of.openedBy}`],
      ['closed', told(of.closedAtMs, (atMs) => `${timeText(atMs)} by ${of.closedBy}`)],
      ['outcome', of.outcome],
    ],
    width,
  );

/** `shepherd case open`. @throws {Refused} the slot has an open case. */
export async function openCase(
  { client }: Session,
  { title, part, ticket: ticketUrl }: LinkFlags & { readonly title: string },
  machine: string,
): Promise<CommandOutput> {
  const { slot } = await named(client, machine, false);
  const body = { slot, title, part, ticketUrl };
  const document = await client.send<Case>('POST', '/cases', { body });
  return done(document, `case ${document.id} of ${slot} is open`);
}

/** `shepherd case note`. */
export async function noteCase(
  { client }: Session,
  _flags: object,
  id: string,
  text: string,
): Promise<CommandOutput> {
  await client.send('POST', `${pathOf(id)}/notes`, { body: { text } });
  return { document: { id }, names: [id], text: `case ${id} has the note` };
}

/** `shepherd case link`. @throws {UsageError} nothing is given. */
export async function linkCase(
  { client }: Session,
  { part, ticket: ticketUrl }: LinkFlags,
  id: string,
): Promise<CommandOutput> {
  if ((part ?? ticketUrl) === undefined) throw new UsageError('give --part or --ticket');
  const document = await client.send<Case>('PATCH', pathOf(id), { body: { part, ticketUrl } });
  return done(document, `case ${id} is changed`);
}

/** `shepherd case close`. @throws {Refused} it is closed already. */
export async function closeCase(
  { client }: Session,
  { outcome }: { readonly outcome: string },
  id: string,
): Promise<CommandOutput> {
  const path = `${pathOf(id)}/close`;
  return done(await client.send<Case>('POST', path, { body: { outcome } }), `case ${id} is closed`);
}

const done = (document: Case, text: string): CommandOutput => ({
  ...{ document, names: [document.id], text },
});

const pathOf = (id: string): string => `/cases/${encodeURIComponent(id)}`;
