import type { BmdbSession, Lease } from '../../adapters/bmdb/port.ts';
import { NothingToDo, WorkConflict, codeOf, explain } from '../../domain/errors.ts';
import { providerOf, type ProviderName, type Slot } from '../../domain/ids.ts';
import type { IntentRow, ProviderMachine } from '../../domain/machine.ts';
import { endOfCreation, type CreationOutcome } from '../../domain/provisioning/provider-tags.ts';
import type { HoldIndex } from '../../domain/provisioning/provider-holds.ts';
import type { PlannedCreation } from '../../domain/provisioning/reconcile.ts';
import { countCreation, providedBy, providerNamed, type ProvisionDeps } from './deps.ts';

/** Creations under way. They outlive the iteration that began them, but never their session. */
export interface Creations {
  /**
   * Commits the intent, then lets the creation run by itself. It counts from this call.
   * @returns false: the slot is no longer free.
   * @throws {LeaseLost} @throws {SessionExpired}
   */
  begin(creation: PlannedCreation, terms: Terms): Promise<boolean>;
  /** Number of creations under way. */
  count(provider: ProviderName): number;
  /** Slots whose last creation failed, with a rank: later failures rank higher. */
  failedLast(): ReadonlyMap<Slot, number>;
  /** The current moment, as an argument for `witnessesSince`. */
  mark(): number;
  /**
   * Creation keys in use at any time since the mark: rows read since then may not show their
   * result.
   */
  witnessesSince(provider: ProviderName, mark: number): ReadonlySet<string>;
  /** Resolves when fewer than `max` are under way, or the signal fires. */
  whenBelow(provider: ProviderName, max: number, signal: AbortSignal): Promise<void>;
  /** Creations that ended since the last call, for the summary. */
  takeTally(provider: ProviderName): CreationCounts;
  /** Lets creations complete for `graceMs`, then aborts and awaits them. */
  drain(graceMs: number): Promise<void>;
}

/** The session and the limits under which a creation is begun. */
export interface Terms {
  readonly session: BmdbSession;
  readonly lease: Lease;
  readonly holds: HoldIndex;
  /** Database clock. */
  readonly nowMs: number;
  /** Shared by the creations of one iteration. */
  readonly population: Population;
}

/** Known number of a provider's machines, including unfinished creations. */
interface Population {
  count: number;
}

export interface CreationCounts {
  readonly created: number;
  readonly failed: number;
}

interface UnderWay {
  readonly provider: ProviderName;
  readonly stopping: AbortController;
  /** The mark of its end; null: under way. */
  endedAt: number | null;
}

/** Number of ended creations to remember, for rows that were read before their end. */
const REMEMBERED_MAX = 1_000;

export function createCreations(deps: ProvisionDeps): Creations {
  const { clock, log } = deps;
  const known = new Map<string, UnderWay>();
  const tallies = new Map<ProviderName, { created: number; failed: number }>();
  const ends = new Set<() => void>();
  const failures = createFailures(deps.limits.penaltyMs);

  let last = 0;
  const running = () => [...known.values()].filter(({ endedAt }) => endedAt === null);
  const counts = new Map<ProviderName, number>();
  const count = (provider: ProviderName) => counts.get(provider) ?? 0;
  const countBy = (provider: ProviderName, by: 1 | -1) =>
    counts.set(provider, count(provider) + by);

  const tally = (provider: ProviderName, outcome: CreationOutcome) => {
    countCreation(deps, provider, outcome);
    const before = tallies.get(provider) ?? { created: 0, failed: 0 };
    if (outcome === 'created') before.created += 1;
    else before.failed += 1;
    tallies.set(provider, before);
  };

  const forgetOld = () => {
    let surplus = known.size - REMEMBERED_MAX;
    for (const [witness, { endedAt }] of known) {
      if (surplus <= 0) return;
      if (endedAt === null) continue;
      known.delete(witness);
      surplus -= 1;
    }
  };

  /** Follows a creation to any end; never fails. */
  async function follow(creation: PlannedCreation, intent: IntentRow, terms: Terms): Promise<void> {
    const entry: UnderWay = {
      provider: intent.provider,
      stopping: new AbortController(),
      endedAt: null,
    };
    forgetOld();
    known.delete(intent.witness);
    known.set(intent.witness, entry);
    const { session } = terms;
    const signal = AbortSignal.any([session.signal, entry.stopping.signal]);
    const begunAt = ++last;
    const isSuspect = failures.isSuspect(creation.slot, clock.monotonic());
    try {
      const work = { intent, isSuspect };
      const outcome = await create(deps, creation, work, terms, signal);
      tally(intent.provider, outcome);
      if (outcome === 'created') failures.succeeded(creation.slot, begunAt);
      else failures.failed(creation.slot, { at: ++last, nowMs: clock.monotonic() });
    } catch (error) {
      failures.failed(creation.slot, { at: ++last, nowMs: clock.monotonic() });
      // The intent stays: the next iteration first finds out its result.
      const fields = { slot: creation.slot, code: codeOf(error), cause: explain(error) };
      log.warn(fields, 'the result of a creation could not be recorded yet');
      tally(intent.provider, 'unknown');
    } finally {
      entry.endedAt = ++last;
      countBy(intent.provider, -1);
      for (const onEnd of [...ends]) onEnd();
    }
  }

  /** Calls back at each end; the returned function unsubscribes. */
  const onEnds = (callback: () => void): (() => void) => {
    ends.add(callback);
    return () => void ends.delete(callback);
  };

  return {
    async begin(creation, terms) {
      const provider = providerOf(creation.slot);
      const added = creation.intent ? 0 : 1;
      countBy(provider, 1);
      terms.population.count += added;
      let intent: IntentRow | null = null;
      try {
        intent = await intentFor(deps, creation, terms);
      } finally {
        if (intent) void follow(creation, intent, terms);
        else {
          countBy(provider, -1);
          terms.population.count -= added;
          for (const onEnd of [...ends]) onEnd();
        }
      }
      return intent !== null;
    },
    count,
    failedLast: failures.order,
    mark: () => ++last,
    witnessesSince(provider, mark) {
      const found = new Set<string>();
      for (const [witness, entry] of known) {
        const wasThere = entry.endedAt === null || entry.endedAt > mark;
        if (entry.provider === provider && wasThere) found.add(witness);
      }
      return found;
    },
    whenBelow: (provider, max, signal) =>
      new Promise((resolve) => {
        const done = () => {
          stop();
          signal.removeEventListener('abort', done);
          resolve();
        };
        const stop = onEnds(() => {
          if (count(provider) < max) done();
        });
        if (signal.aborted || count(provider) < max) return done();
        signal.addEventListener('abort', done, { once: true });
      }),
    takeTally(provider) {
      const found = tallies.get(provider) ?? { created: 0, failed: 0 };
      tallies.delete(provider);
      return found;
    },
    drain: (graceMs) =>
      new Promise((resolve) => {
        const abortAll = () => {
          log.warn(
            { creations: running().length },
            'creations are aborted, because the daemon stops',
          );
          for (const { stopping } of running()) stopping.abort();
        };
        const check = () => {
          if (running().length > 0) return;
          clock.clearTimeout(timer);
          stop();
          resolve();
        };
        const timer = clock.setTimeout(abortAll, graceMs);
        const stop = onEnds(check);
        check();
      }),
  };
}

/** Writes ahead: commits the intent before any call to the provider. Null: the slot is taken. */
async function intentFor(
  deps: ProvisionDeps,
  { slot, slotId, intent, replaces }: PlannedCreation,
  { session, lease }: Terms,
): Promise<IntentRow | null> {
  const provider = providerOf(slot);
  try {
    if (intent) {
      return intent.sessionId === session.sessionId
        ? intent
        : await session.intents.resume(intent.witness);
    }
    const hostname = providerNamed(deps, provider).hostnameFor(slotId);
    return await session.intents.open({
      provider,
      slotId,
      hostname,
      lease,
      ...(replaces && { replaces }),
    });
  } catch (error) {
    if (!(error instanceof WorkConflict || error instanceof NothingToDo)) throw error;
    deps.log.debug({ slot, cause: explain(error) }, 'the slot is no longer free to be provisioned');
    return null;
  }
}

async function create(
  deps: ProvisionDeps,
  creation: PlannedCreation,
  { intent, isSuspect }: { readonly intent: IntentRow; readonly isSuspect: boolean },
  terms: Terms,
  signal: AbortSignal,
): Promise<CreationOutcome> {
  const { provider: name, witness, slotId, hostname } = intent;
  const provider = providerNamed(deps, name);
  const { intents } = terms.session;
  const isResumed = intent.attempts > 0;
  if (isResumed) {
    deps.log.info({ slot: creation.slot, attempts: intent.attempts }, 'a creation is resumed');
  }
  let device: ProviderMachine;
  let isAttempted = false;
  try {
    device = await provider.createMachine(
      {
        unused: creation.unused,
        hostname,
        witness,
        resumed: isResumed,
        onAttempt: async (progress) => {
          await intents.progress(witness, {
            ambiguous: progress.ambiguous,
            attempts: intent.attempts + progress.attempts,
            empty: false,
          });
          isAttempted = true;
        },
      },
      { signal, timeoutMs: deps.limits.creationMs },
    );
  } catch (error) {
    return fail(deps, creation, terms, { intent, isAttempted, isSuspect, error });
  }
  await intents.adopt(witness, providedBy(name, slotId, device));
  await deps.holds.succeeded(name, 'create', terms, contextOf(deps, creation, terms));
  const fields = { slot: creation.slot, machine: intent.machineId, provider: name };
  deps.log.info({ ...fields, device: device.id }, 'machine created');
  return 'created';
}

/** Applies an error's consequences to the creation's intent, slot and provider. */
async function fail(
  deps: ProvisionDeps,
  creation: PlannedCreation,
  { session, ...terms }: Terms,
  {
    intent: { provider, witness, attempts },
    isAttempted,
    isSuspect,
    error,
  }: {
    readonly intent: IntentRow;
    readonly isAttempted: boolean;
    readonly isSuspect: boolean;
    readonly error: unknown;
  },
): Promise<CreationOutcome> {
  const cause = explain(error);
  const { intent, outcome, isSlotToBlame } = endOfCreation(error, {
    isResumed: attempts > 0,
    isAttempted,
  });
  const fields = { slot: creation.slot, code: codeOf(error), outcome, cause };
  deps.log.warn(fields, 'the machine was not created');
  // The provider's answer takes effect whatever happens to intent and session.
  await deps.holds.failed(provider, 'create', error, contextOf(deps, creation, terms));
  if (session.signal.aborted) return outcome;
  if (intent === 'unresolved') {
    await session.intents.progress(witness, { unresolved: true, lastError: cause });
  } else if (intent === 'failed') {
    const isBlamed = isSlotToBlame || (outcome === 'unavailable' && isSuspect);
    const penalty = isBlamed ? { penaltyMs: deps.limits.penaltyMs } : {};
    await session.intents.end(witness, { state: 'failed', cause, ...penalty });
  }
  if (intent === 'failed') terms.population.count -= 1;
  return outcome;
}

/** The context that determines holds on the provider. */
function contextOf(
  deps: ProvisionDeps,
  { slot, unused }: PlannedCreation,
  { population }: Pick<Terms, 'population'>,
) {
  const { plan: name, location, spot = false } = unused;
  const plan = { name, location, spot };
  return {
    plan,
    group: providerNamed(deps, providerOf(slot)).capacityGroup(plan),
    machines: population.count,
  };
}

interface CreationFailure {
  readonly at: number;
  readonly nowMs: number;
  readonly othersSucceeded: boolean;
}

/** Beyond this number, the oldest failure is forgotten. */
const FAILURES_MAX = 1_000;

/**
 * Slots whose last creation failed, so that a failing slot is not tried first each time and is
 * noticed.
 * @param memoryMs older failures no longer count against a slot.
 */
function createFailures(memoryMs: number) {
  const known = new Map<Slot, CreationFailure>();
  return {
    /** @param at rank among all failures and starts. */
    failed(slot: Slot, { at, nowMs }: Pick<CreationFailure, 'at' | 'nowMs'>) {
      known.delete(slot);
      known.set(slot, { at, nowMs, othersSucceeded: false });
      if (known.size > FAILURES_MAX) known.delete(known.keys().next().value!);
    },
    /** @param begunAt rank of the successful creation's start. */
    succeeded(slot: Slot, begunAt: number) {
      known.delete(slot);
      for (const [other, failure] of known) {
        if (providerOf(other) !== providerOf(slot) || failure.at > begunAt) continue;
        known.set(other, { ...failure, othersSucceeded: true });
      }
    },
    /** The slot failed recently, and a later creation of its provider succeeded. */
    isSuspect(slot: Slot, nowMs: number): boolean {
      const failure = known.get(slot);
      return failure !== undefined && failure.othersSucceeded && nowMs - failure.nowMs < memoryMs;
    },
    /** Later failures rank higher. */
    order: (): ReadonlyMap<Slot, number> => new Map([...known].map(([slot, { at }]) => [slot, at])),
  };
}
