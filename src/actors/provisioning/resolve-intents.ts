import pLimit from 'p-limit';
import type { BmdbSession } from '../../adapters/bmdb/port.ts';
import { explain, isProviderError, SessionExpired } from '../../domain/errors.ts';
import type { ProviderName } from '../../domain/ids.ts';
import type { IntentRow } from '../../domain/machine.ts';
import { isIdle } from '../../domain/provisioning/findings.ts';
import type { Creations } from './creations.ts';
import { countCreation, providedBy, providerNamed, type ProvisionDeps } from './deps.ts';
import { restoreHolds } from './restore-holds.ts';

/** Searches at the same time; each has a time limit, so that one that hangs delays little. */
const AT_ONCE = 3;
const SEARCH_MS = 60_000;

interface Under {
  readonly session: BmdbSession;
  readonly ends: AbortSignal;
}

/**
 * Looks for the devices of unfinished creations that nobody works on, by their witness and past all
 * caches, and records those that exist. One that was never asked for has no device. Rows are read for
 * that only where the last read showed such a creation, or may be older than our having the job.
 */
export async function resolveIntents(
  deps: ProvisionDeps,
  creations: Pick<Creations, 'mark' | 'witnessesSince'>,
  provider: ProviderName,
  under: Under & { readonly isJobNew: boolean },
): Promise<void> {
  const mark = creations.mark();
  const idleOf = (intents: readonly IntentRow[]): readonly IntentRow[] => {
    const running = creations.witnessesSince(provider, mark);
    return intents.filter(
      (intent) =>
        intent.provider === provider &&
        intent.attempts > 0 &&
        isIdle({ running, self: under.session.sessionId }, intent),
    );
  };
  const known = under.isJobNew ? null : deps.mirror.intents();
  if (known && idleOf(known).length === 0) return;
  const { intents } = await deps.mirror.readFleet(under.ends);
  const limit = pLimit(AT_ONCE);
  const results = await Promise.allSettled(
    idleOf(intents).map((intent) => limit(() => resolve(deps, intent, under))),
  );
  const fatal = results.find(
    (result) => result.status === 'rejected' && result.reason instanceof SessionExpired,
  );
  if (fatal?.status === 'rejected') throw fatal.reason;
}

/** Whatever goes wrong with one intent keeps no other from being resolved. */
async function resolve(deps: ProvisionDeps, intent: IntentRow, under: Under): Promise<void> {
  try {
    await adoptFound(deps, intent, under);
  } catch (error) {
    if (error instanceof SessionExpired) throw error;
    const fields = { slot: slotOf(intent), cause: explain(error) };
    deps.log.warn(fields, 'an unfinished creation cannot be settled now');
  }
}

/**
 * Records the device of an unfinished creation, if there is one.
 * @returns whether the intent is resolved.
 */
export async function adoptFound(
  deps: ProvisionDeps,
  found: IntentRow,
  { session, ends }: Under,
): Promise<boolean> {
  const provider = providerNamed(deps, found.provider);
  const call = { signal: ends, timeoutMs: SEARCH_MS };
  try {
    const device = await deps.holds.guard(found.provider, 'get', () =>
      provider.findByWitness(found.witness, found.slotId, call),
    );
    if (!device) return false;
    const intent = await takeUp(session, found);
    await restoreHolds(deps, { ...intent, device }, session);
    await session.intents.adopt(intent.witness, providedBy(intent.provider, intent.slotId, device));
    countCreation(deps, intent.provider, 'adopted');
    deps.log.info(
      { slot: slotOf(intent), machine: intent.machineId, device: device.id },
      'the device of an unfinished creation is recorded',
    );
    return true;
  } catch (error) {
    if (!isProviderError(error, 'race-lost')) throw error;
    const intent = await takeUp(session, found);
    await session.intents.end(intent.witness, { state: 'failed', cause: explain(error) });
    countCreation(deps, intent.provider, 'race_lost');
    deps.log.warn({ slot: slotOf(intent), cause: explain(error) }, 'the slot was lost to another');
    return true;
  }
}

/** Makes the intent ours, if it is of a dead session. @throws {WorkConflict} */
export const takeUp = async (session: BmdbSession, intent: IntentRow): Promise<IntentRow> =>
  intent.sessionId === session.sessionId ? intent : session.intents.resume(intent.witness);

export const slotOf = ({ provider, slotId }: IntentRow): string => `${provider}/${slotId}`;
