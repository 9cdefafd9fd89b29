import type { ProviderHoldRepository } from '../../adapters/bmdb/port.ts';
import type { Clock } from '../../adapters/clock/port.ts';
import type { Log } from '../../adapters/log/port.ts';
import { ProviderError, explain } from '../../domain/errors.ts';
import type { ProviderName } from '../../domain/ids.ts';
import type { ProviderHoldRow } from '../../domain/machine.ts';
import { failureOfCall } from '../../domain/provisioning/provider-tags.ts';
import {
  holdsAfterFailure,
  holdsAfterSuccess,
  indexHolds,
  type CallContext,
  type HoldIndex,
  type HoldOrder,
  type ThrottledCall,
} from '../../domain/provisioning/provider-holds.ts';

interface HoldKeeperDeps {
  readonly repository: ProviderHoldRepository;
  /** All holds, as of the last read of the BMDB. */
  readonly rows: () => readonly ProviderHoldRow[];
  /** Database clock, epoch ms. */
  readonly nowMs: () => number;
  readonly clock: Clock;
  readonly log: Log;
}

type CreationContext = NonNullable<CallContext['creation']>;
type Impose = Extract<HoldOrder, { readonly order: 'impose' }>;
type Lift = Extract<HoldOrder, { readonly order: 'lift' }>;

/**
 * This daemon's knowledge of holds on providers, including its own recent ones; imposes and lifts
 * them. Other daemons see them in the BMDB. A failed write is logged, and the next error of its
 * kind writes again.
 */
export interface HoldKeeper {
  holds(provider: ProviderName): HoldIndex;
  /**
   * Must be called before a call, whose result must go to `failed` or `succeeded`. After a throttle
   * ends, lets one call through at a time until one succeeds.
   * @throws {ProviderError} calls of this kind are throttled; nothing was sent.
   */
  check(provider: ProviderName, call: ThrottledCall): void;
  /**
   * Makes a call other than a creation under its kind's holds, and records its result.
   * @throws {ProviderError} see `check`. Any error of the call.
   */
  guard<T>(provider: ProviderName, call: ThrottledCall, ask: () => Promise<T>): Promise<T>;
  /** To be called after a failed call. */
  failed(
    provider: ProviderName,
    call: ThrottledCall,
    error: unknown,
    creation?: CreationContext,
  ): Promise<void>;
  /** To be called after a successful call that began at `begun`. */
  succeeded(
    provider: ProviderName,
    call: ThrottledCall,
    begun: { readonly holds: HoldIndex; readonly nowMs: number },
    creation?: CreationContext,
  ): Promise<void>;
}

/** Holds of this daemon count for this long, until a read of the BMDB has them. */
const OWN_MS = 10_000;

/** After this long, a call on trial bars others no more, even without a result. */
const TRIAL_MS = 60_000;

/** Tolerance between our estimate of a hold's end and the end in the BMDB. */
const SLACK_MS = 1_000;

interface Own {
  readonly provider: ProviderName;
  /** Null: lifted. */
  readonly row: ProviderHoldRow | null;
  /** A hold of this key that ends later was imposed after the lifting. */
  readonly liftedUntilMs: number;
  readonly atMs: number;
}

export function createHoldKeeper(deps: HoldKeeperDeps): HoldKeeper {
  const { repository, clock, log, nowMs } = deps;
  const own = new Map<string, Own>();
  /** Start of the call that tests whether a throttle is still needed. */
  const trials = new Map<string, number>();

  const holds = (provider: ProviderName): HoldIndex => {
    const found = new Map(indexHolds(deps.rows().filter((row) => row.provider === provider)));
    const nowMonotonicMs = clock.monotonic();
    for (const [key, { row, liftedUntilMs, atMs, provider: owner }] of own) {
      if (nowMonotonicMs - atMs > OWN_MS) own.delete(key);
      if (owner !== provider || !own.has(key)) continue;
      const id = key.slice(owner.length + 1);
      const untilMs = found.get(id)?.untilMs ?? -Infinity;
      if (row !== null && untilMs < row.untilMs) found.set(id, row);
      if (row === null && untilMs <= liftedUntilMs) found.delete(id);
    }
    return found;
  };

  const impose = async (provider: ProviderName, order: Impose): Promise<void> => {
    const { order: _, ...hold } = order;
    const { kind, key, forMs, level, cause, amount = null } = hold;
    const row = { provider, kind, key, level, cause, amount, untilMs: nowMs() + forMs };
    const atMs = clock.monotonic();
    own.set(`${provider} ${kind} ${key}`, { provider, row, liftedUntilMs: -Infinity, atMs });
    await repository.impose({ provider, ...hold });
    log.warn({ provider, kind, key, forMs, level, cause }, 'a hold on the provider is imposed');
  };
  const lift = async (provider: ProviderName, { kind, key, seenUntilMs }: Lift): Promise<void> => {
    const liftedUntilMs = seenUntilMs + SLACK_MS;
    const known = holds(provider).get(`${kind} ${key}`);
    if (known && known.untilMs > liftedUntilMs) return;
    const atMs = clock.monotonic();
    own.set(`${provider} ${kind} ${key}`, { provider, row: null, liftedUntilMs, atMs });
    const count = await repository.lift(provider, kind, key, liftedUntilMs);
    if (count > 0) log.info({ provider, kind, key }, 'a hold on the provider is lifted');
  };
  const carryOut = async (provider: ProviderName, order: HoldOrder): Promise<void> => {
    try {
      await (order.order === 'lift' ? lift(provider, order) : impose(provider, order));
    } catch (error) {
      const { kind, key } = order;
      const fields = { provider, kind, key, cause: explain(error) };
      log.warn(fields, 'a hold could not be written');
    }
  };
  const carryOutAll = async (provider: ProviderName, orders: readonly HoldOrder[]) => {
    for (const order of orders) await carryOut(provider, order);
  };

  const keeper: HoldKeeper = {
    holds,
    async guard(provider, call, ask) {
      keeper.check(provider, call);
      const begun = { holds: holds(provider), nowMs: nowMs() };
      const answer = await ask().catch(async (error: unknown) => {
        await keeper.failed(provider, call, error);
        throw error;
      });
      await keeper.succeeded(provider, call, begun);
      return answer;
    },
    check(provider, call) {
      const throttle = holds(provider).get(`throttle ${call}`);
      if (!throttle) return;
      const trialMs = (trials.get(`${provider} ${call}`) ?? -Infinity) + TRIAL_MS;
      const heldMs = Math.max(throttle.untilMs - nowMs(), trialMs - clock.monotonic());
      if (heldMs <= 0) return void trials.set(`${provider} ${call}`, clock.monotonic());
      const retryAt = new Date(clock.now() + heldMs);
      const message = `${call} of ${provider} is throttled: ${throttle.cause}`;
      throw new ProviderError('transient', message, { rateLimit: { retryAt } });
    },
    failed(provider, call, error, creation) {
      trials.delete(`${provider} ${call}`);
      const context = {
        call,
        holds: holds(provider),
        nowMs: nowMs(),
        ...(creation && { creation }),
      };
      return carryOutAll(provider, holdsAfterFailure(failureOfCall(error, clock.now()), context));
    },
    succeeded(provider, call, begun, creation) {
      trials.delete(`${provider} ${call}`);
      const context = { call, ...begun, ...(creation && { creation }) };
      return carryOutAll(provider, holdsAfterSuccess(context));
    },
  };
  return keeper;
}

/** A request repeated within this time after its check is not checked again. */
const HOLDS_MS = 15_000;

/**
 * For `FleetCall.beforeSending`: checks at the first request of a call. Later repetitions go to
 * `again`, because the machine may have come back, or the request may no longer be wanted.
 */
export function createSendCheck(
  clock: Pick<Clock, 'monotonic'>,
  check: () => Promise<void>,
  again: () => Promise<void> = check,
): () => Promise<void> {
  let checkedAtMs: number | null = null;
  return async () => {
    if (checkedAtMs !== null && clock.monotonic() - checkedAtMs <= HOLDS_MS) return;
    await (checkedAtMs === null ? check : again)();
    checkedAtMs = clock.monotonic();
  };
}
