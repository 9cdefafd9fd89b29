import { NotFound, UsageError } from '../../domain/errors.ts';
import { isUuid } from '../../domain/ids.ts';
import { printable } from '../../lib/texts.ts';
import type { Resolution } from './answers.ts';
import type { Client } from './client.ts';

/** Shorter beginnings stand for too many machines; as the API has it. */
const PREFIX_MIN = 4;

/** The physical machine that a name means. */
export interface Named {
  readonly slot: string;
  readonly machineId: string | null;
  /** What to ask for: the machine's id where its id was given, else the slot. */
  readonly asked: string;
}

/**
 * The machine that a person means: by slot, id of machine or device, address, host name, or a unique
 * beginning of an id.
 * @param exact whole names only.
 * @throws {UsageError} it is not clear which. @throws {NotFound} nothing has the name.
 */
export async function named(client: Client, name: string, exact: boolean): Promise<Named> {
  const found = await findNamed(client, name, exact);
  if (found) return found;
  throw new NotFound(`no machine is named ${printable(name)}; "shepherd machines" has all`);
}

/** As {@link named}; null: nothing has the name. @throws {UsageError} */
export async function findNamed(
  client: Client,
  name: string,
  exact: boolean,
): Promise<Named | null> {
  if (name.trim() === '') throw new UsageError('say which machine: the name is empty');
  const { machines, more } = await client.get<Resolution>('/resolve', { name });
  const [first, ...others] = machines;
  if (others.length > 0) throw unclear(name, machines, more);
  if (first === undefined) {
    if (name.length >= PREFIX_MIN) return null;
    throw new UsageError(
      `${printable(name)} is too short for the beginning of an id; give ${PREFIX_MIN} characters or more`,
    );
  }
  if (exact && !first.whole) {
    throw new UsageError(
      `${printable(name)} is the beginning of ${first.slot}, and here the whole name is wanted; nothing was done`,
    );
  }
  const byMachine = first.by === 'machine' && isUuid(first.machineId ?? '');
  const asked = byMachine ? first.machineId! : first.slot;
  return { slot: first.slot, machineId: first.machineId, asked };
}

function unclear(name: string, machines: Resolution['machines'], more: boolean): UsageError {
  const lines = machines.map(({ slot, machineId }) => `    ${slot}  ${machineId ?? '-'}`);
  const rest = more ? ['    and others'] : [];
  const head = machines.every(({ whole }) => whole)
    ? `${printable(name)} is the name of several machines; nothing was done; name one of them by its slot:`
    : `${printable(name)} is the beginning of several; nothing was done; give more of one of them:`;
  return new UsageError([head, ...lines, ...rest].join('\n'));
}

/** Slot and provider as they stand in a path of the API. */
export function pathOf(slot: string): string {
  const at = slot.indexOf('/');
  const [provider, id] = [slot.slice(0, at), slot.slice(at + 1)];
  return `/machines/${encodeURIComponent(provider)}/${encodeURIComponent(id)}`;
}

/** @throws {UsageError} a name that is given is none of those that are known. */
export function requireAmong(
  what: string,
  name: string | undefined,
  known: readonly string[],
): void {
  if (name === undefined || known.includes(name)) return;
  throw new UsageError(noneNamed(what, name, known));
}

/** That nothing has a name, and what there is. */
export const noneNamed = (what: string, name: string, known: readonly string[]): string =>
  `no ${what} is named ${printable(name)}; there is ` +
  ([...new Set(known)].toSorted().join(', ') || 'none');
