import { ProviderError } from '../../../domain/errors.ts';
import { type Clock, sleep } from '../../clock/port.ts';
import type { CallOptions } from '../port.ts';
import { CALL_FAULT_KINDS, type CallFaultKind, type StubOperation } from './fault-kinds.ts';
import type { Faults, Occasion } from './faults.ts';
import { refusalOf, type RefusalDeps, type RefusingKind } from './refusals.ts';

/** Whom and what a call is about, for faults that are for it alone. */
export interface Subject {
  readonly device?: string | null;
  readonly reservation?: string | null;
}

/** The way in of every call: its index, its latency, and what may happen to any call. */
export interface Calls {
  run<T>(
    operation: StubOperation,
    subject: Subject,
    options: CallOptions,
    effect: (occasion: Occasion, refusal: RefusalDeps) => T | Promise<T>,
  ): Promise<T>;
  /** Lets one call that is held go on; the one that waits longest. False: none waits. */
  release(operation: StubOperation): boolean;
  /** Calls that are held now. */
  held(operation: StubOperation): number;
  /** Calls so far. */
  count(operation: StubOperation): number;
}

export interface CallsDeps {
  readonly clock: Clock;
  readonly faults: Faults;
  /** Of every call. */
  readonly latencyMs: number;
}

/** Those that strike after the call was carried out. */
const AFTERWARDS: readonly CallFaultKind[] = [
  'fails-after',
  'reply-lost',
  'truncated-body',
  'hangs-after',
];
/** Those that only take time, or colour another fault. */
type PassingKind = 'slow' | 'held' | 'clock-skew';
const DECISIVE = CALL_FAULT_KINDS.filter(
  (kind): kind is Exclude<CallFaultKind, PassingKind> =>
    !(['slow', 'held', 'clock-skew'] as readonly CallFaultKind[]).includes(kind),
);

/** Counts and queues are the account's: every instance that is open on it shares them. */
export function createCalls({ clock, faults, latencyMs }: CallsDeps): Calls {
  const counts = new Map<StubOperation, number>();
  const gates: { readonly operation: StubOperation; readonly open: () => void }[] = [];

  function nextOf(operation: StubOperation): number {
    const call = (counts.get(operation) ?? 0) + 1;
    counts.set(operation, call);
    return call;
  }

  async function delay(occasion: Occasion, operation: StubOperation, signal: AbortSignal) {
    const slow = faults.strike(occasion, 'slow');
    const waitMs = latencyMs + (slow?.amount ?? 0);
    if (waitMs > 0) await sleep(clock, waitMs, signal);
    if (faults.strike(occasion, 'held')) await gate(operation, signal);
  }

  async function gate(operation: StubOperation, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const entry = { operation, open: resolve };
    gates.push(entry);
    try {
      await orAborted(promise, signal);
    } finally {
      const at = gates.indexOf(entry);
      if (at >= 0) gates.splice(at, 1);
    }
  }

  async function through<T>(
    occasion: Occasion,
    refusal: RefusalDeps,
    { signal, effect }: { signal: AbortSignal; effect: () => T | Promise<T> },
  ): Promise<T> {
    const strike = faults.strike(occasion, ...DECISIVE);
    if (!strike) return effect();
    const { fault } = strike;
    if (fault === 'hangs') return orAborted(never(), signal);
    if (!AFTERWARDS.includes(fault)) throw refusalOf(fault as RefusingKind, strike, refusal);
    await effect();
    if (fault !== 'hangs-after') throw refusalOf(fault, strike, refusal);
    return orAborted(never(), signal).catch((cause: unknown) => {
      const done = { cause, outcome: 'unknown' } as const;
      throw new ProviderError('aborted', `${refusal.asked} was aborted`, done);
    });
  }

  return {
    async run(operation, subject, { signal }, effect) {
      const call = nextOf(operation);
      const occasion = { operation, call, ...subject };
      const asked = `${operation} ${subject.device ?? subject.reservation ?? ''}`.trimEnd();
      try {
        signal.throwIfAborted();
        await delay(occasion, operation, signal);
        const skewMs = faults.strike(occasion, 'clock-skew')?.amount ?? 0;
        const refusal = { asked, skewMs, nowMs: clock.now() };
        return await through(occasion, refusal, {
          signal,
          effect: () => effect(occasion, refusal),
        });
      } catch (error) {
        const isOwn = error instanceof ProviderError && error !== signal.reason;
        if (isOwn || !signal.aborted) throw error;
        throw new ProviderError('aborted', `${asked} was aborted`, { cause: error });
      }
    },
    release(operation) {
      const entry = gates.find((one) => one.operation === operation);
      entry?.open();
      if (entry) gates.splice(gates.indexOf(entry), 1);
      return entry !== undefined;
    },
    held: (operation) => gates.filter((one) => one.operation === operation).length,
    count: (operation) => counts.get(operation) ?? 0,
  };
}

const never = (): Promise<never> => new Promise(() => undefined);

/** As the promise; rejects with the signal's reason when it aborts before. */
function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    void promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
