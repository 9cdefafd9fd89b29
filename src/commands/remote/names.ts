import { NotFound, UsageError } from '../../domain/errors.ts';
import { isUuid } from '../../domain/ids.ts';
import { printable } from '../../lib/texts.ts';
import type { Resolution } from './answers.ts';
import type { Client } from './client.ts';

/** Shorter beginnings match too many machines. The API has the same limit. */
const PREFIX_MIN = 4;

/** The machine that a name refers to. */
export interface Named {
  readonly slot: string;
  readonly machineId: string | null;
  /** For requests: the machine ID if the name is a machine ID, else the slot. */
  readonly asked: string;
}

/**
 * Finds a machine by slot, slot ID, machine ID, device ID, address, host name, or a unique beginning of an ID.
 * @param exact accept whole names only.
 * @throws {UsageError} several machines match. @throws {NotFound} no machine matches.
 */
export async function named(client: Client, name: string, exact: boolean): Promise<Named> {
  const found = await findNamed(client, name, exact);
  if (found) return found;
  throw new NotFound(`no machine is named ${printable(name)}; "shepherd machines" lists all`);
}

/** As {@link named}, but null if no machine matches. @throws {UsageError} */
export async function findNamed(
  client: Client,
  name: string,
  exact: boolean,
): Promise<Named | null> {
  if (name.trim() === '')
    throw new UsageError('the name of the machine is empty; give a slot or an ID');
  const { machines, more } = await client.get<Resolution>('/resolve', { name });
  const [first, ...others] = machines;
  if (others.length > 0) throw unclear(name, machines, more);
  if (first === undefined) {
    if (name.length >= PREFIX_MIN) return null;
    throw new UsageError(
      `no machine is named ${printable(name)}, and the beginning of an ID needs ${PREFIX_MIN} characters; give more`,
    );
  }
  if (exact && !first.whole) {
    throw new UsageError(
      `${printable(name)} is only the beginning of ${first.slot}; nothing was done; give the whole name`,
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
    ? `several machines are named ${printable(name)}; nothing was done; give one of these slots:`
    : `several IDs begin with ${printable(name)}; nothing was done; give one of these slots:`;
  return new UsageError([head, ...lines, ...rest].join('\n'));
}

/**
 * The machine ID that a name refers to. An ID is taken as it is, because its machine may be gone.
 * @throws {UsageError} several machines match. @throws {NotFound} no machine matches.
 */
export async function machineIdOf(client: Client, name: string): Promise<string> {
  if (isUuid(name)) return name;
  const { slot, machineId } = await named(client, name, false);
  if (machineId !== null) return machineId;
  throw new NotFound(`no machine is on ${slot} now; give the ID of an earlier machine`);
}

/** The path of a machine in the API. */
export function pathOf(slot: string): string {
  const at = slot.indexOf('/');
  const [provider, id] = [slot.slice(0, at), slot.slice(at + 1)];
  return `/machines/${encodeURIComponent(provider)}/${encodeURIComponent(id)}`;
}

/** @throws {UsageError} the given name is not a known name. */
export function requireAmong(
  what: string,
  name: string | undefined,
  known: readonly string[],
): void {
  if (name === undefined || known.includes(name)) return;
  throw new UsageError(noneNamed(what, name, known));
}

/** Says that no thing has this name, and lists the known names. */
export const noneNamed = (what: string, name: string, known: readonly string[]): string =>
  `no ${what} is named ${printable(name)}; there is ` +
  ([...new Set(known)].toSorted().join(', ') || 'none');
