import { AsyncLocalStorage } from 'node:async_hooks';
import { ProviderError, isProviderError } from '../../domain/errors.ts';
import type { ProviderName } from '../../domain/ids.ts';
import { facetsOf } from '../../domain/provisioning/provider-holds.ts';
import type { Clock, Random } from '../clock/port.ts';
import type { Log } from '../log/port.ts';
import type { Metrics } from '../metrics/port.ts';
import type { CallOptions, DriverMachine, FleetCall, TurnWait } from '../provider/port.ts';
import { wrappedIn, type Scrubber } from './redaction.ts';
import { startTimeLimit, type TimeLimit } from './time-limit.ts';
import type { EndTurn, Turns } from './turns.ts';

/** Operations of a driver, as named in metrics. */
export const OPERATIONS = [
  'List',
  'Get',
  'Create',
  'Find',
  'Destroy',
  'Reboot',
  'Reinstall',
  'Power',
  'ResetController',
  'SetTags',
  'VerifyHostKey',
  'Reusable',
  'Prepare',
  'Sweep',
] as const;
export type Operation = (typeof OPERATIONS)[number];

const READING: readonly Operation[] = ['List', 'Get', 'Find', 'VerifyHostKey', 'Reusable'];
/** Whether the operation changes nothing, however it ends. */
export const isReading = (operation: Operation): boolean => READING.includes(operation);

/** Time limits of operations with all attempts and waits, unless the caller sets a shorter one. */
const TIMEOUT_MS: Readonly<Partial<Record<Operation, number>>> = {
  List: 15 * 60_000,
  Create: 15 * 60_000,
};
const USUAL_TIMEOUT_MS = 5 * 60_000;

export const timeoutOf = (operation: Operation): number =>
  TIMEOUT_MS[operation] ?? USUAL_TIMEOUT_MS;

export interface CallsDeps {
  readonly name: ProviderName;
  readonly turns: Pick<Turns, 'take'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly scrubber: Scrubber;
  readonly underWay: UnderWay;
}

/** A running operation; shared by all its calls of the driver. */
export interface Running {
  readonly options: CallOptions;
  readonly limit: TimeLimit;
  /** Goes before others in every queue. */
  readonly urgent: boolean;
  /** See `FleetCall`. */
  readonly reservationId: string | null;
  /** See `Sending`. */
  isLookedAt(): boolean;
  reasonOf(error: unknown): unknown;
  /** Ends the time limit. */
  end(): void;
}

/** Particulars of an operation. */
export interface Terms {
  /** Absent: a new one. */
  readonly operationId?: string;
  /** See `CallOptions.requireOurs`: nothing is sent before it has passed. Absent: no check. */
  readonly requireOurs?: (machine: DriverMachine) => void;
}

/** A driver that ignores its aborted signal is abandoned after this time. */
const HEED_MS = 5_000;

/** Makes every call to a driver. */
export function createCalls(deps: CallsDeps) {
  const { name, turns, clock, random, log, metrics, scrubber, underWay } = deps;
  const stopping = new AbortController();
  let changes = 0;

  function requireLive(): void {
    if (stopping.signal.aborted) throw new ProviderError('stopped', `${name} was stopped`);
  }

  function begin(operation: Operation, within: FleetCall | Running, terms: Terms = {}): Running {
    if ('limit' in within) return { ...within, end: () => undefined };
    requireLive();
    const { timeoutMs = timeoutOf(operation), signal } = within;
    const { operationId = random.uuid() } = terms;
    const late = new AbortController();
    const limit = startTimeLimit(timeoutMs, clock, () =>
      late.abort(new Error(`${operation} took over ${timeoutMs} ms`)),
    );
    const { beforeSending, requireOurs, ...sending } = createSending(within, terms);
    const options: CallOptions = {
      signal: AbortSignal.any([signal, stopping.signal, late.signal]),
      get deadline() {
        return new Date(clock.now() + limit.leftMs());
      },
      operationId,
      beforeSending,
      requireOurs,
    };
    const { reservationId = null } = within;
    const urgent = operation === 'Destroy';
    return { options, limit, urgent, reservationId, ...sending, end: limit.end };
  }

  /** The wait counts against no limit. @throws {ProviderError} `aborted`: the turn did not come. */
  async function turnFor(operation: Operation, running: Running): Promise<EndTurn> {
    const { options, limit, urgent } = running;
    const endWait = limit.wait();
    try {
      return await turns.take({ signal: options.signal, urgent });
    } catch (cause) {
      throw new ProviderError('aborted', `${operation} was not begun`, { cause });
    } finally {
      endWait();
    }
  }

  function translated(operation: Operation, error: unknown, signal: AbortSignal): ProviderError {
    if (error === UNHEEDED) {
      log.error({ provider: name, operation }, 'the driver ignores its signal');
    }
    return translate(scrubber.clean(error), operation, signal);
  }

  function count(operation: Operation, startedMs: number, code: string): void {
    if (!isReading(operation)) changes += 1;
    const seconds = (clock.monotonic() - startedMs) / 1_000;
    const labels = { provider: name, operation };
    metrics.count('driver_operations', { ...labels, error: code === 'ok' ? '0' : '1' });
    metrics.observe('shepherd_driver_operation_seconds', labels, seconds);
    metrics.count('shepherd_adapter_calls_total', { adapter: 'provider', op: operation, code });
  }

  async function ask<T>(
    operation: Operation,
    within: FleetCall | Running,
    request: (options: CallOptions) => Promise<T>,
  ): Promise<T> {
    const running = begin(operation, within);
    const { options } = running;
    try {
      const endTurn = await turnFor(operation, running);
      const startedMs = clock.monotonic();
      let code = 'ok';
      try {
        return await heeding(underWay.run(running, request, options), options.signal, clock);
      } catch (error) {
        const failure = translated(operation, error, options.signal);
        code = failure.code;
        throw running.reasonOf(failure);
      } finally {
        endTurn();
        count(operation, startedMs, code);
      }
    } finally {
      running.end();
    }
  }

  return {
    /**
     * Begins an operation, always with a time limit; waits for turns do not count. Operations do
     * not nest. The caller must call `end`.
     * @throws {ProviderError} `stopped`.
     */
    begin,
    /**
     * Calls the driver once, in a turn, as a whole operation or as part of one, and counts the
     * call. Rejects only with a `ProviderError`, or with the error of the caller's `beforeSending`.
     */
    ask,
    /** @throws {ProviderError} `stopped`. */
    requireLive,
    /** Changes whenever a call ends that may have changed a listing. */
    changes: (): number => changes,
    /** Aborts running operations; later ones reject with `stopped`. */
    stop: (): void => stopping.abort(new ProviderError('stopped', `${name} was stopped`)),
  };
}
export type Calls = ReturnType<typeof createCalls>;

const UNHEEDED = new Error('the driver did not end when its signal aborted');

/** The answer; or `UNHEEDED` if the driver ignores its aborted signal for too long. */
async function heeding<T>(answer: Promise<T>, signal: AbortSignal, clock: Clock): Promise<T> {
  let timer: unknown;
  let onAbort = (): void => undefined;
  const unheeded = new Promise<never>((_, reject) => {
    onAbort = () => {
      timer = clock.setTimeout(() => reject(UNHEEDED), HEED_MS);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([answer, unheeded]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    clock.clearTimeout(timer);
  }
}

/**
 * A port error within a driver's own error counts as that port error. Without one, the driver has a
 * bug, and nobody knows how far it came.
 */
function translate(error: unknown, operation: Operation, { aborted }: AbortSignal): ProviderError {
  if (isProviderError(error)) return error;
  const wrapped = wrappedIn(error);
  const { outcome } = isReading(operation) && !wrapped ? NOTHING_DONE : facetsOf(error);
  const options = { cause: error, outcome };
  if (aborted) return new ProviderError('aborted', `${operation} was aborted`, options);
  return new ProviderError(
    wrapped?.kind ?? 'permanent',
    wrapped ? `${operation} failed` : `${operation} failed in the driver`,
    options,
  );
}
const NOTHING_DONE = { outcome: 'not-done' } as const;

/** Checks just before a request that changes something. */
interface Sending extends Required<Pick<CallOptions, 'beforeSending' | 'requireOurs'>> {
  /** Whether the machine's owner was checked, if required. */
  isLookedAt(): boolean;
  /** The error with which the call rejects. */
  reasonOf(error: unknown): unknown;
}

/** @param terms if they check the owner, nothing is sent before that check has passed. */
function createSending(
  { beforeSending }: FleetCall,
  terms: Partial<Pick<CallOptions, 'requireOurs'>>,
): Sending {
  let refused: { readonly cause: unknown } | null = null;
  let isOurs = terms.requireOurs === undefined;
  return {
    requireOurs(machine) {
      terms.requireOurs?.(machine);
      isOurs = true;
    },
    isLookedAt: () => isOurs,
    async beforeSending() {
      if (!isOurs)
        throw new ProviderError('permanent', 'the driver did not check the owner of the machine');
      try {
        await beforeSending?.();
      } catch (cause) {
        refused = { cause };
        throw new ProviderError('aborted', 'cancelled before it was sent', { cause });
      }
    },
    // An earlier request of the same call may have succeeded; then that decides.
    reasonOf: (error) =>
      refused && facetsOf(error).outcome === 'not-done' ? refused.cause : error,
  };
}

/** Finds the running call, so that a driver need not pass its terms around. */
export function createUnderWay() {
  const current = new AsyncLocalStorage<Running>();
  return {
    run: current.run.bind(current),
    /** See `DriverContext.waitsForTurn`. */
    waitsForTurn(): TurnWait {
      const running = current.getStore();
      return { urgent: running?.urgent ?? false, end: running?.limit.wait() ?? (() => undefined) };
    },
  };
}
export type UnderWay = ReturnType<typeof createUnderWay>;
