import { ProviderError, type ProviderErrorFacets } from '../errors.ts';
import type { ProviderHoldKind, ProviderHoldRow } from '../machine.ts';
import type { LadderMeans } from '../recovery/rungs.ts';

/**
 * Decides which calls of a provider must wait, and how its answers change that. Pure. Holds are
 * rows: they stay after their end until a success clears them, and all daemons respect them.
 */

/** A class of hardware for which the provider's capacity is tracked. */
export interface CapacityPlan {
  readonly name: string;
  readonly location: string | null;
  readonly spot: boolean;
}

/**
 * Calls that are throttled separately; each is the key of a throttle. `get`: any query about one
 * machine or slot.
 */
export type ThrottledCall = 'create' | 'list' | 'get' | 'destroy' | 'setTags' | keyof LadderMeans;

export const QUOTA_KEY = 'machines';
const CAPACITY_MIN_MS = 60_000;
const CAPACITY_MAX_MS = 16 * 60_000;
const QUOTA_MS = 15 * 60_000;
/** A quota of zero machines ends soon, because no machine can leave to end it. */
const QUOTA_OF_NONE_MS = 60_000;
/** Longest throttle, whatever an answer says, right or wrong. Afterwards one call tries. */
const RATE_LIMIT_MAX_MS = 15 * 60_000;
/** Hold after a rejected token or an outage of the provider; neither concerns a slot. */
const AUTH_MIN_MS = 60_000;
const OUTAGE_MIN_MS = 5_000;
const OUTAGE_MAX_MS = 5 * 60_000;
/** Throttle after a creation was declined because the maximum was already under way. */
export const CONCURRENCY_THROTTLE_MS = 5_000;

const spotOf = ({ spot }: CapacityPlan): string => (spot ? ' spot' : '');

/** Keys under which capacity for a plan may be held, narrowest first. */
export const capacityKeys = (plan: CapacityPlan, group: string) => ({
  plan: `plan ${plan.name}${plan.location === null ? '' : ` in ${plan.location}`}${spotOf(plan)}`,
  group: `group ${group}`,
  all: 'all',
});

const idOf = (kind: ProviderHoldKind, key: string): string => `${kind} ${key}`;

/** Holds of one provider, by kind and key. */
export type HoldIndex = ReadonlyMap<string, ProviderHoldRow>;
export function indexHolds(rows: Iterable<ProviderHoldRow>): HoldIndex {
  const index = new Map<string, ProviderHoldRow>();
  for (const row of rows) index.set(idOf(row.kind, row.key), row);
  return index;
}

/** The throttle of a kind of call, if it is in force. */
export function throttleOf(
  holds: HoldIndex,
  call: ThrottledCall,
  nowMs: number,
): ProviderHoldRow | null {
  const found = holds.get(idOf('throttle', call));
  return found && found.untilMs > nowMs ? found : null;
}

export interface AdmissionInput {
  readonly holds: HoldIndex;
  readonly nowMs: number;
  /** Why nothing can be created (no key, no init command); null: everything is configured. */
  readonly payload: string | null;
  readonly plan: CapacityPlan;
  /** The plan's quota group, as the driver names it. */
  readonly group: string;
  /** Existing machines, including unfinished creations. */
  readonly machines: number;
  /** Creations under way. */
  readonly running: number;
  /** Maximum number of creations at once. */
  readonly runningMax: number;
  /** Keys on trial that already have an attempt; an admitted attempt adds its keys. */
  readonly onTrial: Set<string>;
}

/** Why no further machine may be requested now: the first reason that applies. Null: it may. */
export function admissionRefusal(input: AdmissionInput): string | null {
  const { holds, nowMs, payload } = input;
  if (payload !== null) return `nothing can be created: ${payload}`;
  const trials: string[] = [];
  const refusal =
    capacityRefusal(input, trials) ??
    quotaRefusal(input, trials) ??
    throttleRefusal(throttleOf(holds, 'create', nowMs)) ??
    (input.running >= input.runningMax ? `${input.running} creations are under way` : null);
  if (refusal === null) for (const trial of trials) input.onTrial.add(trial);
  return refusal;
}

const throttleRefusal = (row: ProviderHoldRow | null): string | null =>
  row && `creations are throttled: ${row.cause}`;

function capacityRefusal(input: AdmissionInput, trials: string[]): string | null {
  const { holds, plan, group } = input;
  if (holds.size === 0) return null;
  for (const key of Object.values(capacityKeys(plan, group))) {
    const row = holds.get(idOf('capacity', key));
    if (!row) continue;
    if (row.untilMs > input.nowMs) return `no capacity (${key}): ${row.cause}`;
    const refusal = trialRefusal(input, idOf('capacity', key), trials);
    if (refusal) return refusal;
  }
  return null;
}

function quotaRefusal(input: AdmissionInput, trials: string[]): string | null {
  const row = input.holds.get(idOf('quota', QUOTA_KEY));
  if (!row) return null;
  const amount = row.amount ?? 0;
  if (row.untilMs > input.nowMs) {
    if (input.machines < amount) return null;
    return `at quota, ${input.machines} machines of ${amount}: ${row.cause}`;
  }
  return trialRefusal(input, idOf('quota', QUOTA_KEY), trials);
}

/** A hold that ended without a success lets one attempt through at a time. */
function trialRefusal(input: AdmissionInput, id: string, trials: string[]): string | null {
  if (input.running > 0 || input.onTrial.has(id)) return `one trial at a time (${id})`;
  trials.push(id);
  return null;
}

/** A failed call's error, without the call. */
export interface CallFailure {
  /** Its code: the kind of a provider's error. */
  readonly code: string;
  readonly outcome: 'not-done' | 'unknown';
  /** Pause that the error requests; null: none. A time in the past counts as none. */
  readonly retryInMs: number | null;
  readonly quota: boolean;
  readonly capacity: 'all' | 'group' | 'plan' | null;
  readonly cause: string;
}

export type HoldOrder =
  | {
      readonly order: 'impose';
      readonly kind: ProviderHoldKind;
      readonly key: string;
      readonly forMs: number;
      readonly level: number;
      readonly amount?: number;
      readonly cause: string;
    }
  | {
      readonly order: 'lift';
      readonly kind: ProviderHoldKind;
      readonly key: string;
      /** End of the hold that the call saw: a hold imposed since then stays. */
      readonly seenUntilMs: number;
    };

export interface CallContext {
  readonly call: ThrottledCall;
  readonly holds: HoldIndex;
  readonly nowMs: number;
  /** Creations only. */
  readonly creation?: {
    readonly plan: CapacityPlan;
    readonly group: string;
    /** Existing machines and all creations, including this one. */
    readonly machines: number;
  };
}

/** Holds to impose after a failure, one per facet. A shorter hold never replaces a longer one. */
export function holdsAfterFailure(failure: CallFailure, context: CallContext): HoldOrder[] {
  const { creation } = context;
  const orders = [...rateLimit(failure, context)];
  if (creation) {
    if (failure.quota) orders.push(...quota(failure, context, creation.machines));
    if (failure.capacity !== null) orders.push(...capacity(failure, failure.capacity, context));
    if (orders.length === 0 && !isExplained(failure)) orders.push(...outage(failure, context));
  }
  return orders;
}

/** The facets explain the failure completely. */
const isExplained = ({ quota, capacity, retryInMs }: CallFailure): boolean =>
  quota || capacity !== null || retryInMs !== null;

function rateLimit({ retryInMs, cause }: CallFailure, context: CallContext): HoldOrder[] {
  if (retryInMs === null || retryInMs <= 0) return [];
  const forMs = Math.min(RATE_LIMIT_MAX_MS, retryInMs);
  const before = throttleOf(context.holds, context.call, context.nowMs);
  if (before && before.untilMs >= context.nowMs + forMs) return [];
  return [{ order: 'impose', kind: 'throttle', key: context.call, forMs, level: 1, cause }];
}

function quota({ cause }: CallFailure, context: CallContext, machines: number): HoldOrder[] {
  const before = context.holds.get(idOf('quota', QUOTA_KEY));
  const level = levelAfter(before, context.nowMs);
  const count = machines - 1;
  const order = { order: 'impose', kind: 'quota', key: QUOTA_KEY, level, cause } as const;
  if (count < 1) {
    const lifted = before ? [liftOf(before)] : [];
    return [...lifted, { ...order, forMs: QUOTA_OF_NONE_MS, amount: 0 }];
  }
  const isInForce = before && before.untilMs > context.nowMs;
  const amount = isInForce ? Math.min(before.amount ?? count, count) : count;
  return [{ ...order, forMs: QUOTA_MS, amount }];
}

function capacity(
  { cause }: CallFailure,
  scope: 'all' | 'group' | 'plan',
  { holds, nowMs, creation }: CallContext,
): HoldOrder[] {
  const key = capacityKeys(creation!.plan, creation!.group)[scope];
  const before = holds.get(idOf('capacity', key));
  if (before && before.untilMs > nowMs) return [];
  const level = levelAfter(before, nowMs);
  const forMs = doubled(CAPACITY_MIN_MS, level, CAPACITY_MAX_MS);
  return [{ order: 'impose', kind: 'capacity', key, forMs, level, cause }];
}

function outage({ code, outcome, cause }: CallFailure, context: CallContext): HoldOrder[] {
  if (outcome === 'unknown' || (code !== 'auth' && code !== 'transient')) return [];
  if (throttleOf(context.holds, 'create', context.nowMs)) return [];
  const level = levelAfter(context.holds.get(idOf('throttle', 'create')), context.nowMs);
  const forMs = doubled(code === 'auth' ? AUTH_MIN_MS : OUTAGE_MIN_MS, level, OUTAGE_MAX_MS);
  return [{ order: 'impose', kind: 'throttle', key: 'create', forMs, level, cause }];
}

/** Several failures under one hold raise the level once. */
const levelAfter = (before: ProviderHoldRow | undefined, nowMs: number): number =>
  before === undefined ? 1 : before.untilMs > nowMs ? before.level : before.level + 1;

const doubled = (minMs: number, level: number, maxMs: number): number =>
  Math.min(maxMs, minMs * 2 ** Math.min(level - 1, 16));

/**
 * Holds that a success clears, given the holds and the time at the call's start. A call under a
 * quota in force proves nothing about it; a call on trial does.
 */
export function holdsAfterSuccess({ call, holds, nowMs, creation }: CallContext): HoldOrder[] {
  const ids: [ProviderHoldKind, string][] = [['throttle', call]];
  if (creation) {
    const quotaRow = holds.get(idOf('quota', QUOTA_KEY));
    if (quotaRow && quotaRow.untilMs <= nowMs) ids.push(['quota', QUOTA_KEY]);
    for (const key of Object.values(capacityKeys(creation.plan, creation.group))) {
      ids.push(['capacity', key]);
    }
  }
  return ids.flatMap(([kind, key]) => {
    const row = holds.get(idOf(kind, key));
    return row ? [liftOf(row)] : [];
  });
}

const liftOf = ({ kind, key, untilMs }: ProviderHoldRow): HoldOrder => ({
  order: 'lift',
  kind,
  key,
  seenUntilMs: untilMs,
});

/** The facets of an error and of its causes. */
interface FoundFacets {
  readonly outcome: 'not-done' | 'unknown';
  /** Latest of all retry times, epoch ms. */
  readonly retryAtMs: number | null;
  readonly quota: boolean;
  /** Widest of all scopes. */
  readonly capacity: NonNullable<ProviderErrorFacets['capacity']>['scope'] | null;
}

const DEPTH_MAX = 16;

/**
 * Searches the whole chain of causes, because drivers and their libraries wrap errors. An error
 * without a `ProviderError` is a driver's bug: the request may have taken effect.
 */
export function facetsOf(error: unknown): FoundFacets {
  const found = providerErrors(error);
  const retryTimes = found.flatMap(({ rateLimit }) => timeOf(rateLimit?.retryAt));
  const scopes = found.flatMap(({ capacity }) => capacity?.scope ?? []);
  return {
    outcome: mayBeDone(found) ? 'unknown' : 'not-done',
    retryAtMs: retryTimes.length > 0 ? Math.max(...retryTimes) : null,
    quota: found.some(({ quota }) => quota === true),
    capacity: (['all', 'group', 'plan'] as const).find((scope) => scopes.includes(scope)) ?? null,
  };
}

/** Whether the request may have been carried out. */
const mayBeDone = (found: readonly ProviderError[]): boolean =>
  found.length === 0 || found.some(({ outcome }) => outcome !== 'not-done');

/** A driver may pass any value; a value that is no time is ignored. */
function timeOf(retryAt: unknown): number[] {
  const atMs = retryAt instanceof Date ? retryAt.getTime() : Number.NaN;
  return Number.isFinite(atMs) ? [atMs] : [];
}

function providerErrors(error: unknown): ProviderError[] {
  const found: ProviderError[] = [];
  let at = error;
  for (let depth = 0; depth < DEPTH_MAX && at instanceof Error; depth++) {
    if (at instanceof ProviderError) found.push(at);
    at = at.cause;
  }
  return found;
}

/** Keys that are left alone for a time, in memory. Beyond `sizeMax`, forgets the oldest key. */
export function createPenalties<Key>(sizeMax: number) {
  const entries = new Map<Key, number>();
  return {
    /** The latest time for a key counts. */
    add(key: Key, untilMs: number): void {
      entries.delete(key);
      entries.set(key, untilMs);
      if (entries.size > sizeMax) entries.delete(entries.keys().next().value!);
    },
    /** True while `nowMs <= untilMs`. False for unknown keys. */
    penalised: (key: Key, nowMs: number): boolean => nowMs <= (entries.get(key) ?? -Infinity),
  };
}
