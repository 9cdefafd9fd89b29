import { type Clock, sleep } from '../../../src/adapters/clock/port.ts';
import type { CallOptions } from '../../../src/adapters/provider/port.ts';
import { ProviderError } from '../../../src/domain/errors.ts';
import {
  CALL_FAULTS,
  type CallFaultKind,
  type FaultScript,
  type Occasion,
  type ProviderOperation,
  type FaultStrike,
} from './faults.ts';

export type Calls = ReturnType<typeof createCalls>;

interface CallsDeps {
  readonly clock: Clock;
  readonly faults: FaultScript;
  /** Duration of every call. */
  readonly latencyMs: number;
}

/** Faults that strike after the call was carried out. */
const AFTERWARDS: readonly CallFaultKind[] = ['fails-after', 'reply-lost', 'hangs-after'];
type DecisiveKind = Exclude<CallFaultKind, 'slow'>;
const DECISIVE = Object.keys(CALL_FAULTS).filter((kind): kind is DecisiveKind => kind !== 'slow');

/**
 * The entry of every call: its index, latency and faults. Counts belong to the account: all its
 * open instances share them.
 */
export function createCalls({ clock, faults, latencyMs }: CallsDeps) {
  const counts = new Map<ProviderOperation, number>();

  async function carryOut<T>(
    occasion: Occasion,
    asked: string,
    { signal, effect }: { signal: AbortSignal; effect: () => T | Promise<T> },
  ): Promise<T> {
    const strike = faults.strike(occasion, ...DECISIVE);
    if (!strike) return effect();
    const { fault } = strike;
    if (AFTERWARDS.includes(fault)) await effect();
    if (fault !== 'hangs' && fault !== 'hangs-after') throw refusalOf(strike, asked, clock.now());
    return aborted(signal).catch((cause: unknown) => {
      const how = { cause, ...(fault === 'hangs-after' && { outcome: 'unknown' as const }) };
      throw new ProviderError('aborted', `${asked} was aborted`, how);
    });
  }

  return {
    /** @param device the call's device, if it has one. */
    async run<T>(
      operation: ProviderOperation,
      device: string | null,
      { signal }: Pick<CallOptions, 'signal'>,
      effect: (occasion: Occasion) => T | Promise<T>,
    ): Promise<T> {
      const call = (counts.get(operation) ?? 0) + 1;
      counts.set(operation, call);
      const occasion = { operation, call, device };
      const asked = `${operation} ${device ?? ''}`.trimEnd();
      try {
        signal.throwIfAborted();
        const waitMs = latencyMs + (faults.strike(occasion, 'slow')?.amount ?? 0);
        if (waitMs > 0) await sleep(clock, waitMs, signal);
        return await carryOut(occasion, asked, { signal, effect: () => effect(occasion) });
      } catch (error) {
        const isOwn = error instanceof ProviderError && error !== signal.reason;
        if (isOwn || !signal.aborted) throw error;
        throw new ProviderError('aborted', `${asked} was aborted`, { cause: error });
      }
    },
    /** Number of calls so far. */
    count: (operation: ProviderOperation) => counts.get(operation) ?? 0,
  };
}

/** Rejects with the signal's reason when it aborts. */
const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const abort = () => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
  });

/** The error of a call that such a fault struck. */
function refusalOf(
  { fault, amount, error }: FaultStrike<DecisiveKind>,
  asked: string,
  nowMs: number,
) {
  const refusal = (
    kind: 'transient' | 'auth' | 'conflict',
    why: string,
    facets: ConstructorParameters<typeof ProviderError>[2] = {},
  ) => new ProviderError(kind, `${asked}: ${why}`, facets);
  switch (fault) {
    case 'reply-lost':
      return refusal('transient', 'the reply was lost', { outcome: 'unknown' });
    case 'server-error':
      return refusal('transient', '503 service unavailable', { outcome: 'unknown' });
    case 'unauthorized':
      return refusal('auth', '401, the token is not accepted');
    case 'conflict':
      return refusal('conflict', '409, something else is under way');
    case 'rate-limit':
    case 'rate-limit-past': {
      const retryAt = new Date(nowMs + amount);
      return refusal('transient', '429 too many requests', { rateLimit: { retryAt } });
    }
    default:
      return error ?? refusal('transient', 'failed as scripted');
  }
}
