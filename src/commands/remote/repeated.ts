import { UsageError } from '../../domain/errors.ts';
import type { Batch, Request, RequestList } from './answers.ts';
import type { Client } from './client.ts';
import { findNamed } from './names.ts';
import type { VerbFlags } from './ask-flags.ts';

/** What is filed under a key already; null: nothing is. */
export async function filedUnder(key: string, { find }: Client): Promise<Request | Batch | null> {
  const path = encodeURIComponent(key);
  const request = await find<Request>(`/requests/${path}`);
  const isAlone = request !== null && request.batch === null;
  return isAlone ? request : ((await find<Batch>(`/batches/${path}`)) ?? request);
}

export const requestsIn = (filed: Request | Batch): readonly Request[] =>
  'counts' in filed ? filed.requests : [filed];

/** All of them: of a large batch the answer tells only the first. */
export async function allRequestsIn(
  filed: Request | Batch,
  { get }: Client,
): Promise<readonly Request[]> {
  const told = requestsIn(filed);
  if (!('counts' in filed) || told.length === countOf(filed)) return told;
  const all: Request[] = [];
  let after: string | undefined;
  do {
    const page: RequestList = await get('/requests', { batch: filed.key, limit: 1_000, after });
    all.push(...page.requests);
    after = page.next ?? undefined;
  } while (after !== undefined);
  return all;
}

export const countOf = ({ counts }: Batch): number => counts.open + counts.done + counts.refused;

/** @throws {UsageError} something else is filed under the key. */
export function requireSame(
  filed: Request | Batch,
  { verb, reason }: Pick<Request, 'verb' | 'reason'>,
): void {
  // Of a batch, what the head of it is called depends on who filed it.
  const verbs = requestsIn(filed).map((each) => each.verb);
  if (verbs.every((each) => each === verb) && filed.reason === reason.trim()) return;
  throw reused(filed);
}

function reused(filed: Request | Batch): UsageError {
  const { key, by, reason } = filed;
  const [first] = requestsIn(filed);
  const of = first?.slot ?? first?.pool ?? first?.provider ?? 'the fleet';
  const what = `${first?.verb ?? filed.verb} of ${of} by ${by}: ${reason}`;
  return new UsageError(`key "${key}" was used for something else (${what}); nothing was done`);
}

/**
 * The machines of a command that is repeated, as they were asked for: nothing is looked up that is
 * filed, for a name may mean another machine by now.
 * @throws {UsageError} others were.
 */
export async function sameMachines(
  filed: Request | Batch,
  names: readonly string[],
  { exact }: Pick<VerbFlags, 'exact'>,
  client: Client,
): Promise<string[]> {
  const asked: string[] = [];
  for (const name of names) {
    const found = requestsIn(filed).find((each) => isCalled(each, name, exact));
    if (found) {
      asked.push(name.includes('/') || !isOfMachine(found, name) ? found.slot! : found.machineId!);
      continue;
    }
    const named = await findNamed(client, name, exact);
    const isOne = requestsIn(filed).some(({ slot }) => slot !== null && slot === named?.slot);
    if (!isOne || named === null) throw reused(filed);
    asked.push(named.asked);
  }
  return asked;
}

const isOfMachine = ({ machineId }: Request, name: string): boolean =>
  machineId?.startsWith(name) === true;

function isCalled(request: Request, name: string, exact: boolean): boolean {
  const { slot, machineId } = request;
  if (slot === null) return false;
  const names = [slot, slot.slice(slot.indexOf('/') + 1), ...(machineId ? [machineId] : [])];
  return names.some((each) => (exact ? each === name : each.startsWith(name)));
}

/** @throws {UsageError} so many were not asked for. */
export function requireSameCount(filed: Request | Batch, expected: number | undefined): void {
  if (!('counts' in filed) || expected === undefined || countOf(filed) === expected) return;
  throw new UsageError(
    `key "${filed.key}" was used for ${countOf(filed)} machines, not ${expected} as --expect-count says`,
  );
}
