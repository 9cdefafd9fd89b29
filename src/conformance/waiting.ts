import { type Clock, sleep } from '../adapters/clock/port.ts';
import { explain, isProviderError, TimedOut } from '../domain/errors.ts';
import { facetsOf } from '../domain/provisioning/provider-holds.ts';
import { formatDuration } from '../settings/duration.ts';

/** The driver does not do what it must. */
export class StepFailed extends Error {}
/** The step does not apply here. */
export class StepSkipped extends Error {}

/** @throws {StepFailed} unless `condition`. */
export function must(condition: boolean, message: string): asserts condition {
  if (!condition) throw new StepFailed(message);
}

/** The awaited event did not come in time. */
export class NotInTime extends StepFailed {}

/** The awaited state is not reached, with the reason. */
export interface Pending {
  readonly pending: string;
}
export const pending = (reason: string): Pending => ({ pending: reason });

export interface WaitOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** Longest interval between two looks; the first ones are shorter. */
  readonly intervalMs: number;
  /** Called after each look with the wait and the observation; null: no longer waiting. */
  readonly onLook?: (waitsFor: string | null) => void;
}

const FIRST_INTERVAL_MS = 100;
const GROWTH = 1.5;

/** Whole seconds suffice for a reader. */
export const shown = (durationMs: number): string =>
  formatDuration(
    durationMs < 1_000 ? Math.round(durationMs) : Math.round(durationMs / 1_000) * 1_000,
  );

/**
 * Looks repeatedly until it sees something. A transient failure of the provider counts as an empty
 * look; a rate limit is respected. An abort's message contains the last observation.
 * @throws {NotInTime} the message contains the last observation.
 */
export async function until<T extends object | string | number | true>(
  what: string,
  { clock, signal, timeoutMs, intervalMs, onLook }: WaitOptions,
  look: () => Promise<T | Pending>,
): Promise<T> {
  const endsAt = clock.monotonic() + timeoutMs;
  let delayMs = Math.min(FIRST_INTERVAL_MS, intervalMs);
  let last: string | null = null;
  const calledOff = (error: unknown): unknown =>
    signal.aborted && last !== null ? new Error(`${what}: not yet; last state: ${last}`) : error;
  for (;;) {
    const seen = await lookOnce(look, clock).catch((error: unknown) => {
      throw calledOff(error);
    });
    last = isPending(seen) ? seen.pending : null;
    onLook?.(last === null ? null : `${what}; last: ${last}`);
    if (!isPending(seen)) return seen;
    const waitMs = Math.max(delayMs, seen.waitMs ?? 0);
    if (clock.monotonic() + waitMs >= endsAt) {
      throw new NotInTime(
        `${what}: timed out after ${shown(timeoutMs)}; last state: ${seen.pending}`,
      );
    }
    await sleep(clock, waitMs, signal).catch((error: unknown) => {
      throw calledOff(error);
    });
    delayMs = Math.min(delayMs * GROWTH, intervalMs);
  }
}

type StillPending = Pending & { readonly waitMs?: number };
const isPending = <T>(seen: T | StillPending): seen is StillPending =>
  typeof seen === 'object' && seen !== null && 'pending' in seen;

async function lookOnce<T>(
  look: () => Promise<T | Pending>,
  clock: Clock,
): Promise<T | StillPending> {
  try {
    return await look();
  } catch (error) {
    const { retryAtMs } = facetsOf(error);
    if (retryAtMs !== null) {
      return { pending: explain(error), waitMs: Math.max(0, retryAtMs - clock.now()) };
    }
    if (isProviderError(error, 'transient')) return pending(explain(error));
    throw error;
  }
}

/**
 * Gives `work` a signal that ends with the time limit, and does not wait for work that ignores it.
 * @throws {TimedOut} no end within the limit.
 */
export async function within<T>(
  what: string,
  limits: { readonly clock: Clock; readonly timeoutMs: number; readonly signal: AbortSignal },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { clock, timeoutMs, signal } = limits;
  const late = new AbortController();
  let timer: unknown;
  const ended = new Promise<never>((_, reject) => {
    timer = clock.setTimeout(() => {
      const error = new TimedOut(`${what} did not end within ${shown(timeoutMs)}`);
      reject(error);
      late.abort(error);
    }, timeoutMs);
  });
  try {
    return await Promise.race([work(AbortSignal.any([signal, late.signal])), ended]);
  } finally {
    clock.clearTimeout(timer);
  }
}
