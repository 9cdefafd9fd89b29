import { SET_ID_TAG } from '../domain/provisioning/provider-tags.ts';
import type { Stage } from './stage.ts';
import { pending, until } from './waiting.ts';

/** A machine that was not there before, and that nobody is known to have made. */
export interface Stray {
  readonly id: string;
  readonly reservationId: string | null;
}

/** Remembers which machines there are, before the first of ours is made. */
export async function lookBefore(stage: Stage, signal: AbortSignal): Promise<void> {
  if (stage.found.before !== null) return;
  stage.found.before = new Set((await lookAround(stage, signal)).map(({ id }) => id));
}

/**
 * Machines that came since, besides `known` ones. What carries the mark of another fleet is that
 * fleet's, which works on while we test.
 */
export async function straysOf(
  stage: Stage,
  signal: AbortSignal,
  known: ReadonlySet<string>,
): Promise<readonly Stray[]> {
  const { before } = stage.found;
  if (before === null) return [];
  const now = await lookAround(stage, signal);
  return now
    .filter(({ id, owner }) => !before.has(id) && !known.has(id) && !isOther(stage, owner))
    .map(({ id, reservationId }) => ({ id, reservationId }));
}

const SET_ID = /^[0-9a-z]{5}-[0-9a-z]{5}-[0-9a-z]{15}$/i;
const isOther = ({ subject }: Stage, owner: unknown): boolean =>
  typeof owner === 'string' &&
  SET_ID.test(owner) &&
  owner.toLowerCase() !== subject.setId.toLowerCase();

/** Everything with an id that is not free, as the driver itself shows it, faulty or not. */
async function lookAround(stage: Stage, signal: AbortSignal) {
  const { patience } = stage;
  const { raw } = stage.opened();
  const wait = stage.wait({ signal, timeoutMs: patience.cleanUpMs, intervalMs: patience.syncMs });
  const { machines } = await until('a complete listing', wait, async () => {
    const listing = await stage.raw('List', signal, (options) => raw.listMachines({}, options));
    return listing.complete ? listing : pending('the listing is not complete');
  });
  return machines.flatMap((machine) => {
    const { id, reservationId, availability, tags } = machine ?? {};
    if (typeof id !== 'string' || availability === 'KnownUnused') return [];
    return { id, reservationId: reservationId ?? null, owner: tags?.[SET_ID_TAG] };
  });
}

/** How strays are told in a message. */
export const toldStrays = (strays: readonly Stray[]): string =>
  strays
    .map(({ id, reservationId }) => (reservationId === null ? id : `${id} on ${reservationId}`))
    .join(', ');
