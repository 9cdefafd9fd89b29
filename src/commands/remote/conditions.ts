import { fromText } from '../../lib/texts.ts';
import { timeText } from '../layout.ts';
import { fromMsOf, type When } from '../options.ts';
import type { Condition, Conditions } from './answers.ts';
import { formatOf, type CommonFlags } from './flags.ts';
import { named, pathOf } from './names.ts';
import { toldList, type Column } from './output.ts';
import type { CommandOutput, Session } from './session.ts';
import { momentOf } from './verbs.ts';

interface NameFlags {
  readonly exact: boolean;
}
export interface SetFlags extends NameFlags {
  readonly reason: string;
  readonly status: Condition['status'];
  readonly detail?: string;
  /** Milliseconds. */
  readonly for?: number;
  readonly from?: When;
}

/** `shepherd machine condition set`: reports a condition as the caller. @throws {Refused} */
export async function setCondition(
  { client }: Session,
  { exact, reason, status, detail, from, for: validForMs }: SetFlags,
  type: string,
  name: string,
): Promise<CommandOutput> {
  const { slot } = await named(client, name, exact);
  const nowMs = from === undefined ? 0 : await momentOf(client);
  const body = {
    ...{ status, reason, ...(from && { fromMs: fromMsOf(from, nowMs) }) },
    ...(detail !== undefined && { detail }),
    ...(validForMs !== undefined && { validForMs: Math.round(validForMs) }),
  };
  return reported(slot, await client.send<Condition>('PUT', pathTo(slot, type), { body }), nowMs);
}

/** `shepherd machine condition clear`: clears a condition of the caller. @throws {Refused} */
export async function clearCondition(
  { client }: Session,
  { exact, reason }: NameFlags & { readonly reason?: string },
  type: string,
  name: string,
): Promise<CommandOutput> {
  const { slot } = await named(client, name, exact);
  const query = { reason };
  return reported(slot, await client.send<Condition>('DELETE', pathTo(slot, type), { query }));
}

const pathTo = (slot: string, type: string): string =>
  `${pathOf(slot)}/conditions/${encodeURIComponent(type)}`;

const reported = (slot: string, condition: Condition, nowMs = 0): CommandOutput => ({
  ...{ document: { slot, ...condition }, names: [slot] },
  text: `${slot}: ${conditionText(condition, nowMs)}`,
});

/** A condition on one line, with what it does. */
export function conditionText(condition: Condition, nowMs: number): string {
  const { type, status, source, reason, effect, suspicious, fromMs } = condition;
  const does = suspicious ? `${effect}, but too many machines have it` : effect;
  return `${type} is ${status} ${fromText(fromMs, nowMs)}(${does}) by ${source}: ${reason}`;
}

/** `shepherd machine condition list`: all conditions of a machine, with those that are over. */
export async function listConditions(
  { client }: Session,
  flags: CommonFlags & NameFlags,
  name: string,
): Promise<CommandOutput> {
  const { slot } = await named(client, name, flags.exact);
  const [document, nowMs] = await Promise.all([
    client.get<Conditions>(`${pathOf(slot)}/conditions`),
    momentOf(client),
  ]);
  const { conditions: rows } = document;
  return toldList(
    {
      rows,
      columns: columnsAt(nowMs),
      nameOf: ({ type }) => type,
      document: { slot, conditions: rows },
    },
    { format: formatOf(flags), headers: true },
  );
}

const columnsAt = (nowMs: number): readonly Column<Condition>[] => [
  { name: 'type', of: ({ type }) => type },
  { name: 'status', of: ({ status }) => status },
  { name: 'source', of: ({ source }) => source },
  { name: 'since', of: ({ sinceMs }) => timeText(sinceMs) },
  {
    name: 'effect',
    of: ({ effect, suspicious, fromMs }) =>
      `${fromText(fromMs, nowMs)}${effect}${suspicious ? ' (suspicious)' : ''}`,
  },
  { name: 'reason', of: ({ reason }) => reason },
  { name: 'detail', of: ({ detail }) => detail, isWide: true },
];
