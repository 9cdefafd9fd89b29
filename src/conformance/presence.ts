import { isProviderError } from '../domain/errors.ts';
import { SET_ID_TAG } from '../domain/provisioning/provider-tags.ts';
import type { ConformanceStage } from './stage.ts';
import { must, pending } from './waiting.ts';

export interface Bound {
  readonly timeoutMs: number;
  /** Its removal was just requested. */
  readonly asked?: boolean;
}

const REISSUE_FIRST_MS = 10_000;
const REISSUE_LONGEST_MS = 10 * 60_000;

/**
 * Requests the removal of a machine, repeatedly with growing pauses, until neither a complete
 * listing nor a direct look-up finds it. Returns the number of requests.
 * @throws {StepFailed} it still exists after `timeoutMs`.
 */
export async function destroyUntilGone(
  stage: ConformanceStage,
  id: string,
  { timeoutMs, asked = false }: Bound,
): Promise<number> {
  const { clock, patience, found } = stage;
  let calls = 0;
  let nextAt = asked ? clock.monotonic() + REISSUE_FIRST_MS : -Infinity;
  let gapMs = REISSUE_FIRST_MS;
  const limits = { timeoutMs, intervalMs: patience.syncMs };
  return stage.until(`machine ${id} ends`, limits, async () => {
    if (clock.monotonic() >= nextAt) {
      await stage.fleet.deprovisionMachine(id, stage.call);
      calls += 1;
      nextAt = clock.monotonic() + gapMs;
      gapMs = Math.min(gapMs * 2, REISSUE_LONGEST_MS);
    }
    const still = await presenceOf(stage, id);
    if (still !== null) return pending(still);
    found.goneIds.add(id);
    return calls;
  });
}

/** Where a machine still appears; null: nowhere. */
export async function presenceOf(
  { fleet, call }: ConformanceStage,
  id: string,
): Promise<string | null> {
  const { machines, complete, unreadable = [] } = await fleet.listMachines(call);
  if (machines.some((machine) => machine.id === id)) return 'it is still listed';
  if (unreadable.some((entry) => entry.id === id)) return 'it is still listed, but unreadable';
  if (!complete) return 'the listing is not complete';
  try {
    await fleet.getMachine(id, call);
    return 'it is no longer listed, but still found by its id';
  } catch (error) {
    if (isProviderError(error, 'not-found')) return null;
    throw error;
  }
}

/** Lists until the listing is complete. */
export const listWhole = <Listing extends { readonly complete: boolean }>(
  { until, patience }: ConformanceStage,
  list: () => Promise<Listing>,
): Promise<Listing> =>
  until(
    'a complete listing',
    { timeoutMs: patience.cleanUpMs, intervalMs: patience.syncMs },
    async () => {
      const listing = await list();
      return listing.complete ? listing : pending('the listing is not complete');
    },
  );

/** A new machine that no known request made. */
export interface Stray {
  readonly id: string;
  readonly reservationId: string | null;
}

/** Records the existing machines before the first creation. */
export async function lookBefore(stage: ConformanceStage): Promise<void> {
  stage.found.before ??= new Set((await lookAround(stage)).map(({ id }) => id));
}

/**
 * New machines except `known` ones. Machines with the mark of another fleet belong to that fleet,
 * which keeps working during the test.
 */
export async function straysOf(
  stage: ConformanceStage,
  known: ReadonlySet<string>,
): Promise<readonly Stray[]> {
  const { before } = stage.found;
  if (before === null) return [];
  const now = await lookAround(stage);
  return now
    .filter(({ id, owner }) => !before.has(id) && !known.has(id) && !isOther(stage, owner))
    .map(({ id, reservationId }) => ({ id, reservationId }));
}

/** Fails if there is an unrequested machine, anywhere and with any mark. @throws {StepFailed} */
export async function assertNoStrays(
  stage: ConformanceStage,
  known: ReadonlySet<string>,
  what: string,
): Promise<void> {
  const strays = await straysOf(stage, known);
  const told = strays.map(({ id, reservationId: slotId }) =>
    slotId === null ? id : `${id} on ${slotId}`,
  );
  must(strays.length === 0, `${what}${told.join(', ')}`);
}

const SET_ID = /^[0-9a-z]{5}-[0-9a-z]{5}-[0-9a-z]{15}$/i;
const isOther = ({ subject }: ConformanceStage, owner: unknown): boolean =>
  typeof owner === 'string' &&
  SET_ID.test(owner) &&
  owner.toLowerCase() !== subject.setId.toLowerCase();

/** All entries with an id that are not free, as the driver shows them, faulty or not. */
async function lookAround(stage: ConformanceStage) {
  const { machines } = await listWhole(stage, stage.listRaw);
  return machines.flatMap((machine) => {
    const { id, reservationId, availability, tags } = machine ?? {};
    if (typeof id !== 'string' || availability === 'KnownUnused') return [];
    return { id, reservationId: reservationId ?? null, owner: tags?.[SET_ID_TAG] };
  });
}
